//! The two files of a certificate: what is refused, and what replaces what.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use landing_api::domain::time::Timestamp;
use rcgen::CertificateParams;

use super::{Authority, Pair, write_private};

/// What is told of files that cannot be used, in one line.
fn complaint(pair: &Pair) -> String {
    let line = pair.open().unwrap_err();
    assert!(!line.contains('\n'), "{line}");
    line
}

#[test]
#[allow(clippy::too_many_lines, reason = "rows of a table")]
fn files_that_do_not_make_a_certificate_are_named_with_the_reason() {
    let authority = Authority::new();
    let (pair, other) = (authority.pair("one"), authority.pair("other"));
    let (chain, key) = (&pair.chain, &pair.key);
    let good = [chain, key].map(|path| fs::read_to_string(path).unwrap());
    let [cert_text, key_text] = [good[0].as_str(), good[1].as_str()];
    let (other_cert, other_key) = (
        fs::read_to_string(&other.chain).unwrap(),
        fs::read_to_string(&other.key).unwrap(),
    );
    let encrypted = key_text.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    let backwards = format!("{other_cert}{cert_text}");
    let no_der = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for (cert_text, key_text, flag, told) in [
        ("", key_text, "--tls-cert", "is empty"),
        (
            "text",
            key_text,
            "--tls-cert",
            "holds no certificate in PEM",
        ),
        (
            key_text,
            key_text,
            "--tls-cert",
            "holds no certificate in PEM",
        ),
        (&cert_text[..200], key_text, "--tls-cert", "end marker"),
        (no_der, key_text, "--tls-cert", "its first certificate: "),
        (cert_text, "", "--tls-key", "holds no private key in PEM"),
        (
            cert_text,
            cert_text,
            "--tls-key",
            "holds no private key in PEM",
        ),
        (
            cert_text,
            &encrypted,
            "--tls-key",
            "holds an encrypted private key",
        ),
        (
            cert_text,
            &other_key,
            "--tls-key",
            "does not match the first certificate",
        ),
        (
            &backwards,
            key_text,
            "--tls-key",
            "does not match the first certificate",
        ),
    ] {
        fs::write(chain, cert_text).unwrap();
        fs::write(key, key_text).unwrap();
        let line = complaint(&pair);
        let file = if flag == "--tls-cert" { chain } else { key };
        assert!(
            line.starts_with(&format!("{flag}: {}: ", file.display())),
            "{line}"
        );
        assert!(line.contains(told), "{told}: {line}");
        assert!(!line.contains("MII") && !line.contains("BEGIN"), "{line}");
    }
    fs::write(chain, cert_text).unwrap();
    write_private(key, key_text);
    assert!(pair.open().is_ok());
    fs::set_permissions(key, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(complaint(&pair).contains("can be read by other users"));
    fs::remove_file(key).unwrap();
    assert!(complaint(&pair).contains("No such file"));
}

#[test]
fn a_certificate_without_an_end_is_valid_until_the_end_of_time() {
    let authority = Authority::new();
    let mut params = CertificateParams::default();
    // RFC 5280, section 4.1.2.5: "no well-defined expiration date".
    params.not_after = rcgen::date_time_ymd(9999, 12, 31) + Duration::from_secs(86_399);
    let pair = authority.sign("one", &params);
    let until = pair.open().unwrap().validity().end.to_rfc3339();
    assert_eq!(until, "9999-12-31T23:59:59.000Z");
}

#[test]
fn a_new_pair_replaces_the_old_one_and_half_of_it_does_not() {
    let authority = Authority::new();
    let pair = authority.issue("one", (2020, 2100));
    let files = pair.open().unwrap();
    let year = |year: &str| Timestamp::parse(&format!("{year}-01-01")).unwrap();
    assert_eq!(files.validity(), year("2020")..year("2100"));
    assert_eq!(files.reread(), Ok(false));
    let new = authority.issue("new", (2021, 2200));
    fs::copy(&new.chain, &pair.chain).unwrap();
    for _ in 0..2 {
        assert!(files.reread().unwrap_err().contains("does not match"));
        assert_eq!(files.validity(), year("2020")..year("2100"));
    }
    fs::copy(&new.key, &pair.key).unwrap();
    assert_eq!(files.reread(), Ok(true));
    assert_eq!(files.validity(), year("2021")..year("2200"));
    assert_eq!(files.reread(), Ok(false));
    fs::remove_file(&pair.chain).unwrap();
    assert!(files.reread().unwrap_err().contains("No such file"));
    assert_eq!(files.validity(), year("2021")..year("2200"));
}
