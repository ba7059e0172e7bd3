//! PEM (RFC 7468) as programs write it: text outside the boundaries is ignored, and so are blocks of other
//! kinds.

use std::path::Path;

use tokio_rustls::rustls::pki_types::pem::{Error, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::adapters::files::read_up_to;
use crate::domain::quoted;

/// Largest file of certificates, in bytes: those of many authorities.
const AUTHORITIES_BYTES_MAX: u64 = 16 * 1024 * 1024;

pub type Certificates = Vec<CertificateDer<'static>>;

const BEGIN: &str = "-----BEGIN ";
const ENCRYPTED: &str =
    "holds an encrypted private key: decrypt it with `openssl pkey -in OLD -out NEW`";
const PKCS12: &str =
    "is PKCS#12, not PEM: convert it with `openssl pkcs12 -nodes -in OLD -out NEW`";

/// Every block of this `kind`, whose type is `T`, in a file, or the reason why one cannot be read; at least one.
///
/// # Errors
/// The actual content of the file, without quoting it.
fn blocks<T: PemObject>(bytes: &[u8], kind: &str) -> Result<Vec<Result<T, String>>, String> {
    // UTF-16, as PowerShell writes it, is ASCII without NULs.
    let text = String::from_utf8_lossy(bytes).replace('\0', "");
    let lines: Vec<_> = text.split(['\r', '\n']).map(str::trim).collect();
    let text = lines.join("\n");
    let (mut found, mut labels) = (Vec::new(), Vec::new());
    // Each is parsed alone: the library reads a block without an end as the beginning of the next one.
    for block in text.split(BEGIN).skip(1) {
        let (label, rest) = block.split_once(['-', '\n']).unwrap_or((block, ""));
        let next = rest.trim_start_matches('-').split_whitespace().next();
        let is_ended = block.contains(&format!("\n-----END {label}-----"));
        // Prose may mention a marker: it continues with a word instead of a line of Base64.
        let is_prose = !is_ended && next.is_none_or(|word| word.len() < 32);
        match label.strip_suffix(&kind.to_uppercase()) {
            Some(_) | None if is_prose => {}
            Some("" | "RSA " | "EC " | "ENCRYPTED ") => found.push(parse(label, block)),
            Some(_) | None => labels.push(label),
        }
    }
    let version = bytes.windows(3).take(8).find(|part| *part == [2, 1, 3]);
    match (found.is_empty(), bytes.first(), version) {
        (false, _, _) => return Ok(found),
        (_, Some(0x30), Some(_)) => return Err(PKCS12.to_owned()),
        (_, Some(0x30), None) => return Err("is DER, not PEM: convert it with openssl".to_owned()),
        (true, _, _) => {}
    }
    let mut why = format!("holds no {kind} in PEM");
    if bytes.trim_ascii().is_empty() {
        why.insert_str(0, "is empty, so it ");
    } else if !labels.is_empty() {
        why = why + "; it holds: " + &quoted(labels.join(", ").as_bytes(), None);
    }
    Err(why)
}

/// The library's words may quote the file.
fn parse<T: PemObject>(label: &str, block: &str) -> Result<T, String> {
    let is_locked = label.starts_with("ENCRYPTED ") || block.contains("\nProc-Type: 4,ENCRYPTED");
    let is_marked = block.starts_with(&format!("{label}-----\n"));
    let what = match T::from_pem_slice(format!("{BEGIN}{block}").as_bytes()) {
        Ok(found) => return Ok(found),
        Err(_) if is_locked => return Err(ENCRYPTED.to_owned()),
        Err(_) if !is_marked => "has a malformed first line",
        Err(Error::MissingSectionEnd { .. }) => "has no end marker",
        Err(_) => "is not Base64 between its markers",
    };
    Err(format!("has a PEM block that {what}"))
}

/// Every certificate in a file, or the reason why it cannot be read; at least one.
///
/// # Errors
/// The actual content of the file, without quoting it.
pub(crate) fn certificates(
    bytes: &[u8],
) -> Result<Vec<Result<CertificateDer<'static>, String>>, String> {
    blocks(bytes, "certificate")
}

/// The certificates in the file at `path` that can be read; at least one.
///
/// # Errors
/// The reason why there are none.
pub fn certificates_in(path: &Path) -> Result<Certificates, String> {
    let bytes = read_up_to(path, AUTHORITIES_BYTES_MAX).map_err(|error| error.to_string())?;
    let found = certificates(&bytes)?;
    let good: Vec<_> = found.iter().flatten().cloned().collect();
    if good.is_empty() {
        return found.into_iter().collect();
    }
    Ok(good)
}

/// The first unencrypted private key in a file.
///
/// # Errors
/// The actual content of the file, without quoting it.
pub(crate) fn private_key(bytes: &[u8]) -> Result<PrivateKeyDer<'static>, String> {
    let keys = blocks(bytes, "private key")?.into_iter();
    keys.fold(Err(String::new()), Result::or)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::*;

    // The forms that programs write are in tests/it/field/files.rs.

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
