//! The landing assistant: an answer within the visitor's quota.

use crate::domain::chat::Conversation;
use crate::domain::client::{Client, Subject};
use crate::domain::decision::Decision;
use crate::domain::policy::{PolicyName, Quota};
use crate::domain::quota_token::QuotaToken;
use crate::domain::time::Timestamp;
use crate::ports::{
    AnswerSink, Clock, Entropy, EntropyError, LimiterError, ModelClient, ModelError, ModelPermit,
    Receipt,
};

use super::meter::Meter;

/// Whom a turn is counted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    /// A visitor of the site, by the name in the quota cookie.
    Visitor(QuotaToken),
    /// A visitor without a name, who is given one with the first turn.
    Stranger,
    /// A program that keeps no cookies: by its credential, or by its network if it presents none.
    Program,
}

impl Asker {
    /// What is counted for a visitor named `name`, or for a program.
    fn subject<'a>(name: Option<&'a QuotaToken>, client: &'a Client) -> Subject<'a> {
        name.map_or_else(|| client.subject(), Subject::Visitor)
    }
}

/// The visitor has an answer.
#[derive(Debug)]
pub struct Answered {
    /// What the assistant says.
    pub reply: String,
    /// The name the turn was counted under, to be given to the visitor again.
    pub visitor: Option<QuotaToken>,
    /// How the assistant's policies stand.
    pub decision: Decision,
}

/// The visitor has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    /// The visitor's own quota is used up, whatever else refuses.
    #[error("assistant quota used up")]
    QuotaExhausted(Decision),
    /// Another policy refuses.
    #[error("rate limited")]
    Refused(Decision),
    /// The model gave no answer. The decision shows whether the turn was given back; if it was
    /// not, the visitor's name is there to be given again.
    #[error("{error}")]
    Model {
        /// How the assistant's policies stand.
        decision: Decision,
        /// The visitor's name that the turn stays counted under; nothing if it was given back.
        charged: Option<QuotaToken>,
        /// What the model client says.
        error: ModelError,
    },
    /// The limiter cannot decide: no turn without a count.
    #[error(transparent)]
    Limiter(#[from] LimiterError),
    /// A stranger could not be given a name.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}

/// The world the assistant works in.
#[derive(Clone, Copy)]
pub struct Assistant<'a> {
    /// Answers.
    pub model: &'a dyn ModelClient,
    /// Read again after the model: by then time has passed.
    pub clock: &'a dyn Clock,
    /// Names strangers.
    pub entropy: &'a dyn Entropy,
}

impl std::fmt::Debug for Assistant<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Assistant(..)")
    }
}

/// A turn that holds a permit and is charged, before the model is asked.
#[derive(Debug)]
pub struct Turn {
    /// The name the turn is counted under, to be given to the visitor again.
    pub visitor: Option<QuotaToken>,
    /// How the assistant's policies stand with this turn counted.
    pub decision: Decision,
    receipt: Receipt,
    /// Held until the model has answered or failed.
    permit: ModelPermit,
}

/// Takes a permit of the model, then charges a turn.
///
/// # Errors
/// [`ChatError`] when no permit is left or the turn is not admitted; nothing is charged then.
pub async fn reserve(
    assistant: Assistant<'_>,
    meter: Meter<'_>,
    now: Timestamp,
    client: &Client,
    asker: Asker,
) -> Result<Turn, ChatError> {
    let permit = match assistant.model.reserve() {
        Ok(permit) => permit,
        Err(error) => {
            return Err(ChatError::Model {
                decision: quota(meter, now, client, asker).await?,
                charged: None,
                error,
            });
        }
    };
    let visitor = match asker {
        Asker::Visitor(name) => Some(name),
        Asker::Stranger => Some(stranger(assistant.entropy)?),
        Asker::Program => None,
    };
    let mut subjects = vec![
        (
            PolicyName::Assistant,
            Asker::subject(visitor.as_ref(), client),
        ),
        (PolicyName::AssistantIp, Subject::Network(client.network)),
    ];
    if assistant.model.is_metered() {
        subjects.push((PolicyName::AssistantAll, Subject::Everyone));
    }
    let charges = meter.charges(client.network, &subjects);
    let admission = meter.limiter.acquire(&charges, now).await?;
    let decision = admission.decision.featuring(PolicyName::Assistant);
    if decision.is_refused() {
        return Err(refused(decision));
    }
    Ok(Turn {
        visitor,
        decision,
        receipt: admission.receipt,
        permit,
    })
}

