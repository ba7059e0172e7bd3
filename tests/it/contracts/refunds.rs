//! What a failure gives back and what it does not, over every limiter: a visitor pays for no turn or
//! sign-up that came to nothing, and a network cannot try again without end.

use std::sync::Arc;

use async_trait::async_trait;
use landing_api::adapters::files::questions::FileQuestionStore;
use landing_api::domain::QuotaToken;
use landing_api::domain::chat::{Content, Conversation, Message, Role};
use landing_api::domain::client::{Client, Network, Subject};
use landing_api::domain::decision::Decision;
use landing_api::domain::policy::{Policies, PolicyName};
use landing_api::domain::secret::MacKey;
use landing_api::metrics::Metrics;
use landing_api::ports::{
    AnswerSink, ContactStore, LimiterError, ModelClient, ModelError, ModelPermit, ModelReply,
    RateLimiter, StoreError, WebhookSender,
};
use landing_api::usecases::ask_assistant::{self, Answered, Assistant, ChatError};
use landing_api::usecases::issue_key::{IssueError, issue_key};
use landing_api::usecases::meter::{ChargeError, Meter};
use landing_api::usecases::subscribe::{Newsletter, SignUpFailure, SubscribeError, subscribe};

use super::limiters::limiters;
use crate::fixtures::{
    FaultyRateLimiter, START, address, failed, limiter_in_memory, mac_key, no_evidence, policies,
};
use crate::twins::{
    ManualClock, MemoryAnswerSink, MemoryContactStore, MemoryKeyIssuer, ScriptedModelClient,
    ScriptedWebhookSender, SeededEntropy,
};

const QUOTA: &str = "3/60s";
const LIMIT: u32 = 3;

/// What both use cases count with.
struct Desk {
    policies: Policies,
    key: MacKey,
    clock: ManualClock,
    entropy: SeededEntropy,
    metrics: Metrics,
}

impl Desk {
    fn new() -> Self {
        Self {
            policies: policies(QUOTA),
            key: mac_key().clone(),
            clock: ManualClock::new(START),
            entropy: SeededEntropy::default(),
            metrics: Metrics::new([]),
        }
    }

    fn meter<'a>(&'a self, limiter: &'a dyn RateLimiter) -> Meter<'a> {
        Meter {
            limiter,
            clock: &self.clock,
            policies: &self.policies,
            key: &self.key,
            metrics: &self.metrics,
        }
    }

