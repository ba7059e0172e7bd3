//! Mail: whether the account can send it, and to whom the service may.

use serde_json::json;

use crate::domain::{EmailAddress, Letter, LetterContent, LimitKey, PolicyName, Subject};
use crate::ports::{WindowSet, random};

use super::operation::{Answer, OperatorError, OperatorRequest, Params};

pub const ALLOW: &str = "mail allow";
pub const TEST: &str = "mail test";

/// What a test says.
const TEXT: &str = "This is a test. The service can send email through this account.";

/// Sends an email to `address`. The result is `accepted`, by the relay.
pub(super) async fn test(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let app = &request.app;
    let Some(mail) = &app.mail else {
        let none = "the service sends no email: set --smtp-url and --mail-from";
        return Err(OperatorError::Input(none.to_owned()));
    };
    let letter = Letter {
        to: address(&request.params)?,
        content: LetterContent {
            subject: format!("Test of {}", app.settings.service_name),
            text: TEXT.to_owned(),
            html: format!("<!doctype html><p lang=\"en\">{TEXT}</p>"),
        },
        at: app.clock.now(),
        id: random(&*app.entropy),
        leave_url: None,
    };
    let sent = async { mail.send(&letter.to, &mail.write(&letter)?).await };
    let sent = sent.await;
    let result = sent.as_ref().map_or("failed", |()| "accepted");
    // The log holds no address.
    tracing::info!(command = TEST, result, "operator");
    sent?;
    Answer::one(&json!({"result": result}))
}

/// Ends the suppression of `address`, whose recipient refused. Sign-ups in that time used up its emails of a day without
/// one, so its limit is reset, too: the next sign-up gets one.
pub(super) async fn allow(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let (app, email) = (&request.app, address(&request.params)?);
    let now = app.clock.now();
    if app.contacts.suppressed_until(&email, now).await?.is_none() {
        let none = "this address is not suppressed".to_owned();
        return Err(OperatorError::NotFound(none));
    }
    let meter = app.meter();
    let key = LimitKey::new(meter.key, PolicyName::Mail, Subject::Mailbox(&email));
    // First, so that a command that fails can be repeated.
    meter.limiter.reset(WindowSet::Window(key)).await?;
    app.contacts.allow(&email).await?;
    let result = "allowed";
    tracing::info!(command = ALLOW, result, "operator");
    Answer::one(&json!({"address": email.as_str(), "result": result}))
}

fn address(params: &Params) -> Result<EmailAddress, OperatorError> {
    let missing = || OperatorError::Input("say which address".to_owned());
    params.emails("address")?.pop().ok_or_else(missing)
}
