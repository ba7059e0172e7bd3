//! Certificates, data directories and block lists as other programs leave them.

use std::fs::{self, Permissions};
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use landing_api::adapters::files::block_list::FileBlockList;
use landing_api::adapters::files::data_dir::{self, DataDir};
use landing_api::adapters::files::{AppendFile, Files, SystemFiles};
use landing_api::adapters::outbound::{Roots, certificates_in};
use landing_api::domain::{BlockedNetwork, Timestamp};
use landing_api::ports::BlockList as _;

use crate::commands::{command as operator, run};
use crate::fixtures::{House, logged};
use crate::program::{Program, Ran, Terminal, command, open_to_group, private_dir};
use crate::tls::{Authority, write_private};
use crate::twins::SeededEntropy;

const P521: &str = "-----BEGIN PRIVATE KEY-----
MIHuAgEAMBAGByqGSM49AgEGBSuBBAAjBIHWMIHTAgEBBEIAZh+WtcetYWGxbaij
Ppw7VQCdvEp6mh2xlbLzQaEclG/n2VNWaegfrsHWKG+5OYPH+7wcSPstlE+qgDHf
rWd/NEGhgYkDgYYABAEoBAUKgODn8uo01ZO+O7/Ii9GLbiBdoGf9+6BX3a3TAWeM
yYbXr5BEtqpAiOB4VhIjP/hQfrm3qEqwg0fnSJi6zgGyVXzTJs8LyF1mFjGR+JzV
MUVZLnjL1a5143ZJ5S48kD8Z+TzSgEl57ScXUo2PFL0U8yZ/xf1GtTtwK1kY5RJh
fA==
-----END PRIVATE KEY-----
";
const ENCRYPTED: &str = "-----BEGIN EC PRIVATE KEY-----
Proc-Type: 4,ENCRYPTED
DEK-Info: AES-128-CBC,380A17167A73F858276283D0AE0BAA4C

frwapcnU3jk484j44pRWK0F16KmZZkvJ9Af8hdyVA14Hvnm2haX7QVS6c+AXawwO
-----END EC PRIVATE KEY-----
";

/// The bytes of a block in PEM.
fn der(pem: &str) -> Vec<u8> {
    use base64::Engine as _;
    let lines = pem.lines().filter(|line| !line.starts_with('-'));
    let digits: String = lines.collect();
    base64::engine::general_purpose::STANDARD
        .decode(digits)
        .unwrap()
}

fn pem(label: &str, der: &[u8]) -> String {
    use base64::Engine as _;
    let digits = base64::engine::general_purpose::STANDARD.encode(der);
    format!("-----BEGIN {label}-----\n{digits}\n-----END {label}-----\n")
}

