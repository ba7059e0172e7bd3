//! Outages and faults of accounts, and who waits for whom.

use std::future::pending;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use async_trait::async_trait;
use landing_api::adapters::supervisor::supervise;
use landing_api::domain::consent::LeaveToken;
use landing_api::domain::delivery::{Delivery, DeliveryId, DeliveryKind, Failure};
use landing_api::domain::mail::Letter;
use landing_api::metrics::workers::Worker;
use landing_api::ports::{DeliveryQueue, MailError, MailSender, WebhookSender};
use landing_api::usecases::deliver::{DeliverError, Mailing, deliver_mail, deliver_to_webhook};

use crate::operator::ask;
use crate::prelude::*;

/// Answers each mail by the name of its recipient, without its number.
#[derive(Default)]
struct Relay {
    /// What everybody is answered, if there is something.
    outage: Mutex<Option<MailError>>,
    twin: ScriptedMailSender,
}

fn unclear(code: u16) -> MailError {
    let error = format!("{code} no");
    let code = Some(code);
    MailError::Unclear { code, error }
}

#[async_trait]
impl MailSender for Relay {
    fn write(&self, letter: &Letter) -> Result<String, MailError> {
        self.twin.write(letter)
    }

    async fn send(&self, to: &EmailAddress, message: &str) -> Result<(), MailError> {
        if let Some(error) = self.outage.lock().unwrap().clone() {
            return Err(error);
        }
        let name = to.as_str().split('@').next().unwrap();
        match name.trim_end_matches(|c: char| c.is_ascii_digit()) {
            "bare" => Err(unclear(550)),
            "other" => Err(unclear(554)),
            "refused" => Err(MailError::Refused("550 5.1.1 unknown".to_owned())),
            "busy" => Err(MailError::Later("no answer".to_owned())),
            "grey" => Err(unclear(450)),
            "denied" => Err(MailError::Unclear {
                code: None,
                error: "550 5.4.1 Access denied".to_owned(),
            }),
            _ => self.twin.send(to, message).await,
        }
    }
}

impl Relay {
    fn set_outage(&self, outage: Option<MailError>) {
        *self.outage.lock().unwrap() = outage;
    }
}

fn start() -> (TestApp, Arc<Relay>) {
    let relay = Arc::new(Relay::default());
    (Setup::with_mail(relay.clone()).start(), relay)
}

async fn sign_up(app: &TestApp, name: &str, from: &str) {
    let call = Call::sign_up(&format!("{name}@example.com")).from(from);
    app.expect("200", call).await;
    app.clock.advance_ms(1);
}

/// Sends what is due, until there is nothing or the account is left alone: for how many minutes.
async fn deliver(app: &TestApp, mailing: &mut Mailing) -> Option<u64> {
    loop {
        let mail = app.app.mail.as_deref().unwrap();
        match deliver_mail(app.app.deliveries(), mail, &*app.contacts, mailing).await {
            Ok(0) | Err(DeliverError::Limit(_)) => return None,
            Err(DeliverError::Account { wait_ms, .. }) => return Some(wait_ms / 60_000),
            sent => assert_eq!(sent.unwrap(), 1),
        }
    }
}

async fn queued(app: &TestApp) -> BTreeMap<String, Delivery> {
    let queued = listed(DeliveryQueue::list(&*app.contacts).await).await;
    let by_name = queued.into_iter().map(|delivery| {
        let email = delivery.email.clone().unwrap();
        let (name, _) = email.as_str().split_once('@').unwrap();
        (name.to_owned(), delivery)
    });
    by_name.collect()
}

async fn contact(app: &TestApp, name: &str) -> Contact {
    app.contact(&format!("{name}@example.com")).await.unwrap()
}

async fn status(app: &TestApp) -> Value {
    ask(app, "status", json!({})).await.unwrap()
}

