//! PEM (RFC 7468) as programs write it: text outside the boundaries is ignored, and so are blocks of other
//! kinds.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use x509_cert::der::{Reader as _, SliceReader};

use crate::domain::quoted;

const ENCRYPTED: &str =
    "holds an encrypted private key: decrypt it with `openssl pkey -in OLD -out NEW`";

/// A block: its label, and the text between its boundaries without white space.
struct Block {
    label: String,
    text: String,
    is_cut: bool,
}

impl Block {
    fn der(&self) -> Result<Vec<u8>, String> {
        let what = match (self.is_cut, STANDARD.decode(&self.text)) {
            (true, _) => "has no end marker",
            (false, Ok(der)) => return Ok(der),
            (false, Err(_)) => "is not Base64",
        };
        Err(format!("its block {} {what}", self.label))
    }
}

/// The blocks of a file whose label ends with `kind`.
///
/// # Errors
/// The actual content of the file, without quoting it.
fn blocks(bytes: &[u8], kind: &str) -> Result<Vec<Block>, String> {
    // UTF-16, as PowerShell writes it, is ASCII without NULs.
    let text = String::from_utf8_lossy(bytes).replace('\0', "");
    let mut parts: Vec<&str> = text.split("-----").map(str::trim).collect();
    parts.extend(["", ""]);
    let blocks = parts.windows(3).filter_map(|parts| {
        let &[begin, body, end] = parts else {
            return None;
        };
        let label = begin.strip_prefix("BEGIN ")?;
        let is_cut = end.strip_prefix("END ") != Some(label);
        let text: String = body.split_whitespace().collect();
        // Prose may mention boundaries.
        let is_prose = |byte: u8| !byte.is_ascii_alphanumeric() && !b"+/=".contains(&byte);
        let is_block = !is_cut || !text.is_empty() && !text.bytes().any(is_prose);
        let label = quoted(label.as_bytes(), None);
        is_block.then_some(Block {
            label,
            text,
            is_cut,
        })
    });
    let (found, others): (Vec<_>, Vec<_>) = blocks.partition(|block| block.label.ends_with(kind));
    let version = bytes.windows(3).take(8).find(|part| *part == [2, 1, 3]);
    match (found.is_empty(), bytes.first(), version) {
        (false, _, _) => return Ok(found),
        (_, Some(0x30), Some(_)) => {
            return Err(
                "is PKCS#12, not PEM: convert it with `openssl pkcs12 -nodes -in OLD -out NEW`"
                    .to_owned(),
            );
        }
        (_, Some(0x30), None) => return Err("is DER, not PEM: convert it with openssl".to_owned()),
        (true, _, _) => {}
    }
    let labels: Vec<_> = others.into_iter().map(|block| block.label).collect();
    let mut why = format!("holds no {} in PEM", kind.to_lowercase());
    if bytes.trim_ascii().is_empty() {
        why.insert_str(0, "is empty, so it ");
    } else if !labels.is_empty() {
        why = format!("{why}; it holds: {}", labels.join(", "));
    }
    Err(why)
}

/// Every certificate in a file, or the reason why it cannot be read; at least one.
///
/// # Errors
/// The actual content of the file, without quoting it.
pub(crate) fn certificates(
    bytes: &[u8],
) -> Result<Vec<Result<CertificateDer<'static>, String>>, String> {
    let certificate = |der: Vec<u8>| {
        // OpenSSL appends the purposes of a trusted certificate.
        let first = SliceReader::new(&der).and_then(|mut reader| reader.tlv_bytes());
        first.unwrap_or(&der).to_vec().into()
    };
    let blocks = blocks(bytes, "CERTIFICATE")?.into_iter();
    Ok(blocks.map(|block| block.der().map(certificate)).collect())
}

/// The first unencrypted private key in a file.
///
/// # Errors
/// The actual content of the file, without quoting it.
pub(crate) fn private_key(bytes: &[u8]) -> Result<PrivateKeyDer<'static>, String> {
    let mut blocks = blocks(bytes, "PRIVATE KEY")?;
    let is_plain = |block: &Block| {
        !block.label.starts_with("ENCRYPTED") && !block.text.contains("4,ENCRYPTED")
    };
    blocks.retain(is_plain);
    let block = blocks.first().ok_or(ENCRYPTED)?;
    let key = PrivateKeyDer::try_from(block.der()?);
    key.map_err(|_unknown| format!("holds no supported private key; it holds: {}", block.label))
}

/// The kind of an unsupported key, by its curve or algorithm.
pub(crate) fn unusable_kind(key: &PrivateKeyDer<'_>) -> &'static str {
    const KINDS: [(&[u8], &str); 4] = [
        (b"\x2b\x81\x04\x00\x23", "a key on the curve P-521"),
        (b"\x2b\x81\x04\x00\x0a", "a key on the curve secp256k1"),
        (b"\x06\x03\x2b\x65\x71", "an Ed448 key"),
        (b"\x2a\x86\x48\xce\x38\x04", "a DSA key"),
    ];
    let der = key.secret_der();
    let is_in = |part: &[u8]| der.windows(part.len()).any(|window| window == part);
    let found = KINDS.iter().find(|(part, _)| is_in(part));
    found.map_or("a key of an unsupported kind or size", |(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::*;

    // The forms that programs write are in tests/it/field/files.rs.

    #[test]
    fn a_trusted_certificate_is_its_first_value() {
        let file =
            "-----BEGIN TRUSTED CERTIFICATE-----\nMAIFADAA\n-----END TRUSTED CERTIFICATE-----";
        let found = certificates(file.as_bytes()).unwrap();
        assert_eq!(found[0].as_ref().unwrap().as_ref(), [0x30, 2, 5, 0]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_blocks_or_an_error(
            parts in proptest::collection::vec("(-----)?(BEGIN |END )?(CERTIFICATE|EC PRIVATE KEY|[A-Za-z0-9+/=\n]{0,9})(-----)?", 0..9),
            bytes in proptest::collection::vec(any::<u8>(), 0..99),
        ) {
            let file = [parts.concat().as_bytes(), &bytes].concat();
            let _ = certificates(&file);
            let _ = private_key(&file);
        }
    }
}
