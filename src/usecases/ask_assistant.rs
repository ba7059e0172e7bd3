//! Asking the landing assistant, within the visitor's quota.

use crate::domain::{
    Client, Conversation, Decision, Network, PolicyName, Question, QuotaToken, Subject, Timestamp,
};
use crate::metrics::{Counter, LastError};
use crate::ports::{
    Admission, AnswerSink, LimiterError, ModelClient, ModelError, ModelPermit, QuestionStore,
};

use super::meter::{ChargeError, Meter};

/// The outcome of a turn that was answered.
#[derive(Debug)]
pub struct Answered {
    /// The assistant's reply.
    pub reply: String,
    /// The visitor's id, whose cookie is to be renewed.
    pub visitor: Option<QuotaToken>,
    /// The standing of the assistant's policies.
    pub decision: Decision,
    /// The model's error, if the fallback answered. The whole reply is here; the sink has nothing of it.
    pub model_error: Option<ModelError>,
}

/// Why a turn was not answered.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    /// The visitor's own quota is used up. Reported in preference to other refusals.
    #[error("assistant quota used up")]
    QuotaExhausted(Decision),
    /// Another policy refuses.
    #[error("rate limited")]
    Refused(Decision),
    /// The model gave no answer. The decision shows whether the turn was refunded.
    #[error("{error}")]
    Model {
        /// The standing of the assistant's policies.
        decision: Decision,
        /// The visitor's id if the turn stays charged.
        charged: Option<QuotaToken>,
        /// The model client's error.
        error: ModelError,
    },
    /// The limiter cannot decide, so the turn is not allowed.
    #[error(transparent)]
    Limiter(#[from] LimiterError),
}

/// The ports of the assistant.
#[derive(Clone, Copy)]
pub struct Assistant<'a> {
    /// Counts turns.
    pub meter: Meter<'a>,
    pub model: &'a dyn ModelClient,
    /// Answers the turns that the model failed and that are given back.
    pub fallback: Option<&'a dyn ModelClient>,
    /// Gets the questions that the model knows no answer to.
    pub questions: &'a dyn QuestionStore,
}

/// A turn that is charged, before the model is asked.
pub struct Turn {
    /// The visitor's id, whose cookie is to be renewed.
    pub visitor: Option<QuotaToken>,
    /// With the standing of the assistant's policies, including this turn.
    pub charged: Admission,
    /// Held until the model has answered or failed. Without one only the fallback is asked.
    permit: Result<ModelPermit, ModelError>,
}

/// The limiter's subject: the visitor, or the client if that is a program, which keeps no cookies.
pub fn subject(visitor: Option<QuotaToken>, client: &Client) -> Subject<'_> {
    visitor.map_or_else(|| client.subject(), Subject::Visitor)
}

/// Takes a permit of the model, then charges a turn of the `visitor`, or of a program. With a fallback the turn
/// needs no permit, but is admitted as any other.
///
/// After an error nothing is charged.
pub async fn begin_turn(
    assistant: Assistant<'_>,
    now: Timestamp,
    client: &Client,
    visitor: Option<QuotaToken>,
) -> Result<Turn, ChatError> {
    let (meter, subject) = (assistant.meter, subject(visitor, client));
    let not_started = &meter.metrics.model.not_started;
    let permit = match (assistant.model.reserve(), assistant.fallback) {
        (Err(error), None) => {
            not_started.increase();
            return Err(ChatError::Model {
                decision: remaining_turns(meter, now, client.network, subject).await?,
                charged: None,
                error,
            });
        }
        (permit, _) => permit,
    };
    let mut subjects = vec![
        (PolicyName::Assistant, subject),
        (PolicyName::AssistantIp, client.network_subject()),
    ];
    if assistant.model.is_metered() {
        subjects.push((PolicyName::AssistantPrefix, Subject::Prefix(client.network)));
        subjects.push((PolicyName::AssistantAll, Subject::Everyone));
    }
    let mut charged = meter.charge(client.network, &subjects, now).await?;
    if permit.is_err() {
        not_started.increase();
    }
    charged.decision = charged.decision.featuring(PolicyName::Assistant);
    Ok(Turn {
        visitor,
        charged,
        permit,
    })
}

/// Counts how a turn ended, even if its future is dropped.
struct ModelOutcome<'a>(&'a Counter);

impl Drop for ModelOutcome<'_> {
    fn drop(&mut self) {
        self.0.increase();
    }
}

