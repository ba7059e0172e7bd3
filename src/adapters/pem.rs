//! PEM (RFC 7468) as programs write it: whatever is outside the boundaries is ignored, and so are blocks that nobody
//! asks for.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use x509_cert::der::{Reader as _, SliceReader};

use crate::domain::quoted;

const DASHES: &str = "-----";
const CERTIFICATES: [&str; 3] = ["CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"];
const KEYS: [&str; 4] = [
    "PRIVATE KEY",
    "RSA PRIVATE KEY",
    "EC PRIVATE KEY",
    "ENCRYPTED PRIVATE KEY",
];

const ENCRYPTED: &str =
    "holds an encrypted private key: decrypt it with `openssl pkey -in OLD -out NEW`";
const PKCS12: &str =
    "is PKCS#12, not PEM: convert it with `openssl pkcs12 -nodes -in OLD -out NEW`";
const DER: &str =
    "is DER, not PEM: convert it with `openssl x509 -inform DER` or `openssl pkey -inform DER`";

/// Kinds of keys that rustls does not use, by a part of their DER, the curve or the algorithm.
const UNUSABLE: [(&[u8], &str); 6] = [
    (&[0x2b, 0x81, 0x04, 0x00, 0x23], "the curve P-521"),
    (&[0x2b, 0x81, 0x04, 0x00, 0x0a], "the curve secp256k1"),
    (&[0x2b, 0x24, 0x03, 0x03, 0x02, 0x08], "a Brainpool curve"),
    (&[0x06, 0x03, 0x2b, 0x65, 0x71], "Ed448"),
    (&[0x2a, 0x86, 0x48, 0xce, 0x38, 0x04], "DSA"),
    (
        &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01],
        "RSA of another size or form",
    ),
];

/// A block: its label, and the text between its boundaries.
struct Block {
    label: String,
    text: String,
    is_cut: bool,
}

impl Block {
    fn der(&self) -> Result<Vec<u8>, String> {
        let damage =
            |what: &str| format!("its block {} {what}", quoted(self.label.as_bytes(), None));
        if self.is_cut {
            return Err(damage("has no end marker"));
        }
        STANDARD
            .decode(&self.text)
            .map_err(|_error| damage("is not Base64"))
    }
}

fn blocks(bytes: &[u8]) -> Vec<Block> {
    // UTF-16, as PowerShell writes it, is ASCII without NULs.
    let text = String::from_utf8_lossy(bytes).replace('\0', "");
    let mut parts: Vec<&str> = text.split(DASHES).map(str::trim).collect();
    parts.extend(["", ""]);
    let blocks = parts.windows(3).filter_map(|parts| {
        let &[begin, body, end] = parts else {
            return None;
        };
        let label = begin.strip_prefix("BEGIN ")?;
        let is_cut = end.strip_prefix("END ") != Some(label);
        let text: String = body.split_whitespace().collect();
        // Prose may speak of boundaries.
        let is_base64 = text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte));
        (!is_cut || is_base64 && !text.is_empty()).then(|| Block {
            label: label.to_owned(),
            text,
            is_cut,
        })
    });
    blocks.collect()
}

/// Every certificate of a file, or why it is none; at least one.
///
/// # Errors
/// What the file is instead, in words that do not quote it.
pub(super) fn certificates(
    bytes: &[u8],
) -> Result<Vec<Result<CertificateDer<'static>, String>>, String> {
    let blocks = blocks(bytes);
    let found = blocks
        .iter()
        .filter(|block| CERTIFICATES.contains(&&*block.label));
    let found: Vec<_> = found.map(|block| block.der().map(certificate)).collect();
    if found.is_empty() {
        return Err(without("certificate", bytes, &blocks));
    }
    Ok(found)
}

/// OpenSSL appends what a trusted certificate is trusted for.
fn certificate(der: Vec<u8>) -> CertificateDer<'static> {
    let mut reader = SliceReader::new(&der).ok();
    let first = reader.as_mut().and_then(|reader| reader.tlv_bytes().ok());
    first.unwrap_or(&der).to_vec().into()
}

