//! What a failure gives back and what it does not, over every limiter: a visitor pays for no turn or
//! sign-up that came to nothing, and a network cannot try again without end.

use std::sync::Arc;

use async_trait::async_trait;
use landing_api::domain::chat::{Content, Conversation, Message, Role};
use landing_api::domain::client::{Client, Network, Subject};
use landing_api::domain::contact::RevealExisting;
use landing_api::domain::decision::Decision;
use landing_api::domain::policy::{Policies, PolicyName};
use landing_api::domain::quota_token::QuotaToken;
use landing_api::domain::secret::MacKey;
use landing_api::metrics::Metrics;
use landing_api::ports::{
    AnswerSink, ContactStore, Entropy, EntropyError, LimiterError, ModelClient, ModelError,
    ModelPermit, NotifyError, NullSink, RateLimiter, SignUps, StoreError,
};
use landing_api::usecases::ask_assistant::{self, Answered, Assistant, ChatError, ChatIdentity};
use landing_api::usecases::issue_key::{IssueError, issue_key};
use landing_api::usecases::meter::{ChargeError, Meter};
use landing_api::usecases::register_agent::register_agent;
use landing_api::usecases::subscribe::{Newsletter, SubscribeError, subscribe};

use super::limiters::limiters;
use crate::fixtures::{
    FaultyRateLimiter, START, address, limiter_in_memory, mac_key, policies, usage,
};
use crate::twins::{
    ManualClock, MemoryContactStore, MemoryKeyIssuer, ScriptedModelClient, ScriptedSignUps,
    SeededEntropy,
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
        contacts: &'a dyn ContactStore,
        provider: Option<&'a dyn SignUps>,
    ) -> Newsletter<'a> {
        Newsletter {
            contacts,
            provider,
            reveal: RevealExisting::SameClient,
            origin_key: &self.key,
        }
    }

    /// One turn of `visitor`, whom the model fails with `error`.
    async fn chat(
        &self,
        limiter: &dyn RateLimiter,
        host: u8,
        visitor: u8,
        error: ModelError,
    ) -> ChatError {
        let model = ScriptedModelClient::new([Err(error)]).metered();
        let turn = self.turn(limiter, host, visitor, &model, None);
        turn.await.unwrap_err()
    }

    async fn turn(
        &self,
        limiter: &dyn RateLimiter,
        host: u8,
        visitor: u8,
        model: &dyn ModelClient,
        fallback: Option<&dyn ModelClient>,
    ) -> Result<Answered, ChatError> {
        let assistant = Assistant {
            model,
            fallback,
            entropy: &self.entropy,
        };
        let hello = Message {
            role: Role::User,
            content: Content::parse("hello".to_owned()).unwrap(),
        };
        let conversation = Conversation::parse(vec![hello]).unwrap();
        let (meter, now) = (self.meter(limiter), START);
        let visitor = ChatIdentity::Visitor(QuotaToken::new([visitor; 16]));
        let turn = ask_assistant::begin_turn(assistant, meter, now, &client(host), visitor).await?;
        ask_assistant::answer(assistant, meter, turn, &conversation, &NullSink).await
    }

    /// A sign-up of `name` that the provider does not take.
    async fn sign_up(&self, limiter: &dyn RateLimiter, host: u8, name: &str) -> SubscribeError {
        let provider = ScriptedSignUps::default();
        provider.fail_with(Some(NotifyError::Failed("answered 500".to_owned())));
        let meter = self.meter(limiter);
        subscribe(
            self.newsletter(&MemoryContactStore::default(), Some(&provider)),
            meter,
            START,
            &client(host),
            address(name),
        )
        .await
        .unwrap_err()
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
        _sink: &dyn AnswerSink,
    ) -> Result<String, ModelError> {
        panic!("it was asked without a permit");
    }
}

/// A store without room.
fn full() -> StoreError {
    StoreError::Full("no space left".to_owned())
}

fn client(host: u8) -> Client {
    Client {
        network: Network::V4([192, 0, 2, host]),
        credential: None,
        may_be_shared: false,
    }
}

fn not_started() -> ModelError {
    ModelError::NotStarted("connection refused".to_owned())
}

fn counted(decision: &Decision, policy: PolicyName) -> u32 {
    usage(decision, policy).0
}

fn violated(decision: &Decision) -> Vec<PolicyName> {
    decision
        .violated()
        .map(|standing| standing.policy)
        .collect()
}