/// Calls the model. A failed turn is refunded, as far as [`Meter::refund`] allows, unless the model
/// worked on it or may have; the fallback then answers it. If the future is dropped, the turn stays
/// charged.
pub async fn answer(
    assistant: Assistant<'_>,
    turn: Turn,
    conversation: &Conversation,
    sink: Option<&dyn AnswerSink>,
) -> Result<Answered, ChatError> {
    let (meter, visitor, charged) = (assistant.meter, turn.visitor, turn.charged);
    let answered = |reply, decision, model_error| Answered {
        reply,
        visitor,
        decision,
        model_error,
    };
    let (decision, error) = match turn.permit {
        Ok(permit) => match ask(assistant, permit, conversation, sink).await {
            Ok(reply) => return Ok(answered(reply, charged.decision, None)),
            Err(error) => (refund(meter, charged, &error).await, error),
        },
        Err(error) => (meter.refund_all(charged).await, error),
    };
    let is_charged = error.is_charged();
    if let Some(fallback) = assistant.fallback
        && !is_charged
        && let Ok(reply) = fallback.reply(conversation, None).await
    {
        return Ok(answered(reply.text, decision, Some(error)));
    }
    Err(ChatError::Model {
        decision,
        charged: visitor.filter(|_| is_charged),
        error,
    })
}

/// Calls the model and counts how that ended.
async fn ask(
    assistant: Assistant<'_>,
    permit: ModelPermit,
    conversation: &Conversation,
    sink: Option<&dyn AnswerSink>,
) -> Result<String, ModelError> {
    let counters = &assistant.meter.metrics.model;
    let mut outcome = ModelOutcome(&counters.abandoned);
    let reply = assistant.model.reply(conversation, sink).await;
    drop(permit);
    let at = assistant.meter.clock.now();
    outcome.0 = match &reply {
        Ok(reply) if reply.is_unanswered => {
            assistant.questions.add(Question::new(conversation, at));
            &counters.unanswered
        }
        Ok(_) => &counters.answered,
        Err(ModelError::NotStarted(_)) => &counters.not_started,
        Err(ModelError::Unusable(_)) => &counters.unusable,
        Err(ModelError::Started(_)) => &counters.failed,
        Err(ModelError::Abandoned(_)) => &counters.abandoned,
    };
    if let Err(error) = &reply
        && !matches!(error, ModelError::Abandoned(_))
    {
        let text = error.to_string();
        *counters.last_error.lock() = Some(LastError { at, text });
    }
    reply.map(|reply| reply.text)
}

/// Refunds a turn that failed with `error`, and returns the decision with the standings afterwards.
async fn refund(meter: Meter<'_>, charged: Admission, error: &ModelError) -> Decision {
    let Admission { decision, receipt } = charged;
    let receipt = match error {
        ModelError::Started(_) | ModelError::Abandoned(_) => return decision,
        ModelError::NotStarted(_) => receipt,
        ModelError::Unusable(_) => receipt.only(|policy| policy == PolicyName::Assistant),
    };
    meter.refund(Admission { decision, receipt }).await
}

/// The quota and the remaining turns of the subject, in `network`. Charges nothing.
pub async fn remaining_turns(
    meter: Meter<'_>,
    now: Timestamp,
    network: Network,
    subject: Subject<'_>,
) -> Result<Decision, LimiterError> {
    let charges = meter.charges(network, &[(PolicyName::Assistant, subject)]);
    let decision = meter.limiter.peek(&charges, now).await?;
    Ok(decision.featuring(PolicyName::Assistant))
}

/// Like [`remaining_turns`], without waiting. `None` if the limiter is not in this process.
pub fn remaining_now(
    meter: Meter<'_>,
    now: Timestamp,
    network: Network,
    subject: Subject<'_>,
) -> Option<Decision> {
    let charges = meter.charges(network, &[(PolicyName::Assistant, subject)]);
    let decision = meter.limiter.peek_now(&charges, now)?;
    Some(decision.featuring(PolicyName::Assistant))
}

impl From<ChargeError> for ChatError {
    fn from(error: ChargeError) -> Self {
        let decision = match error {
            ChargeError::Refused(decision) => decision.featuring(PolicyName::Assistant),
            ChargeError::Limiter(cause) => return Self::Limiter(cause),
        };
        let own = decision.standing(PolicyName::Assistant);
        match own.is_some_and(|standing| standing.is_violated) {
            true => Self::QuotaExhausted(decision),
            false => Self::Refused(decision),
        }
    }
}
