//! `mail test`, and what `check` and `doctor` say of the account.

use std::cell::RefCell;

use landing_api::domain::contact::SignUp;
use landing_api::ports::ContactStore as _;

use crate::fixtures::{eventually, origin, sign_up_of};
use crate::mail::relay::{Relay, Script, Then};
use crate::prelude::*;
use crate::program::assert_impersonal;

/// The flags of an account with this relay.
fn flags(address: &str) -> [String; 2] {
    [
        format!("--smtp-url=smtp://{address}"),
        "--mail-from=Example <news@example.org>".to_owned(),
    ]
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}

#[tokio::test]
async fn a_test_mail_is_sent_by_the_service_that_runs() {
    let relay = Relay::start(Script::default()).await;
    let [url, _] = flags(&relay.address.to_string());
    blocking(move || {
        let dir = private_dir();
        let flags = ["--mail-from=news@example.org", "--service-name=Lumen"];
        let program = Program::start(command(dir.path()).arg(url).args(flags));
        let test = "mail test ada@example.com";
        let shown = commands::run(test, dir.path()).done().out;
        assert!(shown.contains("accepted"), "{shown}");
        let json = commands::run(&format!("{test} --json"), dir.path()).json();
        assert_eq!(json, json!({"result": "accepted"}));
        assert_impersonal(&program.stopped());
    })
    .await;
    let received = relay.received();
    assert_eq!(received.messages.len(), 2, "{received:?}");
    let message = &received.messages[0];
    assert!(message.contains("Subject: Test of Lumen\n"), "{message}");
    // The sender has no name, so the mail has the service's.
    assert_present(message, &["From: Lumen <news@example.org>\n"]);
}

#[tokio::test]
async fn a_test_mail_that_is_not_taken_says_why() {
    let refused = b"550 5.1.1 <ada@example.com> is nobody here\r\n";
    let relay = Relay::start(Script::saying("RCPT", refused, Then::GoOn)).await;
    let refusing = relay.address.to_string();
    blocking(move || {
        let house = House::stopped();
        let dir = &house.path;
        let with = |address: &str, told: &str| {
            let [url, from] = flags(address);
            let mut command = commands::command("mail test ada@example.com", dir);
            command.env("LANDING_SMTP_URL", url.trim_start_matches("--smtp-url="));
            command.env("LANDING_MAIL_FROM", from.trim_start_matches("--mail-from="));
            Ran::of(&mut command).refused_in_a_line(1, told);
        };
        with(&refusing, "the relay replied 550 5.1.1 (address) is nobody");
        let refused =
            "the account cannot be used: cannot connect: Connection refused (os error 111)";
        with(&closed_address(), refused);
        let none = commands::run("mail test ada@example.com", dir);
        none.refused_in_a_line(2, "set --smtp-url and --mail-from");
        for wrong in ["ada", "", "a@b.example,c@d.example"] {
            commands::run(&format!("mail test {wrong}"), dir).refused(2, "ADDRESS");
        }
    })
    .await;
}

#[tokio::test]
async fn a_suppression_is_shown_and_lifted_while_no_service_runs() {
    let (house, opened) = House::opened_with(["bob"]).await;
    let email = EmailAddress::parse("ada@example.com").unwrap();
    let sign_up = SignUp {
        is_to_be_confirmed: true,
        ..sign_up_of(email, origin(3, None), NOW)
    };
    let token = sign_up.leave_token;
    opened.store.sign_up(sign_up).await.unwrap();
    let refused = opened.store.refuse(&token, Timestamp::from_ms(1 << 42));
    assert_eq!(refused.await, Ok(true));
    opened.stop();
    blocking(move || {
        let run = |words: &str| commands::run(words, &house.path);
        let show = "contacts show ada@example.com";
        run(show).refused(1, "it is suppressed until 2109-");
        let allowed = run("mail allow ADA@example.com").done();
        assert_eq!(allowed.out, "Result  allowed\n");
        let shown = run(show);
        assert!(!shown.err.contains("suppressed"), "{shown:?}");
        for (words, status, message) in [
            ("mail allow ada@example.com", 1, "is not suppressed"),
            ("mail allow bob@example.com", 1, "is not suppressed"),
            ("mail allow eve@example.com", 1, "is not suppressed"),
            ("mail allow ada", 2, "ADDRESS"),
            ("mail allow", 2, "ADDRESS"),
        ] {
            run(words).refused(status, message);
        }
    })
    .await;
}

#[tokio::test]
async fn doctor_tries_the_account_and_check_its_files() {
    let relay = Relay::start(Script::default()).await;
    let address = relay.address.to_string();
    blocking(move || {
        let dir = private_dir();
        let password = dir.path().join("password");
        let line = |name: &str, flags: &[String]| {
            let mut command = commands::command(name, dir.path());
            let ran = Ran::of(command.args(["--listen=127.0.0.1:0"]).args(flags));
            let mut lines = ran.out.lines().filter(|line| line.contains("  mail: "));
            lines.next().unwrap_or_else(|| panic!("{ran:?}")).to_owned()
        };
        let [_, from] = flags(&address);
        let login = format!("--smtp-url=smtp://ada@{address}");
        let file = format!("--smtp-password-file={}", password.display());
        let account = [login, from, file];
        let check = |words: &str| assert!(line("check", &account).contains(words), "{words}");
        let doctor = |words: &str| assert!(line("doctor", &account).contains(words), "{words}");
        check("No such file");
        write_private(&password, "hunter1");
        check("are valid; doctor tests the connection");
        doctor("535 5.7.8 wrong password");
        fs::write(&password, "hunter2").unwrap();
        doctor("the relay accepts the account");
        assert!(line("doctor", &[]).contains("none: no email is sent"));
    })
    .await;
    assert!(relay.received().messages.is_empty());
}

#[tokio::test]
async fn double_opt_in_is_tried_on_the_machine_itself_without_a_base_url() {
    let relay = Relay::start(Script::default()).await;
    let flags = flags(&relay.address.to_string());
    let program = blocking(move || {
        let dir = private_dir();
        let program = Program::start(command(dir.path()).args(&flags).arg("--opt-in=double"));
        program.sign_up("ada@example.com");
        (dir, program)
    });
    let (dir, program) = program.await;
    let message = RefCell::new(String::new());
    eventually("the email is taken", || {
        let mut message = message.borrow_mut();
        message.extend(relay.received().messages);
        !message.is_empty()
    })
    .await;
    let text = message.take().replace("=\n", "");
    let link = format!("http://{}/newsletter/confirm/", program.address);
    let (_, token) = text.split_once(&link).unwrap_or_else(|| panic!("{text}"));
    let path = format!("/newsletter/confirm/{}", &token[..32]);
    blocking(move || {
        assert_eq!(program.post_form(&path, "answer=confirm").0, 200);
        let shown = commands::run("contacts show ada@example.com --json", dir.path()).json();
        assert_eq!(shown["status"], "subscribed");
        // Files are for other machines.
        assert_eq!(shown["unsubscribe_url"], json!(null));
        program.stopped();
    })
    .await;
}