    fn newsletter<'a>(
        &'a self,
        limiter: &'a dyn RateLimiter,
        contacts: &'a dyn ContactStore,
        provider: Option<&'a dyn WebhookSender>,
    ) -> Newsletter<'a> {
        Newsletter {
            meter: self.meter(limiter),
            contacts,
            provider,
            origin_key: &self.key,
            entropy: &self.entropy,
            webhook: None,
            opt_in: None,
        }
    }

    /// What comes of one turn of `visitor`, whom the model fails with `error`.
    async fn chat(
        &self,
        limiter: &dyn RateLimiter,
        host: u8,
        visitor: u8,
        error: ModelError,
    ) -> String {
        let model = ScriptedModelClient::new([Err(error)]).metered();
        let turn = self.turn(limiter, host, visitor, &model, None);
        told_of_turn(turn.await.unwrap_err())
    }

    async fn turn(
        &self,
        limiter: &dyn RateLimiter,
        host: u8,
        visitor: u8,
        model: &dyn ModelClient,
        fallback: Option<&dyn ModelClient>,
    ) -> Result<Answered, ChatError> {
        let asked = self.turn_to(None, limiter, (host, visitor), model, fallback);
        asked.await
    }

    /// A turn whose answer goes to `sink`.
    async fn turn_to(
        &self,
        sink: Option<&dyn AnswerSink>,
        limiter: &dyn RateLimiter,
        (host, visitor): (u8, u8),
        model: &dyn ModelClient,
        fallback: Option<&dyn ModelClient>,
    ) -> Result<Answered, ChatError> {
        let assistant = Assistant {
            meter: self.meter(limiter),
            model,
            fallback,
            questions: &FileQuestionStore::default(),
        };
        let hello = Message {
            role: Role::User,
            content: Content::parse("hello".to_owned()).unwrap(),
        };
        let conversation = Conversation::parse(vec![hello]).unwrap();
        let visitor = Some(QuotaToken::from_bytes([visitor; 16]));
        let turn = ask_assistant::begin_turn(assistant, START, &client(host), visitor).await?;
        ask_assistant::answer(assistant, turn, &conversation, sink).await
    }

    /// What comes of a sign-up of `name` that the provider does not take.
    async fn sign_up(&self, limiter: &dyn RateLimiter, host: u8, name: &str) -> String {
        let provider = ScriptedWebhookSender::default();
        provider.fail_with([failed("answered 500")]);
        let contacts = MemoryContactStore::default();
        let newsletter = self.newsletter(limiter, &contacts, Some(&provider));
        let signed_up = subscribe(newsletter, &client(host), address(name), no_evidence()).await;
        match signed_up.unwrap_err() {
            SubscribeError::Failed(decision, SignUpFailure::Provider(_)) => {
                format!("failed: {}", counts(&decision))
            }
            SubscribeError::NotCharged(ChargeError::Refused(decision)) => refused(&decision),
            error @ (SubscribeError::NotCharged(_) | SubscribeError::Failed(..)) => {
                panic!("{error}")
            }
        }
    }

    /// What a store without room leaves counted of a sign-up and of a key.
    async fn store(&self, limiter: &dyn RateLimiter, host: u8) -> [String; 2] {
        let full = || StoreError::Full("no space left".to_owned());
        let (contacts, keys) = (MemoryContactStore::default(), MemoryKeyIssuer::default());
        contacts.fail_with(Some(full()));
        keys.fail_with(Some(full()));
        let (meter, client) = (self.meter(limiter), client(host));
        let newsletter = self.newsletter(limiter, &contacts, None);
        let signed_up = subscribe(newsletter, &client, address("ada"), no_evidence()).await;
        let Err(SubscribeError::Failed(of_sign_up, SignUpFailure::Store(error))) = signed_up else {
            panic!("{signed_up:?}");
        };
        assert_eq!(error, full());
        let issued = issue_key(&keys, &self.entropy, meter, START, &client, None).await;
        let Err(IssueError::Store(of_key, error)) = issued else {
            panic!("{issued:?}");
        };
        assert_eq!(error, full());
        [counts(&of_sign_up), counts(&of_key)]
    }
}

/// What is counted under each policy of a decision: `assistant 0, -ip 1`, where `-ip` is short for
/// `assistant-ip`.
fn counts(decision: &Decision) -> String {
    let standings = decision.standings();
    let first = standings[0].policy.as_str();
    let counts = standings.iter().map(|standing| {
        let name = standing.policy.as_str();
        let end = name.strip_prefix(first).filter(|end| !end.is_empty());
        format!("{} {}", end.unwrap_or(name), standing.usage.counted)
    });
    counts.collect::<Vec<_>>().join(", ")
}

fn refused(decision: &Decision) -> String {
    let policies: Vec<_> = decision.violated().map(|it| it.policy.as_str()).collect();
    format!("refused by {}: {}", policies.join(", "), counts(decision))
}

fn told_of_turn(error: ChatError) -> String {
    match error {
        ChatError::Model {
            decision, charged, ..
        } => {
            let end = if charged.is_some() { "charged" } else { "free" };
            format!("{end}: {}", counts(&decision))
        }
        ChatError::Refused(decision) => refused(&decision),
        ChatError::QuotaExhausted(_) | ChatError::Limiter(_) => panic!("{error}"),
    }
}

/// Runs `suite` with every limiter.
async fn check(suite: impl AsyncFn(&Desk, &dyn RateLimiter)) {
    let (_dir, limiters) = limiters(QUOTA).await;
    for limiter in &limiters {
        suite(&Desk::new(), &**limiter).await;
    }
}

/// A model without a permit left.
struct FullModelClient;

