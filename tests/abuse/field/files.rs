//! Volumes, templates and lists of owners: refused before anything is lost, or used.

use std::fs;
use std::path::Path;

use rustix::process::Signal;

use super::run;
use crate::Run;
use crate::program::{Program, Ran, command, open_to_group, private_dir};

pub(crate) fn files(_run: Run) -> Result<String, String> {
    let dir = private_dir();
    let program = Program::on(dir.path());
    program.sign_up("ada@example.com");
    program.signal(Signal::HUP);
    program.sign_up("bob@example.com");
    program.status_after(Signal::KILL);
    open_to_group(dir.path());
    let program = Program::on(dir.path());
    program.sign_up("cid@example.com");
    program.stopped();
    if run(&["contacts", "count"], dir.path()).out != "3\n" {
        return Err("a volume that was opened to its group lost contacts".to_owned());
    }
    long_mail()?;
    consent(dir.path())?;
    Ok("a hang-up, a volume, a template and a list".to_owned())
}

/// A mail that is longer than a line of the ledger may be is refused before anybody signs up.
fn long_mail() -> Result<(), String> {
    let (dir, site) = (private_dir(), private_dir());
    let template = format!("Subject\n\n{}", "{{ confirm_url }}\n".repeat(30));
    fs::write(site.path().join("confirmation.md"), template).unwrap();
    let mut command = command(dir.path());
    command.arg("--site-dir").arg(site.path()).args([
        "--opt-in=double",
        &format!(
            "--base-url=https://{}.example.com",
            "long.".repeat(19) + "x"
        ),
        "--mail-from=news@example.org",
        "--smtp-url=smtp://127.0.0.1:1",
    ]);
    let ran = Ran::of(&mut command);
    if ran.status == Some(0) || !ran.err.contains("confirmation.md") {
        return Err(format!("a mail that is too long: {ran:?}"));
    }
    Ok(())
}

/// Nobody who has left is signed up by an import.
fn consent(data_dir: &Path) -> Result<(), String> {
    let list = data_dir.join("list.csv");
    for (column, is_known) in [("blacklisted", true), ("marketing consent", false)] {
        fs::write(&list, format!("email,{column}\ndan@example.com,1\n")).unwrap();
        let ran = run(&["contacts", "import", list.to_str().unwrap()], data_dir);
        let subscribed = run(&["contacts", "count", "--status", "subscribed"], data_dir);
        if (ran.status == Some(0)) != is_known || subscribed.out != "3\n" {
            return Err(format!("{column}: {ran:?}, {subscribed:?}"));
        }
    }
    Ok(())
}
