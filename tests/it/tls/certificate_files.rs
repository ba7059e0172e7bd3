//! The two files of a certificate: what is refused, and what replaces what.

use rcgen::CertificateParams;

use crate::field::files::{ENCRYPTED, der, pem};
use crate::prelude::*;

use super::{Authority, Pair, write_private};

/// What is told of files that cannot be used, in one line.
fn complaint(pair: &Pair) -> String {
    let line = pair.open().unwrap_err();
    assert!(!line.contains('\n'), "{line}");
    line
}

/// Fails unless `told` is told of the file at `path`, which `flag` names, and nothing of its content.
fn check(pair: &Pair, flag: &str, path: &Path, told: &str) {
    let line = complaint(pair);
    let is_named = line.starts_with(&format!("{flag}: {}: ", path.display()));
    assert!(is_named && line.contains(told), "{told}: {line}");
    assert!(!line.contains("MI") && !line.contains("BEGIN"), "{line}");
}

const P521: &str = "-----BEGIN PRIVATE KEY-----
MIHuAgEAMBAGByqGSM49AgEGBSuBBAAjBIHWMIHTAgEBBEIAZh+WtcetYWGxbaij
Ppw7VQCdvEp6mh2xlbLzQaEclG/n2VNWaegfrsHWKG+5OYPH+7wcSPstlE+qgDHf
rWd/NEGhgYkDgYYABAEoBAUKgODn8uo01ZO+O7/Ii9GLbiBdoGf9+6BX3a3TAWeM
yYbXr5BEtqpAiOB4VhIjP/hQfrm3qEqwg0fnSJi6zgGyVXzTJs8LyF1mFjGR+JzV
MUVZLnjL1a5143ZJ5S48kD8Z+TzSgEl57ScXUo2PFL0U8yZ/xf1GtTtwK1kY5RJh
fA==
-----END PRIVATE KEY-----
";

#[test]
fn files_that_do_not_make_a_certificate_are_named_with_the_reason() {
    let authority = Authority::new();
    let (pair, other) = (authority.pair("one"), authority.pair("other"));
    let [good_chain, good_key] = [&pair.chain, &pair.key].map(|path| fs::read(path).unwrap());
    let [chain, key] = [&good_chain, &good_key].map(|bytes| str::from_utf8(bytes).unwrap());
    let pkcs12 = b"0\x82\x04\x00\x02\x01\x03rest".to_vec();
    let backwards = fs::read_to_string(&other.chain).unwrap() + chain;
    let no_der = pem("CERTIFICATE", &[0; 3]);
    let openssh = pem("OPENSSH PRIVATE KEY", b"openssh-key-v1\0");
    let rsa = pem("RSA PRIVATE KEY", b"0\x03\x02\x01\x00");
    let encrypted = key.replace("PRIVATE", "ENCRYPTED PRIVATE");
    let unlike = "does not match the first certificate";
    let chains = [
        (Vec::new(), "is empty"),
        (b"text".to_vec(), "holds no certificate in PEM"),
        (b"\xff\xfe\x00".to_vec(), "holds no certificate in PEM"),
        (good_key.clone(), "it holds: PRIVATE KEY"),
        (
            chain.replace("CERTIFICATE", "PKCS7").into(),
            "it holds: PKCS7",
        ),
        (good_chain[..200].to_vec(), "has no end marker"),
        (chain.replace('M', "\u{e4}").into(), "is not Base64"),
        (der(chain), "is DER, not PEM"),
        (pkcs12.clone(), "is PKCS#12, not PEM"),
        (no_der.into(), "its certificate 1: "),
    ];
    let keys = [
        (Vec::new(), "holds no private key in PEM"),
        (good_chain.clone(), "holds no private key in PEM"),
        (P521.into(), "a key that cannot be used: use P-256"),
        (ENCRYPTED.into(), "encrypted private key: decrypt it"),
        (encrypted.into(), "holds an encrypted private key"),
        (der(key), "is DER, not PEM"),
        (pkcs12, "is PKCS#12, not PEM"),
        (fs::read(&other.key).unwrap(), unlike),
        (openssh.into(), "it holds: OPENSSH PRIVATE KEY"),
        (rsa.into(), "a key that cannot be used: use P-256"),
    ];
    for (bytes, told) in chains {
        fs::write(&pair.chain, bytes).unwrap();
        check(&pair, "--tls-cert", &pair.chain, told);
    }
    fs::write(&pair.chain, backwards).unwrap();
    check(&pair, "--tls-key", &pair.key, unlike);
    fs::write(&pair.chain, &good_chain).unwrap();
    for (bytes, told) in keys {
        fs::write(&pair.key, bytes).unwrap();
        check(&pair, "--tls-key", &pair.key, told);
    }
    write_private(&pair.key, key);
    assert!(pair.open().is_ok());
    set_permissions(&pair.key, Permissions::from_mode(0o644)).unwrap();
    assert!(complaint(&pair).contains("can be read by other users"));
    fs::remove_file(&pair.key).unwrap();
    assert!(complaint(&pair).contains("No such file"));
}

