//! What the process has counted since its start: plain atomics, made once by `main`. The pipeline records
//! requests; what else happens is recorded where it is known. `/metrics`, `status` and the hourly counts
//! read it.
//!
//! [`process`] has what the kernel counts of the process, `histogram` what numbers are counted in,
//! [`workers`] how the tasks do that run for as long as the service.

mod histogram;
pub mod process;
pub mod workers;

use parking_lot::Mutex;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::domain::{
    Channel, ChannelPause, Counted, Counts, Decision, PolicyName, Timestamp, macros::names,
};

pub use self::histogram::{Counter, Histogram};
use self::process::{DiskSpace, disk_space};
use self::workers::WorkerMetrics;

/// Upper bounds of durations, in microseconds.
const DURATION_BOUNDS_US: &[u64] = &[
    50, 100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 100_000, 500_000, 2_500_000, 10_000_000,
    60_000_000,
];

/// How long to wait for another's look at the disk.
const DISK_PATIENCE: Duration = Duration::from_secs(1);

/// The name of the engine of the limits.
pub const LIMITS_ENGINE: &str = "limits";

/// Upper bounds of batch sizes. No batch has more changes than the last.
const BATCH_BOUNDS: &[u64] = &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

names! {
    /// How requests ended.
    pub enum StatusClass {
        Success => "2xx",
        Redirection => "3xx",
        ClientError => "4xx",
        ServerError => "5xx",
        /// The client hung up before the answer.
        HungUp => "none",
    }
}

impl StatusClass {
    /// The class of an answer's status.
    const fn of(status: u16) -> Self {
        match status {
            0..300 => Self::Success,
            300..400 => Self::Redirection,
            400..500 => Self::ClientError,
            500.. => Self::ServerError,
        }
    }
}

/// The requests to one endpoint.
#[derive(Debug)]
pub struct EndpointMetrics {
    /// The endpoint's name in the log.
    pub name: &'static str,
    /// From the arrival of the head to the head of the answer, in microseconds.
    pub durations: Histogram,
    classes: [Counter; StatusClass::ALL.len()],
}

impl EndpointMetrics {
    /// The requests that ended so.
    pub fn requests(&self, class: StatusClass) -> u64 {
        self.classes.get(class as usize).map_or(0, Counter::get)
    }
}

/// The charges to one policy.
#[derive(Debug, Default)]
pub struct PolicyMetrics {
    /// Charges.
    pub admitted: Counter,
    /// Charges that were refused.
    pub refused: Counter,
    /// Charges that were taken back.
    pub refunded: Counter,
}

/// Chat turns, by how they ended.
#[derive(Debug, Default)]
pub struct ModelMetrics {
    /// Answered.
    pub answered: Counter,
    /// The assistant said that it knows no answer.
    pub unanswered: Counter,
    /// Not begun: too many turns at once, or the breaker is open.
    pub not_started: Counter,
    /// The upstream failed, or gave nothing usable.
    pub unusable: Counter,
    /// The model failed after it had begun.
    pub failed: Counter,
    /// The visitor left, or the deadline passed.
    pub abandoned: Counter,
    last_error: Mutex<Option<LastError>>,
}

impl ModelMetrics {
    /// Why the model failed last.
    pub fn last_error(&self) -> Option<LastError> {
        self.last_error.lock().clone()
    }

    /// Replaces it.
    pub fn set_last_error(&self, error: LastError) {
        *self.last_error.lock() = Some(error);
    }

    /// Each number with the name of its outcome.
    pub fn by_outcome(&self) -> impl Iterator<Item = (&'static str, &Counter)> {
        [
            ("answered", &self.answered),
            ("unanswered", &self.unanswered),
            ("not_started", &self.not_started),
            ("unusable", &self.unusable),
            ("failed", &self.failed),
            ("abandoned", &self.abandoned),
        ]
        .into_iter()
    }
}

/// Sign-ups that were passed on to a provider.
#[derive(Debug, Default)]
pub struct WebhookMetrics {
    /// The provider took it.
    pub delivered: Counter,
    /// The provider failed.
    pub failed: Counter,
    /// Too many were on their way.
    pub overloaded: Counter,
}