/// The first private key of a file that is not encrypted.
///
/// # Errors
/// What the file is instead, in words that do not quote it.
pub(super) fn private_key(bytes: &[u8]) -> Result<PrivateKeyDer<'static>, String> {
    let blocks = blocks(bytes);
    let is_encrypted =
        |block: &&Block| block.label.starts_with("ENCRYPTED") || block.text.contains("4,ENCRYPTED");
    let keys = blocks.iter().filter(|block| KEYS.contains(&&*block.label));
    let (encrypted, usable): (Vec<_>, Vec<_>) = keys.partition(is_encrypted);
    let Some(block) = usable.first() else {
        return Err(match encrypted.first() {
            Some(_) => ENCRYPTED.to_owned(),
            None => without("private key", bytes, &blocks),
        });
    };
    let der = block.der()?;
    Ok(match &*block.label {
        "RSA PRIVATE KEY" => PrivateKeyDer::Pkcs1(der.into()),
        "EC PRIVATE KEY" => PrivateKeyDer::Sec1(der.into()),
        _ => PrivateKeyDer::Pkcs8(der.into()),
    })
}

/// The kind of a key that cannot be used.
pub(super) fn unusable_kind(key: &PrivateKeyDer<'_>) -> &'static str {
    let der = key.secret_der();
    let is_in = |part: &[u8]| der.windows(part.len()).any(|window| window == part);
    let found = UNUSABLE.iter().find(|(part, _)| is_in(part));
    match found {
        Some((_, kind)) => kind,
        None if matches!(key, PrivateKeyDer::Pkcs1(_)) => "RSA of another size or form",
        None => "a key of another kind or form",
    }
}

/// What a file is that holds no `wanted`.
fn without(wanted: &str, bytes: &[u8], blocks: &[Block]) -> String {
    let labels: Vec<_> = blocks.iter().map(|block| &*block.label).collect();
    if !labels.is_empty() {
        let labels = quoted(labels.join(", ").as_bytes(), None);
        return format!("holds no {wanted} in PEM, but: {labels}");
    }
    let is_sequence = bytes.first() == Some(&0x30);
    let mut begin = bytes.get(..8).unwrap_or_default().windows(3);
    if is_sequence && begin.any(|version| version == [2, 1, 3]) {
        return PKCS12.to_owned();
    }
    match bytes {
        _ if is_sequence => DER.to_owned(),
        _ if bytes.trim_ascii().is_empty() => format!("is empty, so it holds no {wanted} in PEM"),
        _ => format!("holds no {wanted} in PEM"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::*;

    #[test]
    fn blocks_are_found_whatever_is_around_them() {
        let good = "-----BEGIN CERTIFICATE-----\nAAEC\nAwQF\n-----END CERTIFICATE-----\n";
        let utf16: Vec<u8> = good.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for file in [
            good.as_bytes().to_vec(),
            good.replace('\n', "\r\n").into_bytes(),
            good.replace('\n', "\r").into_bytes(),
            good.replace('\n', " \t\n  ").into_bytes(),
            format!("\u{feff}{good}").into_bytes(),
            [
                b"Bag Attributes\n    friendlyName: M\xfcller\0\n",
                good.as_bytes(),
            ]
            .concat(),
            format!("{0}{0}", good.trim_end()).into_bytes(),
            format!("see -----BEGIN CERTIFICATE----- in RFC 7468, or\n{good}").into_bytes(),
            format!("-----BEGIN X509 CRL-----\n???\n-----END X509 CRL-----\n{good}").into_bytes(),
            good.replace("CERT", "TRUSTED CERT").into_bytes(),
            [b"\xff\xfe".to_vec(), utf16].concat(),
        ] {
            let text = String::from_utf8_lossy(&file);
            let found = certificates(&file).unwrap_or_else(|why| panic!("{text}: {why}"));
            for certificate in found {
                assert_eq!(certificate.unwrap().as_ref(), [0, 1, 2, 3, 4, 5], "{text}");
            }
        }
    }

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