/// Asks the model, and keeps the turn or gives that very one back ([`Meter::refund`]). Whoever drops
/// the future ends the asking: the turn stays charged.
///
/// # Errors
/// [`ChatError`] when there is no answer.
pub async fn answer(
    assistant: Assistant<'_>,
    meter: Meter<'_>,
    turn: Turn,
    conversation: &Conversation,
    sink: &dyn AnswerSink,
) -> Result<Answered, ChatError> {
    let Turn {
        visitor,
        decision,
        receipt,
        permit,
    } = turn;
    let reply = assistant.model.reply(conversation, sink).await;
    drop(permit);
    match reply {
        Ok(reply) => Ok(Answered {
            reply,
            visitor,
            decision,
        }),
        Err(error) => {
            let refundable = match &error {
                ModelError::Started(_) => None,
                ModelError::NotStarted(_) => Some(receipt),
                ModelError::Unusable(_) => {
                    Some(receipt.only(|policy| policy == PolicyName::Assistant))
                }
            };
            let charged = visitor.filter(|_| refundable.is_none());
            let decision = match refundable {
                Some(receipt) => {
                    meter
                        .refund(receipt, decision, assistant.clock.now())
                        .await?
                }
                None => decision,
            };
            Err(ChatError::Model {
                decision,
                charged,
                error,
            })
        }
    }
}

/// What the asker's quota is, and how many turns are left; charges nothing and names nobody.
///
/// # Errors
/// [`LimiterError`] when the limiter cannot decide.
pub async fn quota(
    meter: Meter<'_>,
    now: Timestamp,
    client: &Client,
    asker: Asker,
) -> Result<Decision, LimiterError> {
    let visitor = match asker {
        Asker::Visitor(name) => Some(name),
        // A stranger has used nothing: any name that nobody has will do.
        Asker::Stranger => Some(QuotaToken::new([0; 16])),
        Asker::Program => None,
    };
    let who = Asker::subject(visitor.as_ref(), client);
    let charges = meter.charges(client.network, &[(PolicyName::Assistant, who)]);
    let decision = meter.limiter.peek(&charges, now).await?;
    Ok(decision.featuring(PolicyName::Assistant))
}

/// The visitor's numbers as the chat's answers show them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Turns counted.
    pub used: u32,
    /// Turns allowed.
    pub max: u32,
    /// Turns left.
    pub remaining: u32,
}

impl Allowance {
    /// The numbers of the `assistant` policy; when it is off, the largest quota there is, unused.
    #[must_use]
    pub fn of(decision: &Decision) -> Self {
        match decision.standing(PolicyName::Assistant) {
            Some(standing) => Self {
                used: standing.used(),
                max: standing.quota.count(),
                remaining: standing.remaining(),
            },
            None => Self {
                used: 0,
                max: Quota::COUNT_MAX,
                remaining: Quota::COUNT_MAX,
            },
        }
    }
}

fn stranger(entropy: &dyn Entropy) -> Result<QuotaToken, EntropyError> {
    let mut id = [0; 16];
    entropy.fill(&mut id)?;
    Ok(QuotaToken::new(id))
}

fn refused(decision: Decision) -> ChatError {
    let is_quota = decision
        .violated()
        .any(|standing| standing.policy == PolicyName::Assistant);
    if is_quota {
        ChatError::QuotaExhausted(decision)
    } else {
        ChatError::Refused(decision)
    }
}