#[tokio::test]
async fn a_network_gets_no_more_turns_back_than_its_ceiling_allows() {
    let (_dir, limiters) = limiters(QUOTA).await;
    for limiter in &limiters {
        let desk = Desk::new();
        for failed in 1..=LIMIT {
            let error = desk.chat(&**limiter, 1, 1, not_started()).await;
            let ChatError::Model {
                decision, charged, ..
            } = error
            else {
                panic!("{error}");
            };
            assert_eq!(charged, None);
            assert_eq!(counted(&decision, PolicyName::Assistant), 0);
            assert_eq!(counted(&decision, PolicyName::AssistantIp), failed);
            assert_eq!(counted(&decision, PolicyName::AssistantAll), 0);
        }
        // Another visitor from there has had no more of it, and one from elsewhere has.
        for visitor in [1, 2] {
            let error = desk.chat(&**limiter, 1, visitor, not_started()).await;
            let ChatError::Refused(decision) = error else {
                panic!("{error}");
            };
            assert_eq!(violated(&decision), [PolicyName::AssistantIp]);
            assert_eq!(counted(&decision, PolicyName::Assistant), 0);
        }
        let elsewhere = desk.chat(&**limiter, 2, 1, not_started()).await;
        assert!(matches!(elsewhere, ChatError::Model { charged: None, .. }));
    }
}

#[tokio::test]
async fn what_bounds_the_bill_comes_back_only_if_the_model_never_began() {
    let (_dir, limiters) = limiters(QUOTA).await;
    for limiter in &limiters {
        let desk = Desk::new();
        let unusable = || ModelError::Unusable("empty".to_owned());
        let started = || ModelError::Started("broke off".to_owned());
        for (host, error, own, all) in [
            (1, not_started(), 0, 0),
            (2, unusable(), 0, 1),
            (3, started(), 1, 2),
        ] {
            let error = desk.chat(&**limiter, host, host, error).await;
            let ChatError::Model { decision, .. } = error else {
                panic!("{error}");
            };
            assert_eq!(counted(&decision, PolicyName::Assistant), own);
            assert_eq!(counted(&decision, PolicyName::AssistantIp), 1);
            assert_eq!(counted(&decision, PolicyName::AssistantAll), all);
        }
    }
}

#[tokio::test]
async fn what_a_fallback_answers_is_given_back_like_a_failure_and_wholly_if_the_model_is_full() {
    let (_dir, limiters) = limiters(QUOTA).await;
    for limiter in &limiters {
        let (desk, pages) = (Desk::new(), ScriptedModelClient::default());
        let failing =
            |error: ModelError| Arc::new(ScriptedModelClient::new([Err(error)]).metered()) as _;
        let unusable = ModelError::Unusable("empty".to_owned());
        let models: [(u8, Arc<dyn ModelClient>, u32, u32); 3] = [
            (1, failing(not_started()), 1, 0),
            (2, failing(unusable), 1, 1),
            (3, Arc::new(FullModelClient), 0, 1),
        ];
        for (host, model, network, all) in models {
            let turn = desk.turn(&**limiter, host, host, &*model, Some(&pages));
            let answered = turn.await.unwrap();
            assert!(answered.model_error.is_some(), "{host}");
            assert_eq!(answered.reply, "Hello, I am the scripted assistant.");
            let counted = |policy| counted(&answered.decision, policy);
            assert_eq!(counted(PolicyName::Assistant), 0, "{host}");
            assert_eq!(counted(PolicyName::AssistantIp), network, "{host}");
            assert_eq!(counted(PolicyName::AssistantAll), all, "{host}");
        }
        // What the model had begun is charged and left as it is.
        let begun = failing(ModelError::Started("broke off".to_owned()));
        let turn = desk.turn(&**limiter, 4, 4, &*begun, Some(&pages)).await;
        let Err(ChatError::Model { charged, .. }) = turn else {
            panic!("{turn:?}");
        };
        assert!(charged.is_some());
        assert_eq!(pages.asked().len(), 3);
    }
}

#[tokio::test]
async fn a_network_gets_no_more_sign_ups_back_than_its_ceiling_allows() {
    let (_dir, limiters) = limiters(QUOTA).await;
    for limiter in &limiters {
        let desk = Desk::new();
        for failed in 1..=LIMIT {
            let error = desk.sign_up(&**limiter, 1, "ada").await;
            let SubscribeError::Provider(decision, _) = error else {
                panic!("{error}");
            };
            assert_eq!(counted(&decision, PolicyName::Newsletter), 0);
            assert_eq!(counted(&decision, PolicyName::NewsletterIp), failed);
        }
        for name in ["ada", "bob"] {
            let error = desk.sign_up(&**limiter, 1, name).await;
            let SubscribeError::NotCharged(ChargeError::Refused(decision)) = error else {
                panic!("{error}");
            };
            assert_eq!(violated(&decision), [PolicyName::NewsletterIp]);
            assert_eq!(counted(&decision, PolicyName::Newsletter), 0);
        }
        let elsewhere = desk.sign_up(&**limiter, 2, "ada").await;
        assert!(matches!(elsewhere, SubscribeError::Provider(..)));
    }
}