#[tokio::test]
async fn a_refusal_is_the_recipients_or_the_accounts_and_no_mail_pays_for_the_account() {
    // Names in the order of their mails; those sent at once, failed for good, and failed for now; and for how many
    // minutes the account is left alone. All others are as if they had not been tried.
    type Row<'a> = (&'a str, &'a str, &'a str, &'a str, Option<u64>);
    let rows: [Row<'_>; 16] = [
        ("ada bare1 bob", "ada bob", "bare1", "", None),
        ("bare1 ada", "ada", "bare1", "", None),
        ("bare1 bare2 ada", "ada", "bare1 bare2", "", None),
        ("ada bare1", "ada", "", "bare1", None),
        ("bare1 bare2 bare3 ada", "", "", "", Some(1)),
        ("ada bare1 bare2 bare3", "ada", "", "", Some(1)),
        ("bare1 other1 bare2", "", "", "bare1 other1 bare2", None),
        (
            "bare1 bare2 refused1 ada",
            "ada",
            "bare1 bare2 refused1",
            "",
            None,
        ),
        ("bare1 busy1 ada", "ada", "bare1", "busy1", None),
        ("ada grey1 bob", "ada bob", "", "grey1", None),
        ("grey1", "", "", "grey1", None),
        ("grey1 grey2 grey3 ada", "", "", "", Some(1)),
        ("denied1 ada", "", "", "", Some(1)),
        ("ada denied1", "ada", "", "", Some(1)),
        ("ada denied1 bob", "ada bob", "", "denied1", None),
        ("ada denied1 denied2 bob", "ada", "", "", Some(1)),
    ];
    for (names, sent, dead, tried, pause) in rows {
        let (app, relay) = start();
        for name in names.split(' ') {
            sign_up(&app, name, "192.0.2.1").await;
        }
        let minutes = deliver(&app, &mut Mailing::default()).await;
        assert_eq!(minutes, pause, "{names}");
        let taken = relay.twin.taken().into_iter();
        let taken: Vec<_> = taken
            .map(|(to, _)| to.replace("@example.com", ""))
            .collect();
        assert_eq!(taken.join(" "), sent, "{names}");
        let queued = queued(&app).await;
        for name in names.split(' ') {
            let is_in = |set: &str| set.split(' ').any(|other| other == name);
            let confirmation = contact(&app, name).await.confirmation.unwrap();
            let is_refused = confirmation.undeliverable_at.is_some();
            let is_taken = confirmation.mailed_at.is_some();
            let expected = (is_in(dead), is_in(sent));
            assert_eq!((is_refused, is_taken), expected, "{names}: {name}");
            let Some(delivery) = queued.get(name) else {
                assert!(is_in(sent), "{names}: {name}");
                continue;
            };
            let attempts = u32::from(is_in(dead) || is_in(tried));
            assert_eq!(delivery.attempts, attempts, "{names}: {name}");
            assert_eq!(delivery.dead_at.is_some(), is_in(dead), "{names}: {name}");
        }
    }
}

#[tokio::test]
async fn an_account_at_fault_is_looked_at_again_and_all_mails_leave_once_it_is_fixed() {
    let outages = [
        MailError::Account("553 5.7.1 Sender address rejected".to_owned()),
        unclear(550),
        unclear(450),
    ];
    for outage in outages {
        let (app, relay) = start();
        for number in 0..12 {
            sign_up(&app, &format!("user{number}"), "192.0.2.1").await;
        }
        relay.set_outage(Some(outage.clone()));
        let mut mailing = Mailing::default();
        for minutes in [1, 5, 15, 60, 60] {
            assert_eq!(deliver(&app, &mut mailing).await, Some(minutes));
            let shown = status(&app).await;
            let queues = shown["queues"].as_array().unwrap();
            let mail = queues.iter().find(|it| it["channel"] == "mail").unwrap();
            let until = app.app.clock.now().plus_ms(minutes * 60_000);
            assert_eq!(mail["paused_until"], until.to_rfc3339());
            let words = mail["pause_reason"].as_str().unwrap();
            assert!(words.starts_with(['5', '4']), "{words}");
            let minute = until.to_rfc3339()[..16].replace('T', " ");
            let halt = format!("email paused until {minute} UTC: {words}");
            assert_eq!(mail["halt"], halt);
            let rows = ask(&app, "queue list", json!({})).await.unwrap();
            assert_eq!(rows.as_array().unwrap().len(), 12);
            for row in rows.as_array().unwrap() {
                assert_eq!(row["halt"], mail["halt"]);
                assert_eq!(row["state"], "paused");
                assert_eq!(row["last_error"], Value::Null, "never attempted");
                assert_eq!(row["due_at"], until.to_rfc3339());
            }
            app.clock.advance_ms(minutes * 60_000);
        }
        let untried = |it: &Delivery| it.attempts == 0 && it.dead_at.is_none();
        assert!(queued(&app).await.values().all(untried));
        relay.set_outage(None);
        assert_eq!(deliver(&app, &mut mailing).await, None);
        assert_eq!(relay.twin.taken().len(), 12);
        assert!(queued(&app).await.is_empty());
        let mail = &status(&app).await["queues"][1];
        assert_eq!(mail["paused_until"], Value::Null, "{mail}");
        relay.set_outage(Some(outage));
        for name in ["ada", "bob", "cat"] {
            sign_up(&app, name, "192.0.2.1").await;
        }
        assert_eq!(deliver(&app, &mut mailing).await, Some(1), "from the start");
    }
}