#[test]
fn a_fault_in_the_middle_of_a_file_is_not_skipped() {
    let authority = Authority::new();
    let pair = authority.pair("one");
    let [chain, key] = [&pair.chain, &pair.key].map(|path| fs::read_to_string(path).unwrap());
    let [endless, endless_key] = [&chain, &key].map(|pem| pem.split("-----END").next().unwrap());
    let (cut, malformed) = ("has a PEM block that has no end", "has a malformed first");
    let (no_der, short) = (
        pem("CERTIFICATE", &[0; 3]),
        chain.replacen("E-----", "E----", 1),
    );
    for (text, told) in [
        (chain.clone() + &no_der, "certificate 2: "),
        (format!("{chain}{endless}{chain}"), cut),
        (format!("{chain}{endless}\nsubject=CN = a\n{chain}"), cut),
        (format!("{endless}{key}"), cut),
        (chain.clone() + &short, malformed),
        (chain.replace('\n', " "), malformed),
        (
            endless_key.to_owned() + ENCRYPTED,
            "it holds: PRIVATE KEY, EC",
        ),
    ] {
        fs::write(&pair.chain, text).unwrap();
        check(&pair, "--tls-cert", &pair.chain, told);
    }
    fs::write(&pair.chain, &chain).unwrap();
    for (text, told) in [
        (format!("ENCRYPTED {endless_key}{chain}"), cut),
        (format!("ENCRYPTED\n{chain}"), "holds no private key in PEM"),
    ] {
        fs::write(&pair.key, text).unwrap();
        check(&pair, "--tls-key", &pair.key, told);
    }
}

#[test]
fn a_certificate_without_an_end_is_valid_until_the_end_of_time() {
    let authority = Authority::new();
    let mut params = CertificateParams::default();
    // RFC 5280, section 4.1.2.5: "no well-defined expiration date".
    params.not_after = rcgen::date_time_ymd(9999, 12, 31) + Duration::from_secs(86_399);
    let pair = authority.sign("one", &params);
    let until = pair.open().unwrap().validity().unwrap().end.to_rfc3339();
    assert_eq!(until, "9999-12-31T23:59:59.000Z");
}

#[test]
fn a_new_pair_replaces_the_old_one_and_half_of_it_does_not() {
    let authority = Authority::new();
    let pair = authority.issue("one", (2020, 2100));
    let files = pair.open().unwrap();
    let year = |year: &str| Timestamp::parse(&format!("{year}-01-01")).unwrap();
    assert_eq!(files.validity(), Some(year("2020")..year("2100")));
    assert_eq!(files.reread(), Ok(false));
    let new = authority.issue("new", (2021, 2200));
    fs::copy(&new.chain, &pair.chain).unwrap();
    for _ in 0..2 {
        assert!(files.reread().unwrap_err().contains("does not match"));
        assert_eq!(files.validity(), Some(year("2020")..year("2100")));
    }
    fs::copy(&new.key, &pair.key).unwrap();
    assert_eq!(files.reread(), Ok(true));
    assert_eq!(files.validity(), Some(year("2021")..year("2200")));
    assert_eq!(files.reread(), Ok(false));
    fs::remove_file(&pair.chain).unwrap();
    assert!(files.reread().unwrap_err().contains("No such file"));
    assert_eq!(files.validity(), Some(year("2021")..year("2200")));
}