#[async_trait]
impl ModelClient for FullModelClient {
    fn is_metered(&self) -> bool {
        true
    }

    fn reserve(&self) -> Result<ModelPermit, ModelError> {
        Err(not_started())
    }

    async fn reply(
        &self,
        _conversation: &Conversation,
        _sink: Option<&dyn AnswerSink>,
    ) -> Result<ModelReply, ModelError> {
        panic!("it was asked without a permit");
    }
}

fn client(host: u8) -> Client {
    Client::new(Network::V4([192, 0, 2, host]), false, mac_key())
}

fn not_started() -> ModelError {
    ModelError::NotStarted("connection refused".to_owned())
}

fn unusable() -> ModelError {
    ModelError::Unusable("empty".to_owned())
}

fn started() -> ModelError {
    ModelError::Started("broke off".to_owned())
}

#[tokio::test]
async fn a_network_gets_no_more_turns_and_sign_ups_back_than_its_ceiling_allows() {
    check(async |desk, limiter| {
        for (end, policy) in [("free", "assistant"), ("failed", "newsletter")] {
            // Of a visitor or an address.
            let fail = async |host, number| match policy {
                "assistant" => desk.chat(limiter, host, number, not_started()).await,
                _ => desk.sign_up(limiter, host, &format!("n{number}")).await,
            };
            for failed in 1..=LIMIT {
                let expected = format!("{end}: {policy} 0, -ip {failed}, -prefix 0, -all 0");
                assert_eq!(fail(1, 1).await, expected);
            }
            // Another one from there has had no more of it, and one from elsewhere has.
            for number in [1, 2] {
                let counted = format!("{policy} 0, -ip 3, -prefix 0, -all 0");
                let expected = format!("refused by {policy}-ip: {counted}");
                assert_eq!(fail(1, number).await, expected);
            }
            let elsewhere = fail(2, 1).await;
            assert!(elsewhere.starts_with(end), "{elsewhere}");
        }
    })
    .await;
}

#[tokio::test]
async fn what_bounds_the_bill_comes_back_only_if_the_model_never_began() {
    check(async |desk, limiter| {
        let told = desk.chat(limiter, 1, 1, not_started()).await;
        assert_eq!(told, "free: assistant 0, -ip 1, -prefix 0, -all 0");
        let told = desk.chat(limiter, 2, 2, unusable()).await;
        assert_eq!(told, "free: assistant 0, -ip 1, -prefix 1, -all 1");
        let told = desk.chat(limiter, 3, 3, started()).await;
        assert_eq!(told, "charged: assistant 1, -ip 1, -prefix 2, -all 2");
    })
    .await;
}

#[tokio::test]
async fn what_a_fallback_answers_is_given_back_like_a_failure_and_wholly_if_the_model_is_full() {
    check(async |desk, limiter| {
        let pages = ScriptedModelClient::default();
        let failing =
            |error: ModelError| Arc::new(ScriptedModelClient::new([Err(error)]).metered()) as _;
        let full: Arc<dyn ModelClient> = Arc::new(FullModelClient);
        for (host, model, counted) in [
            (1, failing(not_started()), "-ip 1, -prefix 0, -all 0"),
            (2, failing(unusable()), "-ip 1, -prefix 1, -all 1"),
            (3, full, "-ip 0, -prefix 1, -all 1"),
        ] {
            let counted = format!("assistant 0, {counted}");
            let turn = desk.turn(limiter, host, host, &*model, Some(&pages));
            let answered = turn.await.unwrap();
            assert!(answered.model_error.is_some(), "{host}");
            assert_eq!(answered.reply, "Hello, I am the scripted assistant.");
            assert_eq!(counts(&answered.decision), counted, "{host}");
        }
        // What the model had begun is charged and left as it is.
        let begun = failing(started());
        let turn = desk.turn(limiter, 4, 4, &*begun, Some(&pages)).await;
        let told = told_of_turn(turn.unwrap_err());
        assert!(told.starts_with("charged: "), "{told}");
        assert_eq!(pages.asked().len(), 3);
    })
    .await;
}