#[tokio::test]
async fn recipients_that_are_refused_are_in_nobodys_way() {
    let (app, relay) = start();
    for name in ["bare1", "bare2", "bare3", "ada"] {
        sign_up(&app, name, "192.0.2.1").await;
    }
    let mut mailing = Mailing::default();
    assert_eq!(deliver(&app, &mut mailing).await, Some(1));
    app.clock.advance_ms(60_000);
    // Another one is tried first, and then it is the recipients' fault, once others are accepted after them.
    assert_eq!(deliver(&app, &mut mailing).await, None);
    assert_eq!(relay.twin.taken().len(), 1);
    assert!(queued(&app).await.values().all(|it| it.attempts == 1));
    app.clock.advance_ms(600_000);
    let waiting = queued(&app).await;
    assert_eq!(waiting.len(), 3);
    assert!(waiting.values().all(|it| it.dead_at.is_none()));
    for name in ["bob", "cat"] {
        sign_up(&app, name, "192.0.2.1").await;
    }
    assert_eq!(deliver(&app, &mut mailing).await, None);
    let queued = queued(&app).await;
    assert!(queued.values().all(|it| it.dead_at.is_some()), "final");
}

#[tokio::test]
async fn an_address_that_the_account_may_not_write_to_stops_no_other_mail() {
    let (app, relay) = start();
    let mut mailing = Mailing::default();
    for number in 0..20 {
        sign_up(&app, &format!("denied{number}"), "192.0.2.1").await;
        sign_up(&app, &format!("ada{number}"), "198.51.100.1").await;
    }
    for _ in 0..6 {
        let minutes = deliver(&app, &mut mailing).await;
        assert!(minutes.is_none_or(|minutes| minutes == 1), "{minutes:?}");
        app.clock.advance_ms(60_000);
    }
    assert_eq!(relay.twin.taken().len(), 20);
    let left = queued(&app).await;
    let is_tried = |delivery: &Delivery| delivery.attempts > 0 && delivery.dead_at.is_none();
    assert_eq!(left.len(), 20);
    assert!(left.values().all(is_tried), "{left:?}");
    let denied = contact(&app, "denied1").await;
    assert_eq!(denied.confirmation.unwrap().undeliverable_at, None);
}

#[tokio::test]
async fn one_that_fails_alone_is_final_once_others_were_accepted() {
    let (app, _relay) = start();
    let mut mailing = Mailing::default();
    sign_up(&app, "bare1", "192.0.2.1").await;
    deliver(&app, &mut mailing).await;
    assert_eq!(queued(&app).await["bare1"].dead_at, None);
    sign_up(&app, "ada", "192.0.2.1").await;
    deliver(&app, &mut mailing).await;
    app.clock.advance_ms(3_600_000);
    deliver(&app, &mut mailing).await;
    assert!(queued(&app).await["bare1"].dead_at.is_some());
    let confirmation = contact(&app, "bare1").await.confirmation.unwrap();
    assert!(confirmation.undeliverable_at.is_some());
}

#[tokio::test]
async fn at_a_stop_undecided_mails_are_for_others_to_send_at_once() {
    let (app, _relay) = start();
    sign_up(&app, "bare1", "192.0.2.1").await;
    let (mut stopping, mut other) = (Mailing::default(), Mailing::default());
    let mail = app.app.mail.as_deref().unwrap();
    let round = deliver_mail(app.app.deliveries(), mail, &*app.contacts, &mut stopping);
    assert_eq!(round.await.unwrap(), 1);
    let before = queued(&app).await;
    assert_eq!(deliver(&app, &mut other).await, None);
    assert_eq!(queued(&app).await, before, "leased");
    stopping.end(app.app.deliveries()).await.unwrap();
    assert_eq!(queued(&app).await, before, "never attempted");
    assert_eq!(deliver(&app, &mut other).await, None);
    assert_eq!(queued(&app).await["bare1"].attempts, 1);
}

#[tokio::test]
async fn no_network_gets_more_than_a_quarter_of_all_mails_or_keeps_others_waiting() {
    let (app, relay) = start();
    for number in 0..600 {
        let from = format!("192.0.2.{}", number % 250);
        sign_up(&app, &format!("user{number}"), &from).await;
    }
    sign_up(&app, "honest", "198.51.100.1").await;
    let mut mailing = Mailing::default();
    deliver(&app, &mut mailing).await;
    let taken = relay.twin.taken();
    let turn = taken.iter().position(|(to, _)| to.starts_with("honest"));
    assert!(turn.is_some_and(|turn| turn < 2), "{turn:?}");
    assert_eq!(taken.len(), 126);
    assert!(queued(&app).await.values().all(|it| it.attempts == 0));
    // Within the same hour others are sent at once.
    for number in 0..5 {
        sign_up(&app, &format!("late{number}"), "203.0.113.1").await;
    }
    deliver(&app, &mut mailing).await;
    assert_eq!(relay.twin.taken().len(), 131);
    app.clock.advance_ms(3_600_000);
    deliver(&app, &mut mailing).await;
    assert_eq!(relay.twin.taken().len(), 256);
}