/// What became of contacts that are asked to confirm.
#[derive(Debug, Default)]
pub struct ConfirmationMetrics {
    /// The page with the button was shown.
    pub shown: Counter,
    /// They confirmed.
    pub given: Counter,
    /// They refused.
    pub refused: Counter,
    /// They did neither in time.
    pub expired: Counter,
}

/// What was delivered, by channel.
#[derive(Debug, Default)]
pub struct DeliveryMetrics([DeliveryCounters; Channel::ALL.len()]);

/// Attempts by how they ended.
#[derive(Debug, Default)]
pub struct DeliveryCounters {
    /// It was delivered.
    pub made: Counter,
    /// It was not, for now or for good.
    pub failed: Counter,
    /// It was given up, after the last attempt or at once.
    pub given_up: Counter,
    pause: Mutex<Option<ChannelPause>>,
}

impl DeliveryCounters {
    /// Why none is attempted, if the channel is paused.
    pub fn pause(&self, now: Timestamp) -> Option<ChannelPause> {
        self.pause.lock().clone().filter(|pause| pause.until > now)
    }

    /// Ends the pause.
    pub fn end_pause(&self) {
        *self.pause.lock() = None;
    }

    /// Pauses the channel.
    pub fn set_pause(&self, pause: ChannelPause) {
        *self.pause.lock() = Some(pause);
    }
}

impl DeliveryMetrics {
    /// Those of a channel.
    pub fn of(&self, channel: Channel) -> &DeliveryCounters {
        let [webhook, mail] = &self.0;
        match channel {
            Channel::Webhook => webhook,
            Channel::Mail => mail,
        }
    }
}

/// The ledger's batches.
#[derive(Debug)]
pub struct LedgerMetrics {
    /// The changes of each batch.
    pub batches: Histogram,
    /// How long each batch took until it was durable, in microseconds.
    pub durations: Histogram,
    /// Batches that failed.
    pub failed: Counter,
    bytes: AtomicU64,
}

impl Default for LedgerMetrics {
    fn default() -> Self {
        Self {
            batches: Histogram::new(BATCH_BOUNDS),
            durations: Histogram::new(DURATION_BOUNDS_US),
            failed: Counter::default(),
            bytes: AtomicU64::default(),
        }
    }
}

impl LedgerMetrics {
    /// The length of the ledger in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// Sets it.
    pub fn set_bytes(&self, bytes: u64) {
        self.bytes.store(bytes, Relaxed);
    }
}

/// TLS, where the service speaks it itself.
#[derive(Debug, Default)]
pub struct TlsMetrics {
    /// Handshakes that were completed.
    pub completed: Counter,
    /// Handshakes that the client or the service ended.
    pub failed: Counter,
    /// Handshakes that took too long.
    pub timed_out: Counter,
    validity: Mutex<Option<Range<Timestamp>>>,
    order: Mutex<Option<CertificateOrder>>,
}

/// The last order of the service's own certificate, and the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateOrder {
    /// When the last one began; `None` if there was none.
    pub at: Option<Timestamp>,
    /// How many have failed in a row.
    pub failures: u32,
    /// Why the last one failed, in words.
    pub error: Option<String>,
    /// When the next one is due.
    pub next_at: Timestamp,
}

impl TlsMetrics {
    /// The last order; `None` if the service orders no certificate.
    pub fn order(&self) -> Option<CertificateOrder> {
        self.order.lock().clone()
    }

    /// Sets it.
    pub fn set_order(&self, order: CertificateOrder) {
        *self.order.lock() = Some(order);
    }

    /// Each number with the name of its outcome.
    pub fn by_outcome(&self) -> impl Iterator<Item = (&'static str, &Counter)> {
        [
            ("completed", &self.completed),
            ("failed", &self.failed),
            ("timed_out", &self.timed_out),
        ]
        .into_iter()
    }

    /// From when until when the certificate in use is valid; `None` if there is none.
    pub fn validity(&self) -> Option<Range<Timestamp>> {
        self.validity.lock().clone()
    }

    /// Sets it.
    pub fn set_validity(&self, validity: Range<Timestamp>) {
        *self.validity.lock() = Some(validity);
    }
}

