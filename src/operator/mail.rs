//! Mail: whether the account can send it.

use serde_json::json;

use crate::domain::{EmailAddress, Letter};
use crate::ports::random;

use super::operation::{Answer, Operation, OperatorError, OperatorRequest};

pub static TEST: Operation = Operation::new("mail test", |request| Box::pin(test(request)));

/// What a test says.
const TEXT: &str = "The service can send mail by this account.";

/// Sends a mail to `address`. The result is `taken`, by the relay.
async fn test(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let app = &request.app;
    let Some(mail) = &app.mail else {
        let none = "the service sends no mail: give it --smtp-url and --mail-from";
        return Err(OperatorError::Input(none.to_owned()));
    };
    let address = request.params.parsed("address", EmailAddress::parse)?;
    let to = address.ok_or_else(|| OperatorError::Input("say to which address".to_owned()))?;
    let letter = Letter {
        to,
        subject: format!("Test of {}", app.settings.service_name),
        text: TEXT.to_owned(),
        html: format!("<!doctype html><p lang=\"en\">{TEXT}</p>"),
        at: app.clock.now(),
        id: random(&*app.entropy)?,
        leave_url: None,
    };
    let sent = async { mail.send(&mail.write(&letter)?).await };
    let sent = sent.await;
    let result = sent.as_ref().map_or("failed", |()| "taken");
    // The log holds no address.
    tracing::info!(command = TEST.name, result, "operator");
    sent?;
    Answer::one(&json!({"result": result}))
}
