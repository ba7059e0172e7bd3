//! Counters since the start of the process: plain atomics, made once by `main`. The pipeline records
//! requests; everything else is recorded where it happens. `/metrics`, `status` and the hourly counts read
//! them.
//!
//! [`process`] has the kernel's numbers of the process, `values` the counter types, [`workers`] the
//! health of the background tasks.

pub mod process;
mod values;
pub mod workers;

use parking_lot::Mutex;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use crate::domain::{
    Channel, ChannelPause, Counted, Counts, Decision, PolicyName, Timestamp, macros::names,
};

use self::process::{DiskSpace, disk_space};
pub use self::values::{Counter, Histogram, Latest};
use self::workers::WorkerMetrics;

/// Longest wait while another caller reads the disk's size.
const DISK_PATIENCE: Duration = Duration::from_secs(1);

/// Name of the engine of the limits.
pub const LIMITS_ENGINE: &str = "limits";

/// Counters of one kind of event by outcome, whose name in `/metrics` is that of the field.
macro_rules! outcomes {
    (
        $(#[$of_set:meta])*
        $set:ident { $($(#[$of_outcome:meta])* $outcome:ident,)+ }
        $(and { $($(#[$of_other:meta])* $other:ident: $type:ty,)+ })?
    ) => {
        $(#[$of_set])*
        #[derive(Debug, Default)]
        pub struct $set {
            $($(#[$of_outcome])* pub $outcome: Counter,)+
            $($($(#[$of_other])* pub $other: $type,)+)?
        }

        impl $set {
            /// Each number with the name of its outcome.
            pub fn by_outcome(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($outcome), self.$outcome.get())),+].into_iter()
            }
        }
    };
}

names! {
    /// Outcomes of requests.
    pub enum StatusClass {
        Success => "2xx",
        Redirection => "3xx",
        ClientError => "4xx",
        ServerError => "5xx",
        /// The client hung up before the response.
        HungUp => "none",
    }
}

impl StatusClass {
    /// The class of a response's status.
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
    /// Time from the request's head to the response's head.
    pub durations: Histogram,
    classes: [Counter; StatusClass::ALL.len()],
}

impl EndpointMetrics {
    /// Number of requests with this outcome.
    pub fn requests(&self, class: StatusClass) -> u64 {
        self.classes.get(class as usize).map_or(0, Counter::get)
    }
}

outcomes! {
    /// The charges to one policy.
    PolicyMetrics { admitted, refused, refunded, }
}

outcomes! {
    /// Chat turns.
    ModelMetrics {
        answered,
        /// The assistant said that it knows no answer.
        unanswered,
        /// Too many concurrent turns, or the breaker is open.
        not_started,
        /// The upstream failed or returned nothing usable.
        unusable,
        /// The model failed after it had started.
        failed,
        /// The visitor disconnected, or the deadline passed.
        abandoned,
    } and {
        last_error: Latest<LastError>,
    }
}

outcomes! {
    /// Sign-ups passed on to a provider.
    WebhookMetrics {
        /// Confirmed by the provider.
        delivered,
        failed,
    }
}

outcomes! {
    /// Unconfirmed contacts by what became of them.
    ConfirmationMetrics {
        /// The confirmation page was shown.
        shown,
        given,
        refused,
        /// Neither confirmed nor refused in time.
        expired,
    }
}

outcomes! {
    /// Attempts to deliver on one channel.
    DeliveryCounters {
        made,
        /// Not delivered, temporarily or permanently.
        failed,
        /// Failed for good, after the last attempt or at once.
        given_up,
    } and {
        /// The latest pause, which may be over.
        pause: Latest<ChannelPause>,
    }
}

outcomes! {
    /// TLS handshakes of the service's built-in TLS.
    TlsMetrics {
        completed,
        /// By the fault of the client or the service.
        failed,
        timed_out,
    } and {
        /// Validity of the certificate in use.
        validity: Latest<Range<Timestamp>>,
        /// The last order; none without ACME.
        order: Latest<CertificateOrder>,
    }
}

impl DeliveryCounters {
    /// The channel's pause, if it is paused at `now`.
    pub fn pause_at(&self, now: Timestamp) -> Option<ChannelPause> {
        self.pause.get().filter(|pause| pause.until > now)
    }
}

/// Deliveries by channel.
#[derive(Debug, Default)]
pub struct DeliveryMetrics {
    webhook: DeliveryCounters,
    mail: DeliveryCounters,
}

impl DeliveryMetrics {
    /// The counters of a channel.
    pub fn of(&self, channel: Channel) -> &DeliveryCounters {
        match channel {
            Channel::Webhook => &self.webhook,
            Channel::Mail => &self.mail,
        }
    }
}

/// The ledger's batches.
#[derive(Debug, Default)]
pub struct LedgerMetrics {
    /// Changes in all batches.
    pub changes: Counter,
    /// Time until each batch was durable.
    pub durations: Histogram,
    /// Batches that failed.
    pub failed: Counter,
    /// Length of the ledger, in bytes.
    pub bytes: Latest<u64>,
}

/// The last order of the service's certificate, and the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateOrder {
    /// Start of the last one; `None` if there was none.
    pub at: Option<Timestamp>,
    /// Consecutive failures.
    pub failures: u32,
    /// Reason why the last one failed.
    pub error: Option<String>,
    /// Time of the next one.
    pub next_at: Timestamp,
}

/// The health of an engine that several processes share.
#[derive(Debug, Default)]
pub struct EngineHealth {
    is_used: AtomicBool,
    is_away: AtomicBool,
    /// Number of times it became unavailable.
    pub losses: Counter,
}

impl EngineHealth {
    /// True while it does not respond.
    pub fn is_away(&self) -> bool {
        self.is_away.load(Relaxed)
    }

    /// Records whether it is unavailable, and returns whether that is a change. Initially it is available.
    pub fn set_away(&self, is_away: bool) -> bool {
        self.is_used.store(true, Relaxed);
        let is_new = self.is_away.swap(is_away, Relaxed) != is_away;
        if is_new && is_away {
            self.losses.increase();
        }
        is_new
    }
}

/// The latest failure: the newest log line of level WARN or ERROR, or the model's newest error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastError {
    /// When it happened.
    pub at: Timestamp,
    /// A message and its fields, without personal data.
    pub text: String,
}

/// All counters.
#[derive(Debug, Default)]
pub struct Metrics {
    endpoints: Box<[EndpointMetrics]>,
    policies: [PolicyMetrics; PolicyName::ALL.len()],
    /// Sign-ups that created a contact.
    pub sign_ups: Counter,
    /// Sign-ups of existing contacts.
    pub renewals: Counter,
    /// Contacts that unsubscribed.
    pub leavings: Counter,
    /// Keys issued.
    pub keys: Counter,
    /// Agents registered.
    pub agents: Counter,
    /// Plain forms with a value in the field that people do not see.
    pub trapped_forms: Counter,
    /// Chat turns.
    pub model: ModelMetrics,
    /// Sign-ups passed on.
    pub webhook: WebhookMetrics,
    /// Confirmations of sign-ups.
    pub confirmations: ConfirmationMetrics,
    /// Deliveries from the queue.
    pub deliveries: DeliveryMetrics,
    /// The background tasks.
    pub workers: WorkerMetrics,
    /// Handshakes and the certificate of the built-in TLS.
    pub tls: TlsMetrics,
    /// The ledger's batches.
    pub ledger: LedgerMetrics,
    /// The engine of the stores.
    pub store_engine: EngineHealth,
    /// The engine of the limits.
    pub limits_engine: EngineHealth,
    /// Decisions made without the engine of the limits.
    pub local_decisions: Counter,
    /// The part of the totals that the hourly counts include already.
    counted_by_hour: Mutex<Counts>,
    /// The newest line of level WARN or ERROR.
    pub last_error: Latest<LastError>,
    is_stopping: AtomicBool,
    data_dir: Option<PathBuf>,
    /// Held while a caller reads the disk's size.
    disk_look: Mutex<()>,
}

impl Metrics {
    /// Zeros, for requests to endpoints with these names.
    pub fn new(endpoints: impl IntoIterator<Item = &'static str>) -> Self {
        let endpoint = |name| EndpointMetrics {
            name,
            durations: Histogram::default(),
            classes: Default::default(),
        };
        Self {
            endpoints: endpoints.into_iter().map(endpoint).collect(),
            ..Self::default()
        }
    }

    /// The same, with the directory whose disk is observed.
    #[must_use]
    pub fn of_data_dir(mut self, path: Option<&Path>) -> Self {
        self.data_dir = path.map(Path::to_owned);
        self
    }

    /// Space of the data directory's disk, if known. Blocks the thread for as long as the disk takes; on a disk
    /// that hangs, one caller waits for it, and all others for a second.
    pub fn disk_space(&self) -> Option<DiskSpace> {
        let _looking = self.disk_look.try_lock_for(DISK_PATIENCE)?;
        self.data_dir.as_deref().and_then(disk_space)
    }

    /// True once the service has been asked to stop.
    pub fn is_stopping(&self) -> bool {
        self.is_stopping.load(Relaxed)
    }

    pub fn set_stopping(&self) {
        self.is_stopping.store(true, Relaxed);
    }

    /// The engines in use, by name.
    pub fn engines(&self) -> impl Iterator<Item = (&'static str, &EngineHealth)> {
        let engines = [
            ("store", &self.store_engine),
            (LIMITS_ENGINE, &self.limits_engine),
        ];
        let is_used = |row: &(&str, &EngineHealth)| row.1.is_used.load(Relaxed);
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

    /// Records a request to `endpoint` and the status of its response; `None` if the client hung up before
    /// it.
    pub fn record_request(&self, endpoint: &str, status: Option<u16>, duration: Duration) {
        let Some(endpoint) = self.endpoints.iter().find(|row| row.name == endpoint) else {
            return;
        };
        let class = status.map_or(StatusClass::HungUp, StatusClass::of);
        if let Some(requests) = endpoint.classes.get(class as usize) {
            requests.increase();
        }
        endpoint.durations.record(duration);
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

    /// Records refunded charges to `policies`.
    pub fn record_refund(&self, policies: impl Iterator<Item = PolicyName>) {
        for policy in policies {
            if let Some(policy) = self.policies.get(usize::from(policy.tag())) {
                policy.refunded.increase();
            }
        }
    }

    /// Records a batch of this many changes that the ledger has made durable.
    pub fn record_commit(&self, changes: usize, duration: Duration) {
        self.ledger.changes.add(changes as u64);
        self.ledger.durations.record(duration);
    }

    /// The difference between the totals and the hourly counts.
    pub fn not_yet_counted(&self) -> Counts {
        self.totals().since(&self.counted_by_hour.lock())
    }

    /// Records that the hourly counts now include `counts`, too.
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
        let turns: u64 = self.model.by_outcome().map(|(_, turns)| turns).sum();
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