/// How an engine is that several processes share.
#[derive(Debug, Default)]
pub struct EngineHealth {
    is_used: AtomicBool,
    is_away: AtomicBool,
    /// How often it was lost.
    pub losses: Counter,
}

impl EngineHealth {
    /// Whether it does not answer.
    pub fn is_away(&self) -> bool {
        self.is_away.load(Relaxed)
    }

    /// Sets whether it answers, and returns whether that is new. It answers until it is said not to.
    pub fn set_away(&self, is_away: bool) -> bool {
        self.is_used.store(true, Relaxed);
        let is_new = self.is_away.swap(is_away, Relaxed) != is_away;
        if is_new && is_away {
            self.losses.increase();
        }
        is_new
    }
}

/// What failed last: the newest line of the log of level WARN or ERROR, or the model's newest error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastError {
    /// When it happened.
    pub at: Timestamp,
    /// A message, and its fields. They hold no personal data.
    pub text: String,
}

/// Everything that is counted.
#[derive(Debug, Default)]
pub struct Metrics {
    endpoints: Box<[EndpointMetrics]>,
    policies: [PolicyMetrics; PolicyName::ALL.len()],
    /// Sign-ups that created a contact.
    pub sign_ups: Counter,
    /// Sign-ups of contacts that were there.
    pub renewals: Counter,
    /// Contacts that left.
    pub leavings: Counter,
    /// Keys issued.
    pub keys: Counter,
    /// Agents registered.
    pub agents: Counter,
    /// Plain forms that filled in the field that people do not see.
    pub trapped_forms: Counter,
    /// Chat turns.
    pub model: ModelMetrics,
    /// Sign-ups passed on.
    pub webhook: WebhookMetrics,
    /// Confirmations of sign-ups.
    pub confirmations: ConfirmationMetrics,
    /// Deliveries from the queue.
    pub deliveries: DeliveryMetrics,
    /// The tasks that run for as long as the service.
    pub workers: WorkerMetrics,
    /// TLS of the service itself.
    pub tls: TlsMetrics,
    /// The ledger's batches.
    pub ledger: LedgerMetrics,
    /// The engine of the stores.
    pub store_engine: EngineHealth,
    /// The engine of the limits.
    pub limits_engine: EngineHealth,
    /// Decisions that were made without the engine of the limits.
    pub local_decisions: Counter,
    /// What of the totals the hourly counts have.
    counted_by_hour: Mutex<Counts>,
    last_error: Mutex<Option<LastError>>,
    is_stopping: AtomicBool,
    data_dir: Option<PathBuf>,
    /// Held while somebody looks at the disk.
    disk_look: Mutex<()>,
}

impl Metrics {
    /// Zeros, for requests to endpoints of these names.
    pub fn new(endpoints: impl IntoIterator<Item = &'static str>) -> Self {
        let endpoint = |name| EndpointMetrics {
            name,
            durations: Histogram::new(DURATION_BOUNDS_US),
            classes: Default::default(),
        };
        Self {
            endpoints: endpoints.into_iter().map(endpoint).collect(),
            ..Self::default()
        }
    }

    /// The same, which knows where the service keeps everything.
    #[must_use]
    pub fn of_data_dir(mut self, path: Option<&Path>) -> Self {
        self.data_dir = path.map(Path::to_owned);
        self
    }

    /// The space of the data directory's disk, if it is known. Blocks the thread for as long as the disk takes;
    /// on a disk that hangs, that of one caller, and others' for a second.
    pub fn disk_space(&self) -> Option<DiskSpace> {
        let _looking = self.disk_look.try_lock_for(DISK_PATIENCE)?;
        self.data_dir.as_deref().and_then(disk_space)
    }

    /// Whether the service has been asked to stop.
    pub fn is_stopping(&self) -> bool {
        self.is_stopping.load(Relaxed)
    }

    /// Records that it has.
    pub fn set_stopping(&self) {
        self.is_stopping.store(true, Relaxed);
    }

    /// The engines in use, by name.
    pub fn engines(&self) -> impl Iterator<Item = (&'static str, &EngineHealth)> {
        let engines = [
            ("store", &self.store_engine),
            (LIMITS_ENGINE, &self.limits_engine),
        ];
        let is_used = |it: &(&str, &EngineHealth)| it.1.is_used.load(Relaxed);
        engines.into_iter().filter(is_used)
    }

