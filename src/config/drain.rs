//! How long a stop may take.

use std::time::Duration;

use super::Config;

/// What a request may wait for beside its model, each as long as who waits says.
#[derive(Clone, Copy, Debug)]
pub struct Waits {
    /// The rest of its head, once the service has been told to stop.
    pub head: Duration,
    /// Its body.
    pub body: Duration,
    /// A provider that is told of its sign-up.
    pub provider: Duration,
    /// A visitor who takes what the model has said.
    pub hand_out: Duration,
}

impl Config {
    /// How long requests in flight may take to finish when the service stops: as long as the longest
    /// may, and not so long that systemd, which waits 90 s, kills the service before it has flushed.
    #[must_use]
    pub fn drain_deadline(&self, waits: Waits) -> Duration {
        const LONGEST: Duration = Duration::from_secs(80);
        let of_model = self
            .model
            .as_ref()
            .map_or(Duration::ZERO, |model| model.timeout + waits.hand_out);
        let of_provider = self
            .outside
            .webhook
            .as_ref()
            .map_or(Duration::ZERO, |_webhook| waits.provider);
        // One request asks one of them, once it is there as a whole.
        (waits.head + waits.body + of_model.max(of_provider)).min(LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_waits_for_the_longest_request_but_not_until_the_service_is_killed() {
        let model = ["--model-url", "http://127.0.0.1:9/v1", "--model", "m"];
        let webhook = ["--newsletter-webhook", "http://127.0.0.1:9/"];
        let waits = Waits {
            head: Duration::from_secs(1),
            body: Duration::from_secs(10),
            provider: Duration::from_secs(5),
            hand_out: Duration::from_secs(4),
        };
        let drain_s = |flags: &[&[&str]]| {
            let words = ["landing-api", "--data-dir", "var"];
            let words = words.into_iter().chain(flags.concat());
            let config = Config::parse(words).unwrap();
            config.drain_deadline(waits).as_secs()
        };
        let with_timeout = |timeout| drain_s(&[&model, &["--model-timeout", timeout]]);
        assert_eq!(drain_s(&[]), 11);
        assert_eq!(drain_s(&[&webhook]), 16);
        assert_eq!(drain_s(&[&model]), 45);
        assert_eq!(drain_s(&[&model, &webhook]), 45);
        assert_eq!(with_timeout("1s"), 16);
        assert_eq!(with_timeout("64s"), 79);
        assert_eq!(with_timeout("70s"), 80);
        assert_eq!(with_timeout("5m"), 80);
    }
}