#[tokio::test]
async fn a_store_that_fails_costs_nobody_anything() {
    check(async |desk, limiter| {
        for _ in 0..3 * LIMIT {
            // The disk may take its time.
            desk.clock.advance_ms(1000);
            let [of_sign_up, of_key] = desk.store(limiter, 1).await;
            assert_eq!(of_sign_up, "newsletter 0, -ip 0, -prefix 0, -all 0");
            assert_eq!(of_key, "keys 0, -prefix 0, -all 0");
        }
    })
    .await;
}

#[tokio::test]
async fn a_refund_that_fails_hides_neither_the_error_nor_the_answer_of_the_fallback() {
    let limiter = FaultyRateLimiter::new(|call| match call {
        "refund" => Err(LimiterError("the engine is away".to_owned())),
        _ => Ok(()),
    });
    let desk = Desk::new();
    let told = desk.sign_up(&limiter, 1, "ada").await;
    assert!(told.starts_with("failed: newsletter 1, "), "{told}");
    let [of_sign_up, of_key] = desk.store(&limiter, 2).await;
    assert!(of_sign_up.starts_with("newsletter 1, "), "{of_sign_up}");
    assert!(of_key.starts_with("keys 1, "), "{of_key}");
    let [alone, failing] = [(); 2].map(|()| ScriptedModelClient::new([Err(not_started())]));
    let turn = desk.turn(&limiter, 3, 3, &alone, None).await;
    let Err(ChatError::Model {
        decision, error, ..
    }) = turn
    else {
        panic!("{turn:?}");
    };
    assert_eq!(error, not_started());
    assert!(counts(&decision).starts_with("assistant 1, "));
    let pages = ScriptedModelClient::default();
    let models: [&dyn ModelClient; 2] = [&failing, &FullModelClient];
    for model in models {
        let turn = desk.turn(&limiter, 4, 4, model, Some(&pages)).await;
        assert_eq!(turn.unwrap().reply, "Hello, I am the scripted assistant.");
    }
}

#[test]
fn the_window_of_everyone_is_never_shared_and_all_others_may_be() {
    let desk = Desk::new();
    let limiter = limiter_in_memory();
    let network = Network::V4([192, 0, 2, 1]);
    let visitor = QuotaToken::from_bytes([4; 16]);
    for (subject, is_shared) in [
        (Subject::Everyone, false),
        (Subject::Network([9; 16]), true),
        (Subject::Prefix(network), true),
        (Subject::SignUp(network, &address("ada")), true),
        (Subject::Visitor(visitor), true),
    ] {
        let meter = desk.meter(&limiter);
        let charges = meter.charges(network, &[(PolicyName::Ip, subject)]);
        let groups: Vec<_> = charges.iter().map(|it| it.group.is_some()).collect();
        assert_eq!(groups, [is_shared], "{subject:?}");
    }
}

/// How many turns ended how, of those that ended.
fn ended(metrics: &Metrics) -> Vec<(&'static str, u64)> {
    let outcomes = metrics.model.by_outcome();
    outcomes.filter(|(_, count)| *count > 0).collect()
}

#[tokio::test]
async fn a_reader_who_leaves_is_counted_as_such_and_is_no_failure_of_the_model() {
    check(async |desk, limiter| {
        let model = ScriptedModelClient::new([Ok("One. Two.".to_owned()), Err(started())]);
        let gone = MemoryAnswerSink::closing_after(0);
        let left = desk.turn_to(Some(&gone), limiter, (1, 1), &model, None);
        assert!(told_of_turn(left.await.unwrap_err()).starts_with("charged: "));
        assert_eq!(ended(&desk.metrics), [("abandoned", 1)]);
        assert_eq!(*desk.metrics.model.last_error.lock(), None);
        // Its own failure before an open sink is one.
        let failed = desk.turn(limiter, 1, 1, &model, None).await;
        assert!(told_of_turn(failed.unwrap_err()).starts_with("charged: "));
        assert_eq!(ended(&desk.metrics), [("failed", 1), ("abandoned", 1)]);
    })
    .await;
}