    /// The requests to each endpoint.
    pub fn endpoints(&self) -> &[EndpointMetrics] {
        &self.endpoints
    }

    /// The charges to each policy.
    pub fn policies(&self) -> impl Iterator<Item = (PolicyName, &PolicyMetrics)> {
        PolicyName::ALL.into_iter().zip(&self.policies)
    }

    /// Records a request to `endpoint` and the status of its answer, which it does not have if the client
    /// hung up.
    pub fn record_request(&self, endpoint: &str, status: Option<u16>, duration: Duration) {
        let Some(endpoint) = self.endpoints.iter().find(|it| it.name == endpoint) else {
            return;
        };
        let class = status.map_or(StatusClass::HungUp, StatusClass::of);
        if let Some(requests) = endpoint.classes.get(class as usize) {
            requests.increase();
        }
        endpoint.durations.record_duration(duration);
    }

    /// Records the charges of a request, or the policies that refused it.
    pub fn record_decision(&self, decision: &Decision) {
        let is_refused = decision.is_refused();
        for standing in decision.standings() {
            let policy = self.policies.get(usize::from(standing.policy.tag()));
            match (policy, is_refused) {
                (Some(policy), false) => policy.admitted.increase(),
                (Some(policy), true) if standing.is_violated => policy.refused.increase(),
                (Some(_) | None, _) => {}
            }
        }
    }

    /// Records charges to `policies` that were taken back.
    pub fn record_refund(&self, policies: impl Iterator<Item = PolicyName>) {
        for policy in policies {
            if let Some(policy) = self.policies.get(usize::from(policy.tag())) {
                policy.refunded.increase();
            }
        }
    }

    /// Records a batch of so many changes that the ledger has made durable.
    pub fn record_commit(&self, changes: usize, duration: Duration) {
        self.ledger.batches.record(changes as u64);
        self.ledger.durations.record_duration(duration);
    }

    /// The newest line of level WARN or ERROR.
    pub fn last_error(&self) -> Option<LastError> {
        self.last_error.lock().clone()
    }

    /// Replaces it.
    pub fn set_last_error(&self, error: LastError) {
        *self.last_error.lock() = Some(error);
    }

    /// Forgets it, if it is still the one of `at`.
    pub fn put_away_last_error(&self, at: Timestamp) {
        self.last_error.lock().take_if(|error| error.at == at);
    }

    /// What the hourly counts do not have yet.
    pub fn not_yet_counted(&self) -> Counts {
        self.totals().since(&self.counted_by_hour.lock())
    }

    /// Records that the hourly counts have `counts`, too.
    pub fn set_counted(&self, counts: &Counts) {
        self.counted_by_hour.lock().add_all(counts);
    }

    /// The numbers that are also counted by the hour.
    pub fn totals(&self) -> Counts {
        let mut totals = Counts::default();
        for endpoint in &self.endpoints {
            for class in StatusClass::ALL {
                let requests = endpoint.requests(class);
                match class {
                    StatusClass::Success | StatusClass::Redirection => {}
                    StatusClass::ClientError => totals.add(Counted::ClientErrors, requests),
                    StatusClass::ServerError => totals.add(Counted::ServerErrors, requests),
                    StatusClass::HungUp => continue,
                }
                totals.add(Counted::Requests, requests);
            }
        }
        for policy in &self.policies {
            totals.add(Counted::Refusals, policy.refused.get());
            totals.add(Counted::Refunds, policy.refunded.get());
        }
        let turns: u64 = self.model.by_outcome().map(|(_, it)| it.get()).sum();
        let (answered, unanswered) = (self.model.answered.get(), self.model.unanswered.get());
        totals.add(Counted::Chats, answered);
        totals.add(Counted::UnansweredChats, unanswered);
        let failed = turns.saturating_sub(answered).saturating_sub(unanswered);
        totals.add(Counted::FailedChats, failed);
        let delivered = self.webhook.delivered.get();
        totals.add(Counted::SignUps, self.sign_ups.get() + delivered);
        totals.add(Counted::Renewals, self.renewals.get());
        totals.add(Counted::Keys, self.keys.get());
        totals.add(Counted::Agents, self.agents.get());
        totals
    }
}
