//! Certificates, data directories and block lists as other programs leave them.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use landing_api::adapters::files::data_dir::{self, DataDir};
use landing_api::adapters::files::pem::certificates_in;
use landing_api::adapters::outbound::Roots;
use landing_api::domain::Timestamp;
use landing_api::ports::BlockList as _;

use crate::commands::command as operator;
use crate::ledger::faults::FaultyFiles;
use crate::prelude::*;
use crate::program::{Terminal, open_to_group};

pub(crate) const ENCRYPTED: &str = "-----BEGIN EC PRIVATE KEY-----
Proc-Type: 4,ENCRYPTED
DEK-Info: AES-128-CBC,380A17167A73F858276283D0AE0BAA4C

frwapcnU3jk484j44pRWK0F16KmZZkvJ9Af8hdyVA14Hvnm2haX7QVS6c+AXawwO
-----END EC PRIVATE KEY-----
";

/// The bytes of a block in PEM.
pub(crate) fn der(pem: &str) -> Vec<u8> {
    let digits: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    STANDARD.decode(digits).unwrap()
}

pub(crate) fn pem(label: &str, der: &[u8]) -> String {
    let digits = STANDARD.encode(der);
    format!("-----BEGIN {label}-----\n{digits}\n-----END {label}-----\n")
}

#[test]
fn certificates_and_keys_are_read_as_programs_write_them() {
    const BAG: &[u8] = b"Bag Attributes\r\n    friendlyName: M\xfcller\r\nsubject=CN = \xe4\0\r\n";
    const PROSE: &str = "-----BEGIN CERTIFICATE----- and -----BEGIN PRIVATE KEY-----\nbegin, and -----END CERTIFICATE-----\nENCRYPTED ends\n";
    const PARAMETERS: &str =
        "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n";
    let authority = Authority::new();
    let pair = authority.pair("one");
    let [chain, key] = [&pair.chain, &pair.key].map(|path| fs::read_to_string(path).unwrap());
    let check = |name: &str, chain: &[u8], key: &[u8]| {
        fs::write(&pair.chain, chain).unwrap();
        fs::write(&pair.key, key).unwrap();
        pair.open().unwrap_or_else(|why| panic!("{name}: {why}"));
    };
    let root = pem("CERTIFICATE", &authority.root);
    type Form = fn(&str) -> Vec<u8>;
    let forms: [(&str, Form); 8] = [
        ("text around", |pem| [BAG, pem.as_bytes(), BAG].concat()),
        ("UTF-8 mark", |pem| format!("\u{feff}{pem}").into()),
        ("CR LF", |pem| pem.replace('\n', "\r\n").into()),
        ("CR", |pem| pem.replace('\n', "\r").into()),
        ("spaces at ends", |pem| pem.replace('\n', " \t\n").into()),
        ("indented", |pem| pem.replace('\n', "\n \t").into()),
        ("prose", |pem| format!("{PROSE}{pem}{PROSE}").into()),
        ("UTF-16", utf16),
    ];
    for (name, form) in forms {
        check(name, &form(&format!("{chain}{root}")), &form(&key));
    }
    let [endless_chain, endless_key] =
        [&chain, &key].map(|text| text.split("\n-----END").next().unwrap());
    let file = authority.dir.path().join("roots.pem");
    let broken = "-----BEGIN CERTIFICATE-----\n???\n-----END CERTIFICATE-----\n";
    let broken_key = broken.replace("CERTIFICATE", "PRIVATE KEY");
    for text in [
        [BAG, root.as_bytes(), BAG, root.as_bytes()].concat(),
        format!("\u{feff}{root}{root}").into(),
        format!("{broken}{root}{root}").into(),
        format!("{root}{endless_chain}\n{root}{endless_key}").into(),
        format!("{}{root}{root}", broken.replace("CERTIFICATE", "X509 CRL")).into(),
        format!("see -----BEGIN CERTIFICATE----- in RFC 7468, or\n{root}{root}").into(),
        utf16(&format!("{root}{root}")),
    ] {
        fs::write(&file, text).unwrap();
        let found = certificates_in(&file).unwrap();
        assert_eq!(found, [authority.root.clone(), authority.root.clone()]);
        Roots::of_system(Some(&file), Vec::new()).unwrap();
    }
    // Of P-256 in PKCS#8 the last member is the key in SEC1.
    let pkcs8 = der(&key);
    let mut tags = pkcs8.windows(2);
    let at = tags.position(|tag| tag == [0x04, 0x6d]).unwrap();
    let sec1 = PARAMETERS.to_owned() + &pem("EC PRIVATE KEY", &pkcs8[at + 2..]);
    let both = format!("{key}{chain}{root}");
    let key_last = format!("{chain}{root}{key}");
    let no_line_between = chain.trim_end().to_owned() + &root;
    let encrypted_before = format!("{ENCRYPTED}{key}");
    let keys_between = format!("{ENCRYPTED}{endless_key}\n{chain}{endless_key}{root}{broken_key}");
    for (name, chain, key) in [
        ("one file", &both, &both),
        ("key last", &key_last, &key_last),
        ("no line between", &no_line_between, &key),
        ("parameters", &chain, &sec1),
        ("keys in the chain", &keys_between, &key),
        ("an encrypted key before", &chain, &encrypted_before),
    ] {
        check(name, chain.as_bytes(), key.as_bytes());
    }
    fs::write(&pair.chain, keys_between).unwrap();
    let sent = certificates_in(&pair.chain).unwrap();
    assert_eq!(sent, [pair.certificate.clone(), authority.root.clone()]);
}