#[tokio::test]
async fn a_store_that_fails_costs_nobody_anything() {
    let (_dir, limiters) = limiters(QUOTA).await;
    for limiter in &limiters {
        let desk = Desk::new();
        let contacts = MemoryContactStore::default();
        contacts.fail_with(Some(full()));
        let keys = MemoryKeyIssuer::default();
        keys.fail_with(Some(full()));
        for _ in 0..3 * LIMIT {
            // The disk may take its time.
            desk.clock.advance_ms(1000);
            let (meter, client) = (desk.meter(&**limiter), client(1));
            let signed_up = subscribe(
                desk.newsletter(&contacts, None),
                meter,
                START,
                &client,
                address("ada"),
            )
            .await;
            let Err(SubscribeError::Store(decision, _)) = signed_up else {
                panic!("{signed_up:?}");
            };
            for policy in [
                PolicyName::Newsletter,
                PolicyName::NewsletterIp,
                PolicyName::NewsletterAll,
            ] {
                assert_eq!(counted(&decision, policy), 0, "{policy:?}");
            }
            let issued = issue_key(&keys, &desk.entropy, meter, START, &client, 1000, None).await;
            let Err(IssueError::Store(decision, _)) = issued else {
                panic!("{issued:?}");
            };
            for policy in [PolicyName::Keys, PolicyName::KeysAll] {
                assert_eq!(counted(&decision, policy), 0, "{policy:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_refund_that_fails_hides_neither_the_error_nor_the_answer_of_the_fallback() {
    let limiter = FaultyRateLimiter::new(|call| match call {
        "refund" => Err(LimiterError("the engine is away".to_owned())),
        _ => Ok(()),
    });
    let desk = Desk::new();
    let refused = desk.sign_up(&limiter, 1, "ada").await;
    let SubscribeError::Provider(decision, _) = refused else {
        panic!("{refused}");
    };
    assert_eq!(counted(&decision, PolicyName::Newsletter), 1);

    let (contacts, keys) = (MemoryContactStore::default(), MemoryKeyIssuer::default());
    contacts.fail_with(Some(full()));
    keys.fail_with(Some(full()));
    let (meter, client) = (desk.meter(&limiter), client(2));
    let newsletter = desk.newsletter(&contacts, None);
    let signed_up = subscribe(newsletter, meter, START, &client, address("ada")).await;
    assert!(matches!(signed_up, Err(SubscribeError::Store(_, error)) if error == full()));
    let issued = issue_key(&keys, &desk.entropy, meter, START, &client, 1000, None).await;
    assert!(matches!(issued, Err(IssueError::Store(_, error)) if error == full()));

    let failed = desk.chat(&limiter, 3, 3, not_started()).await;
    let ChatError::Model {
        decision, error, ..
    } = failed
    else {
        panic!("{failed}");
    };
    assert_eq!(error, not_started());
    assert_eq!(counted(&decision, PolicyName::Assistant), 1);
    let pages = ScriptedModelClient::default();
    let failing = ScriptedModelClient::new([Err(not_started())]);
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
    let visitor = QuotaToken::new([4; 16]);
    for (subject, is_shared) in [
        (Subject::Everyone, false),
        (Subject::Network(network), true),
        (Subject::Prefix(network), true),
        (Subject::SignUp(network, &address("ada")), true),
        (Subject::Visitor(&visitor), true),
    ] {
        let meter = desk.meter(&limiter);
        let charges = meter.charges(network, &[(PolicyName::Ip, subject)]);
        let groups: Vec<_> = charges.iter().map(|it| it.group.is_some()).collect();
        assert_eq!(groups, [is_shared], "{subject:?}");
    }
}

/// The operating system has no random bytes.
struct NoEntropy;

impl Entropy for NoEntropy {
    fn fill(&self, _bytes: &mut [u8]) -> Result<(), EntropyError> {
        Err(EntropyError("none".to_owned()))
    }
}

#[tokio::test]
async fn without_random_bytes_nothing_is_charged() {
    let desk = Desk::new();
    let limiter = limiter_in_memory();
    let keys = MemoryKeyIssuer::default();
    let client = client(1);
    let issued = issue_key(
        &keys,
        &NoEntropy,
        desk.meter(&limiter),
        START,
        &client,
        1,
        None,
    );
    let Err(IssueError::Entropy(decision, _)) = issued.await else {
        panic!("a key without random bytes");
    };
    for policy in [
        PolicyName::Keys,
        PolicyName::KeysPrefix,
        PolicyName::KeysAll,
    ] {
        assert_eq!(counted(&decision, policy), 0, "{policy:?}");
    }
    let registered = register_agent(&NoEntropy, desk.meter(&limiter), START, &client);
    let Err(IssueError::Entropy(decision, _)) = registered.await else {
        panic!("an agent without random bytes");
    };
    assert_eq!(counted(&decision, PolicyName::Agents), 0);
}