#[test]
#[allow(clippy::too_many_lines, reason = "rows of a table")]
fn certificates_and_keys_are_read_as_programs_write_them() {
    let authority = Authority::new();
    let pair = authority.pair("one");
    let [chain, key] = [&pair.chain, &pair.key].map(|path| fs::read_to_string(path).unwrap());
    let root = pem("CERTIFICATE", &authority.root);
    let bag = b"Bag Attributes\r\n    friendlyName: M\xfcller\r\nsubject=CN = \xe4\0\r\n";
    // Of P-256 in PKCS#8 the last member is the key in SEC1.
    let pkcs8 = der(&key);
    let at = pkcs8
        .windows(2)
        .position(|tag| tag == [0x04, 0x6d])
        .unwrap();
    let sec1 = pem("EC PRIVATE KEY", &pkcs8[at + 2..]);
    let parameters =
        "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n";
    let both = format!("{key}{chain}{root}");
    let utf16 = |text: &str| -> Vec<u8> {
        let units = text.encode_utf16().flat_map(u16::to_le_bytes);
        b"\xff\xfe".iter().copied().chain(units).collect()
    };
    for (name, chain, key) in [
        (
            "text around",
            [bag, chain.as_bytes(), bag, root.as_bytes()].concat(),
            [bag, key.as_bytes()].concat(),
        ),
        (
            "UTF-8 mark",
            format!("\u{feff}{chain}").into(),
            format!("\u{feff}{key}").into(),
        ),
        (
            "CR LF",
            chain.replace('\n', "\r\n").into(),
            key.replace('\n', "\r\n").into(),
        ),
        (
            "CR",
            chain.replace('\n', "\r").into(),
            key.replace('\n', "\r").into(),
        ),
        (
            "spaces at ends",
            chain.replace('\n', " \t\n").into(),
            key.replace('\n', "  \n").into(),
        ),
        ("one file", both.clone().into(), both.into()),
        (
            "key last",
            format!("{chain}{root}{key}").into(),
            format!("{chain}{key}").into(),
        ),
        (
            "no line between",
            format!("{}{root}", chain.trim_end()).into(),
            key.clone().into(),
        ),
        (
            "trusted",
            chain.replace("CERT", "TRUSTED CERT").into(),
            key.clone().into(),
        ),
        (
            "parameters",
            chain.clone().into(),
            format!("{parameters}{sec1}").into(),
        ),
        (
            "an encrypted key before",
            chain.clone().into(),
            format!("{ENCRYPTED}{key}").into(),
        ),
        ("UTF-16", utf16(&chain), utf16(&key)),
    ] {
        fs::write(&pair.chain, chain).unwrap();
        fs::write(&pair.key, key).unwrap();
        pair.open().unwrap_or_else(|why| panic!("{name}: {why}"));
    }
    let file = authority.dir.path().join("roots.pem");
    let broken = "-----BEGIN CERTIFICATE-----\n???\n-----END CERTIFICATE-----\n";
    for text in [
        [bag, root.as_bytes(), bag, root.as_bytes()].concat(),
        format!("\u{feff}{root}{root}").into(),
        format!("{broken}{root}{root}").into(),
        utf16(&format!("{root}{root}")),
    ] {
        fs::write(&file, text).unwrap();
        assert_eq!(
            certificates_in(&file).unwrap(),
            [authority.root.clone(), authority.root.clone()]
        );
        Roots::of_system(Some(&file), Vec::new()).unwrap();
    }
}

#[test]
#[allow(clippy::too_many_lines, reason = "rows of a table")]
fn a_file_that_is_no_certificate_or_key_is_told_for_what_it_is() {
    let authority = Authority::new();
    let (pair, other) = (authority.pair("one"), authority.pair("other"));
    let [good_chain, good_key] = [&pair.chain, &pair.key].map(|path| fs::read(path).unwrap());
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let pkcs12 = b"0\x82\x04\x00\x02\x01\x03rest".to_vec();
    for (chain, key, told) in [
        (None, Some(P521.into()), "the curve P-521"),
        (
            None,
            Some(ENCRYPTED.into()),
            "encrypted private key: decrypt it",
        ),
        (
            None,
            Some(
                text(&good_key)
                    .replace("PRIVATE", "ENCRYPTED PRIVATE")
                    .into(),
            ),
            "encrypted private key",
        ),
        (None, Some(der(&text(&good_key))), "is DER, not PEM"),
        (None, Some(pkcs12.clone()), "is PKCS#12, not PEM"),
        (
            None,
            Some(fs::read(&other.key).unwrap()),
            "does not match the first certificate",
        ),
        (
            None,
            Some(pem("OPENSSH PRIVATE KEY", b"openssh-key-v1\0").into()),
            "it holds: OPENSSH PRIVATE KEY",
        ),
        (
            None,
            Some(pem("RSA PRIVATE KEY", b"0\x03\x02\x01\x00").into()),
            "a key of an unsupported kind or size",
        ),
        (Some(der(&text(&good_chain))), None, "is DER, not PEM"),
        (Some(pkcs12), None, "is PKCS#12, not PEM"),
        (Some(good_key.clone()), None, "it holds: PRIVATE KEY"),
        (
            Some(text(&good_chain).replace("CERTIFICATE", "PKCS7").into()),
            None,
            "it holds: PKCS7",
        ),
        (Some(good_chain[..200].to_vec()), None, "has no end marker"),
        (
            Some(text(&good_chain).replace('M', "\u{e4}").into()),
            None,
            "is not Base64",
        ),
        (
            Some(b"\xff\xfe\x00".to_vec()),
            None,
            "holds no certificate in PEM",
        ),
    ] {
        fs::write(&pair.chain, chain.as_ref().unwrap_or(&good_chain)).unwrap();
        fs::write(&pair.key, key.as_ref().unwrap_or(&good_key)).unwrap();
        let line = pair.open().unwrap_err();
        assert!(line.contains(told), "{told}: {line}");
        let flag = if chain.is_some() {
            "--tls-cert: "
        } else {
            "--tls-key: "
        };
        assert!(
            line.starts_with(flag) && !line.contains('\n') && !line.contains("MI"),
            "{line}"
        );
    }
}

