//! PEM (RFC 7468) as programs write it: text outside the boundaries is ignored, and so are blocks of other
//! kinds.

use tokio_rustls::rustls::pki_types::pem::{Error, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::domain::quoted;

const BEGIN: &str = "-----BEGIN ";
const ENCRYPTED: &str =
    "holds an encrypted private key: decrypt it with `openssl pkey -in OLD -out NEW`";

/// Every block of the type `T` in a file, or the reason why one cannot be read; at least one. Errors call it `kind`.
///
/// # Errors
/// The actual content of the file, without quoting it.
fn blocks<T: PemObject>(bytes: &[u8], kind: &str) -> Result<Vec<Result<T, String>>, String> {
    // UTF-16, as PowerShell writes it, is ASCII without NULs. A line feed may be missing where files were joined.
    let text = String::from_utf8_lossy(bytes).replace(['\0', '\t'], "");
    let text = text.replace(BEGIN, &format!("\n{BEGIN}"));
    let found = T::pem_slice_iter(text.as_bytes()).map(|block| block.map_err(fault));
    let found: Vec<_> = found.collect();
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
    let labels = text.lines().filter_map(|line| line.strip_prefix(BEGIN));
    let labels: Vec<_> = labels.map(|label| label.trim_end_matches('-')).collect();
    let mut why = format!("holds no {kind} in PEM");
    if bytes.trim_ascii().is_empty() {
        why.insert_str(0, "is empty, so it ");
    } else if !labels.is_empty() {
        let labels = quoted(labels.join(", ").as_bytes(), None);
        why = format!("{why}; it holds: {labels}");
    }
    Err(why)
}

/// The library's words may quote the file.
fn fault(error: Error) -> String {
    let what = match matches!(error, Error::MissingSectionEnd { .. }) {
        true => "has no end marker",
        false => "is not Base64 between its markers",
    };
    format!("has a PEM block that {what}")
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

/// The first unencrypted private key in a file.
///
/// # Errors
/// The actual content of the file, without quoting it.
pub(crate) fn private_key(bytes: &[u8]) -> Result<PrivateKeyDer<'static>, String> {
    let found = blocks(bytes, "private key");
    let key = found.and_then(|keys| keys.into_iter().fold(Err(String::new()), Result::or));
    key.map_err(
        |why| match String::from_utf8_lossy(bytes).contains("ENCRYPTED") {
            true => ENCRYPTED.to_owned(),
            false => why,
        },
    )
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