fn utf16(text: &str) -> Vec<u8> {
    let units = text.encode_utf16().flat_map(u16::to_le_bytes);
    b"\xff\xfe".iter().copied().chain(units).collect()
}

#[test]
fn a_proxy_that_speaks_its_own_protocol_first_is_told_of() {
    let authority = Authority::new();
    let pair = authority.pair("one");
    let tls = pair.flags();
    let get = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let first = b"PROXY TCP4 192.0.2.1 192.0.2.2 1 443\r\n";
    let first = [&first[..], get].concat();
    let second = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c";
    let hello = b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03rest";
    for (flags, first, told) in [
        (&tls[..], &first[..], "PROXY protocol"),
        (&tls, second, "PROXY protocol"),
        (&tls, get, "HTTP without TLS"),
        (&[], &first, "PROXY protocol"),
        (&[], second, "PROXY protocol"),
        (&[], hello, "it is TLS"),
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
    let house = House::stopped_with(["ada"]).await;
    let mine = "ledger.jsonl secret mark lock ledger.damaged secret.new counts.bad.1".split(' ');
    for name in mine.clone().skip(4) {
        write_private(&house.file(name), "ada@example.com");
    }
    fs::create_dir(house.file("tls")).unwrap();
    write_private(&house.file("tls/acme.json"), "{}");
    // Not the service's own.
    fs::write(house.file("notes.txt"), "").unwrap();
    set_permissions(house.file("notes.txt"), Permissions::from_mode(0o664)).unwrap();
    open_to_group(&house.path);
    let (opened, log) = logged(|| house.open());
    opened.assert_has(&["ada"], &[]).await;
    let warnings = log.matches("was accessible to other users").count();
    assert_eq!(warnings, 1, "{log}");
    for name in ["", "tls"] {
        assert_eq!(mode(&house.file(name)), 0o700, "{name}");
    }
    for name in mine.clone() {
        assert_eq!(mode(&house.file(name)), 0o600, "{name}");
    }
    assert_eq!(mode(&house.file("notes.txt")), 0o664);
    opened.stop();
    let (opened, log) = logged(|| house.open());
    assert!(!log.contains("accessible to other users"), "{log}");
    opened.stop();
    // A sticky directory stays open, so its files are closed one by one.
    open_to_group(&house.path);
    set_permissions(&house.path, Permissions::from_mode(0o1770)).unwrap();
    house.open().stop();
    assert_eq!(mode(&house.path), 0o770);
    for name in mine.chain(["tls"]) {
        assert_eq!(mode(&house.file(name)) & 0o077, 0, "{name}");
    }
}

/// A list with three networks, and its file.
async fn three_blocks(dir: &Path) -> (PathBuf, Vec<u8>) {
    let path = dir.join(data_dir::BLOCKS);
    let list = FileBlockList::open(Some(path.clone())).unwrap();
    for text in ["192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"] {
        let now = Timestamp::from_ms(1_700_000_000_000);
        list.add(network(text), now).await.unwrap();
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
        let told = "blocks.jsonl: line 3";
        assert!(refused.contains(told), "{length}: {refused}");
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

#[test]
fn a_directory_that_cannot_be_synced_is_named() {
    let (dir, files) = (private_dir(), FaultyFiles::default());
    files.fail_directory_syncs(true);
    let refused = DataDir::open_on(&files.tuning().files, dir.path(), &SeededEntropy::default());
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