#[test]
fn a_proxy_that_speaks_its_own_protocol_first_is_told_of() {
    let authority = Authority::new();
    let pair = authority.pair("one");
    let tls = pair.flags();
    for (flags, first, told) in [
        (
            &tls[..],
            &b"PROXY TCP4 192.0.2.1 192.0.2.2 1 443\r\n"[..],
            "PROXY protocol",
        ),
        (
            &tls,
            b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c",
            "PROXY protocol",
        ),
        (
            &tls,
            b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
            "HTTP without TLS",
        ),
        (
            &[],
            b"PROXY TCP4 192.0.2.1 192.0.2.2 1 443\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
            "PROXY protocol",
        ),
        (&[], b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c", "PROXY protocol"),
        (
            &[],
            b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03rest",
            "it is TLS",
        ),
    ] {
        let dir = private_dir();
        let program = Program::start(command(dir.path()).args(flags));
        let mut stream = TcpStream::connect(&program.address).unwrap();
        stream.write_all(first).unwrap();
        // Ends with an answer or without one.
        let _ = stream.read_to_end(&mut Vec::new());
        let log = program.stopped();
        assert!(log.contains(told), "{told}: {log}");
        assert!(!log.contains("192.0.2"), "{log}");
    }
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn a_data_directory_that_was_opened_to_a_group_is_closed_and_used() {
    let house = House::lived_in(["ada"]).await;
    let aside = house.file("ledger.damaged");
    write_private(&aside, "ada@example.com");
    fs::create_dir(house.file("tls")).unwrap();
    write_private(&house.file("tls/acme.json"), "{}");
    // Not the service's own.
    fs::write(house.file("notes.txt"), "").unwrap();
    fs::set_permissions(house.file("notes.txt"), Permissions::from_mode(0o664)).unwrap();
    open_to_group(&house.path);
    let (opened, log) = logged(|| house.open());
    opened.assert_has(&["ada"], &[]).await;
    assert_eq!(
        log.matches("was accessible to other users").count(),
        1,
        "{log}"
    );
    for name in ["", "tls"] {
        assert_eq!(mode(&house.file(name)), 0o700, "{name}");
    }
    for name in [
        "ledger.jsonl",
        "secret",
        "mark",
        "lock",
        "ledger.damaged",
        "tls/acme.json",
    ] {
        assert_eq!(mode(&house.file(name)), 0o600, "{name}");
    }
    assert_eq!(mode(&house.file("notes.txt")), 0o664);
    opened.stop();
    let (opened, log) = logged(|| house.open());
    assert!(!log.contains("accessible to other users"), "{log}");
    opened.stop();
}

#[test]
fn a_service_starts_again_after_its_volume_was_opened_to_a_group() {
    let (dir, service) = Program::fresh(&[]);
    service.sign_up("ada@example.com");
    service.stopped();
    open_to_group(dir.path());
    let service = Program::on(dir.path());
    assert!(service.stopped().contains("was accessible to other users"));
    assert_eq!(run("contacts count", dir.path()).done().out, "1\n");
    let log = Program::on(dir.path()).stopped();
    assert!(!log.contains("accessible to other users"), "{log}");
}

fn network(text: &str) -> BlockedNetwork {
    BlockedNetwork::parse(text).unwrap()
}

/// A list with three networks, and its file.
async fn three_blocks(dir: &Path) -> (std::path::PathBuf, Vec<u8>) {
    let path = dir.join(data_dir::BLOCKS);
    let list = FileBlockList::open(Some(path.clone())).unwrap();
    for text in ["192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"] {
        list.add(network(text), Timestamp::from_ms(1_700_000_000_000))
            .await
            .unwrap();
    }
    let bytes = fs::read(&path).unwrap();
    (path, bytes)
}

#[tokio::test]
async fn a_block_list_that_was_cut_in_a_line_is_refused() {
    let dir = private_dir();
    let (path, whole) = three_blocks(dir.path()).await;
    let open = || FileBlockList::open(Some(path.clone()));
    let last = whole.iter().rposition(|byte| *byte == b'{').unwrap();
    for length in last + 1..whole.len() - 1 {
        fs::write(&path, &whole[..length]).unwrap();
        let refused = open().unwrap_err().to_string();
        assert!(
            refused.contains("blocks.jsonl: line 3"),
            "{length}: {refused}"
        );
    }
    // Without its last line feed it is whole.
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    assert_eq!(open().unwrap().list().len(), 3);
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_blocks_or_an_error(
        bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200),
    ) {
        let dir = private_dir();
        let path = dir.path().join(data_dir::BLOCKS);
        fs::write(&path, bytes).unwrap();
        if let Err(error) = FileBlockList::open(Some(path)) {
            assert!(error.to_string().contains("blocks.jsonl"));
        }
    }
}

/// Files in directories that cannot be synced.
#[derive(Debug)]
struct UnsyncedDirectories;

impl Files for UnsyncedDirectories {
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        SystemFiles.create(path)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        SystemFiles.open(path)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        SystemFiles.remove(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        SystemFiles.rename(from, to)
    }

    fn sync_directory(&self, _path: &Path) -> io::Result<()> {
        Err(io::ErrorKind::InvalidInput.into())
    }
}

#[test]
fn a_directory_that_cannot_be_synced_is_named() {
    let dir = private_dir();
    let refused = DataDir::open_on(
        &(Arc::new(UnsyncedDirectories) as _),
        dir.path(),
        &SeededEntropy::default(),
    );
    let told = format!("the directory {} cannot be synced: ", dir.path().display());
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains(&told), "{refused}");
}

#[test]
fn no_name_acts_on_the_terminal_that_it_is_shown_on() {
    let dir = private_dir();
    Program::on(dir.path()).stopped();
    let foreign = "a\x1b]0;b\x07\u{9b}2Jc\u{202e}d\u{2066}";
    let file = dir.path().join("list.csv");
    fs::write(&file, format!("email,{foreign}\nada@example.com,\n")).unwrap();
    let missing = dir.path().join(foreign);
    for (path, told) in [(&file, "ignored: "), (&missing, "cannot read ")] {
        let mut import = operator("contacts import", dir.path());
        let (_, shown) = Terminal::start(import.arg(path), 80).wait();
        assert!(shown.contains(told), "{shown:?}");
        for bad in ["\x1b]", "\x07", "\u{9b}", "\u{202e}", "\u{2066}"] {
            assert!(!shown.contains(bad), "{bad:?}: {shown:?}");
        }
        let ran = Ran::of(operator("contacts import", dir.path()).arg(path));
        assert!(!ran.err.contains(['\x1b', '\u{9b}', '\u{202e}']), "{ran:?}");
    }
}
