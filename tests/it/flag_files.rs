//! Files and addresses that flags name, read before a start opens anything: what is wrong with them is told
//! in one line that begins with the flag and quotes no content.

use std::fs::write;
use std::os::unix::fs::symlink;

use landing_api::adapters::outbound::Roots;
use landing_api::config::{Args, Invocation};
use landing_api::http::answer::problem;
use landing_api::wiring::{model_client, newsletter_webhook, site};

use crate::prelude::*;

const MODEL: [&str; 2] = ["--model-url=http://127.0.0.1:9/v1", "--model=m"];
const MODEL_KEY: &str = "--model-key-file";
const PROMPT: &str = "--assistant-prompt-file";
const PICTURE: &str = "--site-picture";
const WEBHOOK: [&str; 1] = ["--newsletter-webhook=http://127.0.0.1:9/"];
const WEBHOOK_SECRET: &str = "--newsletter-webhook-secret-file";

fn parse(flags: &[&str]) -> Args {
    let words = ["landing-api", "--data-dir", "unused"];
    match Invocation::load(words.iter().chain(flags)).unwrap() {
        Invocation::Serve(args) => *args,
        other @ (Invocation::Operate { .. } | Invocation::RunWith(_)) => panic!("{other:?}"),
    }
}

/// What a start with these flags tells of the files that they name.
pub(crate) fn complaint(flags: &[&str]) -> String {
    let args = parse(flags);
    let stop = CancellationToken::new();
    let opened = if flags.iter().any(|flag| flag.starts_with("--site")) {
        site(&args, &facts().settings, &problem::PAGES).map(drop)
    } else {
        let client = model_client(&args, &render(&facts()), &stop);
        let webhook = client.and_then(|_client| newsletter_webhook(&args));
        webhook.map(drop)
    };
    let Err(line) = opened else {
        panic!("{flags:?}");
    };
    assert!(!line.contains('\n'), "{line}");
    line
}

fn complaint_of(flag: &str, file: &Path) -> String {
    let needed = match flag {
        WEBHOOK_SECRET => &WEBHOOK[..],
        _ => &MODEL,
    };
    let file = file.to_str().unwrap();
    let line = complaint(&[needed, &[flag, file]].concat());
    let told = line.strip_prefix(&format!("{flag}: {file}: "));
    told.unwrap_or_else(|| panic!("{line}")).to_owned()
}

#[test]
fn a_file_that_cannot_be_used_is_named_and_not_quoted() {
    const GOOD: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX";
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    let (noted, three) = (format!("{GOOD}\n# next"), [GOOD; 3].join("\n"));
    for (flag, content, mode, told) in [
        (MODEL_KEY, "\n", 0o600, "is empty"),
        (MODEL_KEY, "two words", 0o600, "must contain one key"),
        (MODEL_KEY, "sk-exposed", 0o644, "chmod 600"),
        (PROMPT, "\n", 0o644, "is empty"),
        (PROMPT, &"x".repeat(65_537), 0o644, "larger than"),
        (PICTURE, "GIF89a", 0o644, "is not a PNG, JPEG, WebP or SVG"),
        (PICTURE, &"x".repeat(1_048_577), 0o644, "larger than"),
        (WEBHOOK_SECRET, "", 0o600, "is empty"),
        (WEBHOOK_SECRET, GOOD, 0o660, "chmod 600"),
        (WEBHOOK_SECRET, GOOD, 0o604, "chmod 600"),
        (WEBHOOK_SECRET, "whsec_AAE Bgc", 0o600, "bytes in Base64"),
        (WEBHOOK_SECRET, "whsec_###", 0o600, "bytes in Base64"),
        (WEBHOOK_SECRET, "whsec_AAECAwQFBgc", 0o600, "24 to 64"),
        (WEBHOOK_SECRET, &GOOD[6..], 0o600, "begins with"),
        (WEBHOOK_SECRET, &noted, 0o600, "begins with whsec_"),
        (WEBHOOK_SECRET, &three, 0o600, "one per line"),
        (WEBHOOK_SECRET, &"x".repeat(65_537), 0o600, "larger than"),
    ] {
        write(&file, content).unwrap();
        set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        let complaint = complaint_of(flag, &file);
        assert!(complaint.contains(told), "{flag} {told}: {complaint}");
        let content = content.trim();
        let is_quoted = !content.is_empty() && complaint.contains(content);
        assert!(!is_quoted, "{flag}: {complaint}");
    }
    for flag in [MODEL_KEY, PROMPT, PICTURE, WEBHOOK_SECRET] {
        let complaint = complaint_of(flag, &dir.path().join("missing"));
        assert!(complaint.starts_with("No such file"), "{complaint}");
    }
}

#[test]
fn a_pipe_or_a_device_is_no_file_and_holds_no_start_up() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    // Nobody ever writes into it.
    make_fifo(&pipe);
    let link = dir.path().join("link");
    symlink(&pipe, &link).unwrap();
    for flag in [MODEL_KEY, PROMPT, PICTURE, WEBHOOK_SECRET] {
        for file in [&*pipe, &link, Path::new("/dev/zero"), dir.path()] {
            assert_eq!(complaint_of(flag, file), "is not a regular file");
        }
    }
    // The file that a link leads to is read.
    let (file, link) = (dir.path().join("file"), dir.path().join("link to file"));
    write(&file, "\n").unwrap();
    symlink(&file, &link).unwrap();
    assert_eq!(complaint_of(PROMPT, &link), "is empty");
}

#[test]
fn a_faulty_logo_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let logo = folder.path().join("logo.svg");
    for content in [&b"<html>"[..], b"GIF89a", b"\x89PNG", b""] {
        write(&logo, content).unwrap();
        let line = complaint(&["--site-logo", logo.to_str().unwrap()]);
        let expected = format!("--site-logo: {}: is not an SVG or PNG", logo.display());
        assert!(line.starts_with(&expected), "{line}");
    }
}

#[test]
fn an_address_that_cannot_be_asked_is_not_repeated() {
    let url = format!("--model-url=http://127.0.0.1:9/{}", "secret".repeat(11_000));
    let complaint = complaint(&[&url, "--model=m"]);
    assert!(complaint.starts_with("--model-url: "), "{complaint}");
    assert!(!complaint.contains("secret"), "{complaint}");
}

#[test]
fn a_named_file_of_authorities_that_gives_none_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path().join("nonsense"), "no certificate").unwrap();
    write(dir.path().join("broken"), "-----BEGIN CERTIFICATE-----\n").unwrap();
    make_fifo(&dir.path().join("pipe"));
    for name in ["missing", "nonsense", "broken", "pipe", "."] {
        let file = dir.path().join(name);
        let Err(told) = Roots::of_system(Some(&file), Vec::new()) else {
            panic!("{name}");
        };
        let named = format!("SSL_CERT_FILE: {}: ", file.display());
        assert!(told.starts_with(&named) && !told.contains('\n'), "{told}");
    }
}

#[test]
fn a_start_that_cannot_use_them_ends_with_status_2_before_it_opens_anything() {
    let dir = tempfile::tempdir().unwrap();
    let unused = dir.path().join("unused");
    let missing = dir.path().join("missing").display().to_string();
    for (flags, told) in [
        (&[MODEL[0], MODEL[1], MODEL_KEY, &missing][..], MODEL_KEY),
        (&[WEBHOOK[0], WEBHOOK_SECRET, &missing], WEBHOOK_SECRET),
    ] {
        Ran::of(command(&unused).args(flags)).refused_in_a_line(2, told);
        assert!(!unused.exists(), "{flags:?}");
    }
}
