//! Counters since the start of the process: plain atomics, made once by `main`. The pipeline records
//! requests; everything else is recorded where it happens. `/metrics`, `status` and the hourly counts read
//! them.
//!
//! [`process`] has the kernel's numbers of the process, `values` the counter types, [`workers`] the
//! health of the background tasks.

pub mod process;
mod values;
pub mod workers;

use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use fnv::FnvBuildHasher;
use parking_lot::Mutex;
use rustix::fs::{StatVfs, statvfs};
use tokio_util::sync::CancellationToken;

use crate::domain::{
    Channel, ChannelPause, Counted, Counts, Decision, PolicyName, Standing, Timestamp,
};

pub use self::values::{Counter, Histogram, Latest};
use self::workers::WorkerMetrics;

/// Counters of one kind of event by outcome, each with its name in `/metrics`.
macro_rules! outcomes {
    (
        $(#[$of_set:meta])*
        $set:ident { $($(#[$of_outcome:meta])* $outcome:ident => $name:literal,)+ }
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
                [$(($name, self.$outcome.get())),+].into_iter()
            }
        }
    };
}

outcomes! {
    /// The requests to one endpoint, by class of status.
    EndpointMetrics {
        succeeded => "2xx",
        redirected => "3xx",
        client_errors => "4xx",
        server_errors => "5xx",
        /// The client hung up before the response.
        unanswered => "none",
    } and {
        /// Time from the request's head to the response's head.
        durations: Histogram,
    }
}

outcomes! {
    /// The charges to one policy.
    PolicyMetrics {
        admitted => "admitted",
        refused => "refused",
        refunded => "refunded",
    }
}

outcomes! {
    /// Chat turns.
    ModelMetrics {
        answered => "answered",
        /// The assistant said that it knows no answer.
        unanswered => "unanswered",
        /// Too many concurrent turns, or the breaker is open.
        not_started => "not_started",
        /// The upstream failed or returned nothing usable.
        unusable => "unusable",
        /// The model failed after it had started.
        failed => "failed",
        /// The visitor disconnected, or the deadline passed.
        abandoned => "abandoned",
    } and {
        last_error: Latest<LastError>,
    }
}

outcomes! {
    /// Unconfirmed contacts by what became of them.
    ConfirmationMetrics {
        /// The confirmation page was shown.
        shown => "shown",
        given => "given",
        refused => "refused",
        /// Neither confirmed nor refused in time.
        expired => "expired",
    }
}

outcomes! {
    /// Attempts to deliver on one channel, from the queue or while a visitor waits.
    DeliveryCounters {
        made => "made",
        /// Not delivered, temporarily or permanently.
        failed => "failed",
        /// Failed for good, after the last attempt or at once.
        given_up => "given_up",
    } and {
        /// The latest pause, which may be over.
        pause: Latest<ChannelPause>,
    }
}

outcomes! {
    /// TLS handshakes of the service's built-in TLS.
    TlsMetrics {
        completed => "completed",
        /// By the fault of the client or the service.
        failed => "failed",
        timed_out => "timed_out",
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
        self.pause.lock().clone().filter(|pause| pause.until > now)
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
    /// True while it does not respond; none if it is not in use.
    pub is_away: Latest<bool>,
    /// Number of times it became unavailable.
    pub losses: Counter,
}

impl EngineHealth {
    /// Records whether it is unavailable, and returns whether that is a change. Initially it is available.
    pub fn set_away(&self, is_away: bool) -> bool {
        let was_away = self.is_away.lock().replace(is_away).unwrap_or(false);
        if is_away && !was_away {
            self.losses.increase();
        }
        is_away != was_away
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
    /// Requests to each endpoint, by its name in the log.
    pub endpoints: HashMap<&'static str, EndpointMetrics, FnvBuildHasher>,
    policies: [PolicyMetrics; PolicyName::ALL.len()],
    /// Sign-ups that created a contact, or that a provider accepted.
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
    /// Confirmations of sign-ups.
    pub confirmations: ConfirmationMetrics,
    webhook_deliveries: DeliveryCounters,
    mail_deliveries: DeliveryCounters,
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
    /// Cancelled once the service has been asked to stop.
    pub stopping: CancellationToken,
    /// The directory whose disk is observed.
    pub data_dir: Option<PathBuf>,
    /// Held while a caller reads the disk's size.
    disk_look: Mutex<()>,
}

impl Metrics {
    /// Zeros, for requests to endpoints with these names.
    pub fn new(endpoints: impl IntoIterator<Item = &'static str>) -> Self {
        let endpoints = endpoints.into_iter();
        Self {
            endpoints: endpoints
                .map(|name| (name, EndpointMetrics::default()))
                .collect(),
            ..Self::default()
        }
    }

    /// The file system of the data directory, if known. Blocks the thread for as long as the disk takes; on a disk
    /// that hangs, one caller waits for it, and the others for nothing.
    pub fn disk(&self) -> Option<StatVfs> {
        let _looking = self.disk_look.try_lock()?;
        statvfs(self.data_dir.as_deref()?).ok()
    }

    /// The deliveries from the queue of a channel.
    pub fn deliveries(&self, channel: Channel) -> &DeliveryCounters {
        match channel {
            Channel::Webhook => &self.webhook_deliveries,
            Channel::Mail => &self.mail_deliveries,
        }
    }

    /// The charges to each policy.
    pub fn policies(&self) -> impl Iterator<Item = (PolicyName, &PolicyMetrics)> {
        PolicyName::ALL.into_iter().zip(&self.policies)
    }

    /// Records a request to `endpoint` and the status of its response; `None` if the client hung up before
    /// it.
    pub fn record_request(&self, endpoint: &str, status: Option<u16>, duration: Duration) {
        let Some(endpoint) = self.endpoints.get(endpoint) else {
            return;
        };
        let outcome = match status {
            None => &endpoint.unanswered,
            Some(0..300) => &endpoint.succeeded,
            Some(300..400) => &endpoint.redirected,
            Some(400..500) => &endpoint.client_errors,
            Some(500..) => &endpoint.server_errors,
        };
        outcome.increase();
        endpoint.durations.record(duration);
    }

    /// Records the charges of a request, or the policies that refused it.
    pub fn record_decision(&self, decision: &Decision) {
        match decision.is_refused() {
            true => self.count(decision.violated(), |policy| &policy.refused),
            false => self.count(decision.standings(), |policy| &policy.admitted),
        }
    }

    /// Records refunded charges to the policies of `refunded`.
    pub fn record_refund(&self, refunded: &Decision) {
        self.count(refunded.standings(), |policy| &policy.refunded);
    }

    fn count<'a>(
        &self,
        standings: impl IntoIterator<Item = &'a Standing>,
        outcome: fn(&PolicyMetrics) -> &Counter,
    ) {
        for standing in standings {
            if let Some(policy) = self.policies.get(standing.policy as usize) {
                outcome(policy).increase();
            }
        }
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
        let requests = |outcome: fn(&EndpointMetrics) -> &Counter| -> u64 {
            let endpoints = self.endpoints.values();
            endpoints.map(|endpoint| outcome(endpoint).get()).sum()
        };
        let charges = |outcome: fn(&PolicyMetrics) -> &Counter| {
            let policies = self.policies.iter();
            policies.map(|policy| outcome(policy).get()).sum()
        };
        let client_errors = requests(|endpoint| &endpoint.client_errors);
        let server_errors = requests(|endpoint| &endpoint.server_errors);
        let successes = requests(|endpoint| &endpoint.succeeded);
        let redirections = requests(|endpoint| &endpoint.redirected);
        let turns: u64 = self.model.by_outcome().map(|(_, turns)| turns).sum();
        let (answered, unanswered) = (self.model.answered.get(), self.model.unanswered.get());
        Counts::of(|counted| match counted {
            Counted::Requests => successes + redirections + client_errors + server_errors,
            Counted::ClientErrors => client_errors,
            Counted::ServerErrors => server_errors,
            Counted::Refusals => charges(|policy| &policy.refused),
            Counted::Refunds => charges(|policy| &policy.refunded),
            Counted::SignUps => self.sign_ups.get(),
            Counted::Renewals => self.renewals.get(),
            Counted::Keys => self.keys.get(),
            Counted::Agents => self.agents.get(),
            Counted::Chats => answered,
            Counted::UnansweredChats => unanswered,
            Counted::FailedChats => turns.saturating_sub(answered).saturating_sub(unanswered),
            Counted::Imports => 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_has_a_size() {
        let mut metrics = Metrics::new([]);
        assert!(metrics.disk().is_none());
        metrics.data_dir = Some("/".into());
        let disk = metrics.disk().unwrap();
        assert!(disk.f_blocks > 0 && disk.f_bavail <= disk.f_blocks);
        metrics.data_dir = Some("/nonexistent".into());
        assert!(metrics.disk().is_none());
    }
}