/// Never answers one message, and takes all others.
struct Slow(ScriptedWebhookSender);

#[async_trait]
impl WebhookSender for Slow {
    fn write(
        &self,
        kind: DeliveryKind,
        email: Option<&EmailAddress>,
        token: &LeaveToken,
        at: Timestamp,
    ) -> String {
        self.0.write(kind, email, token, at)
    }

    async fn send(&self, id: DeliveryId, body: &str, now: Timestamp) -> Result<(), Failure> {
        match body.contains("slow@") {
            true => pending().await,
            false => self.0.send(id, body, now).await,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn each_message_is_settled_as_its_attempt_ends() {
    let webhook = Arc::new(Slow(ScriptedWebhookSender::default()));
    let app = Setup::with_webhook(webhook.clone()).start();
    for name in ["slow", "ada", "bob", "cat"] {
        sign_up(&app, name, "192.0.2.1").await;
    }
    tokio::select! {
        ended = deliver_to_webhook(app.app.deliveries(), &*webhook) => panic!("{ended:?}"),
        () = sleep(Duration::from_secs(1)) => {}
    }
    // The process is killed here: one message is under way, and has the same id when it is sent again.
    let left = queued(&app).await;
    assert!(left.keys().eq(["slow"]));
    app.contacts.release(Channel::Webhook);
    let told = ScriptedWebhookSender::default();
    let delivered = deliver_to_webhook(app.app.deliveries(), &told).await;
    assert_eq!(delivered.unwrap(), 1);
    assert_eq!(told.taken()[0].0, left["slow"].id);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_ends_is_started_again_and_one_that_keeps_ending_is_shown() {
    for ends_by_panic in [false, true] {
        let app = TestApp::new();
        let starts = Arc::new(AtomicU32::new(0));
        let (counted, stop) = (Arc::clone(&starts), CancellationToken::new());
        let task = supervise(Worker::Mail, &app.metrics, &stop, move |_stop| {
            let starts = counted.fetch_add(1, Relaxed) + 1;
            async move {
                assert!(!ends_by_panic || starts > 30, "a fault");
                if starts > 30 {
                    pending::<()>().await;
                }
            }
        });
        // A pause of 1, 2, 4, 8 and 16 seconds before each.
        for (seconds, expected) in [(0, 1), (1, 2), (2, 3), (4, 4), (8, 5), (16, 6)] {
            sleep(Duration::from_secs(seconds) + Duration::from_millis(10)).await;
            assert_eq!(starts.load(Relaxed), expected);
        }
        let health = async || app.send(Call::health()).await.status;
        assert_eq!(health().await, StatusCode::OK);
        let shown = status(&app).await;
        assert_eq!(shown["service"]["failing_workers"], json!(["mail"]));
        sleep(Duration::from_secs(600)).await;
        assert_eq!(health().await, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(app.send(Call::health()).await.code(), "worker_failing");
        // It works again for a minute.
        sleep(Duration::from_secs(30 * 60)).await;
        assert_eq!(starts.load(Relaxed), 31);
        assert_eq!(health().await, StatusCode::OK);
        assert_eq!(status(&app).await["service"]["failing_workers"], json!([]));
        stop.cancel();
        task.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_nobody_was_promised_anything_of_leaves_health_alone() {
    let app = TestApp::new();
    let stop = CancellationToken::new();
    let task = supervise(Worker::Counts, &app.metrics, &stop, |_stop| async {});
    sleep(Duration::from_secs(1200)).await;
    app.expect("200", Call::health()).await;
    stop.cancel();
    task.await.unwrap();
}

#[test]
fn every_signal_is_decided() {
    let (_directory, program) = Program::fresh(&[]);
    let key = program.mint();
    use Signal as S;
    let users = [S::HUP, S::USR1, S::USR2, S::PIPE, S::IO, S::WINCH];
    let timers = [S::ALARM, S::VTALARM, S::PROF, S::XCPU];
    let others = [S::XFSZ, S::POWER, S::STKFLT];
    for signal in users.into_iter().chain(timers).chain(others) {
        program.signal(signal);
        assert_eq!(program.health(&key), 200, "{signal:?}");
    }
    let (status, log) = program.stop(Signal::QUIT);
    assert_eq!(status, Some(0), "{log}");
    assert!(log.contains("signal received: ignored"), "{log}");
    for signal in [Signal::TERM, Signal::INT] {
        let (_directory, program) = Program::fresh(&[]);
        assert_eq!(program.stop(signal).0, Some(0));
    }
}
