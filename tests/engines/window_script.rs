//! The script beside the rule that specifies it: random requests, with a clock that is set back, limits that
//! change, and both kinds of windows.

use std::collections::HashMap;

use landing_api::domain::client::LimitKey;
use landing_api::domain::window::{LATE_ARRIVAL_MS_MAX, Usage, Window};
use landing_api::ports::{Charge, Receipt};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};
use tokio::runtime::Runtime;

use crate::prelude::*;

const CASES: u32 = 60;
const STEPS: usize = 300;

/// All longer than the test takes: the server forgets by its own clock.
const QUOTAS: [&str; 7] = [
    "1/60s", "3/60s", "20/90s", "256/60s", "257/60s", "300/1h", "1000/90s",
];
const POLICIES: [PolicyName; 3] = [PolicyName::Ip, PolicyName::Keys, PolicyName::Agents];

#[derive(Clone, Debug)]
enum Step {
    /// Charges with these quotas, so many times.
    Charge(u32, Vec<&'static str>, u32),
    Look(u32, Vec<&'static str>),
    /// Takes back a charge that was made before.
    Refund(prop::sample::Index),
    /// Moves the clock.
    Move(i64),
}

fn step() -> impl Strategy<Value = Step> {
    let quotas = || vec(select(&QUOTAS[..]), 1..=POLICIES.len());
    let moved = prop_oneof![
        6 => 0_i64..3,
        6 => 0_i64..2000,
        2 => 20_000_i64..70_000,
        2 => -LATE_ARRIVAL_MS_MAX.cast_signed()..0,
        1 => -40_000_i64..-90,
        1 => Just(60_000),
    ];
    prop_oneof![
        6 => (0_u32..3, quotas(), 1_u32..25).prop_map(|(host, quotas, times)| {
            Step::Charge(host, quotas, times)
        }),
        2 => (0_u32..3, quotas()).prop_map(|(host, quotas)| Step::Look(host, quotas)),
        3 => any::<prop::sample::Index>().prop_map(Step::Refund),
        5 => moved.prop_map(Step::Move),
    ]
}

/// The windows by the rule. What is refused or looked at leaves nothing, unless the clock was set back.
#[derive(Default)]
struct Model(HashMap<LimitKey, Window>);

impl Model {
    fn at(&mut self, charge: &Charge<'_>, now: Timestamp) -> (Window, Usage) {
        let stored = self.0.entry(charge.key).or_default();
        let mut window = stored.clone();
        let usage = window.peek(charge.quota, now);
        if stored.newest().unwrap_or_default().ms_since(now) > LATE_ARRIVAL_MS_MAX {
            *stored = window.clone();
        }
        (window, usage)
    }

    /// The usage of each window, and the instants that were charged, if there is room.
    fn charge(&mut self, charges: &[Charge<'_>], now: Timestamp) -> (Vec<Usage>, Vec<u64>) {
        let seen: Vec<_> = charges.iter().map(|it| self.at(it, now)).collect();
        let is_full =
            |(it, (_, usage)): (&Charge<'_>, &(Window, Usage))| usage.counted >= it.quota.count();
        if charges.iter().zip(&seen).any(is_full) {
            return (seen.into_iter().map(|(_, usage)| usage).collect(), vec![]);
        }
        let admitted = charges.iter().zip(seen).map(|(charge, (mut window, _))| {
            let admitted = window.admit(charge.quota, now).unwrap();
            self.0.insert(charge.key, window);
            (admitted.usage, admitted.at.as_ms())
        });
        admitted.unzip()
    }

    fn refund(&mut self, charge: &Charge<'_>, admitted: Timestamp, now: Timestamp) -> Usage {
        let (mut window, before) = self.at(charge, now);
        let usage = window.refund(admitted, charge.quota, now);
        if usage.counted < before.counted {
            self.0.insert(charge.key, window);
        }
        usage
    }
}

fn charges(host: u32, quotas: &[&str]) -> Vec<Charge<'static>> {
    let policies = POLICIES.into_iter().zip(quotas);
    policies
        .map(|(policy, quota)| charge(policy, quota, host))
        .collect()
}

/// Plays the steps on both, and compares each answer.
async fn play(limiter: &dyn RateLimiter, steps: Vec<Step>) {
    limiter.reset(WindowSet::All).await.unwrap();
    let mut model = Model::default();
    let mut receipts: Vec<(Vec<Charge<'_>>, Receipt)> = Vec::new();
    let mut now = START;
    for step in steps {
        match step {
            Step::Move(ms) => now = Timestamp::from_ms(now.as_ms().saturating_add_signed(ms)),
            Step::Charge(host, quotas, times) => {
                let charges = charges(host, &quotas);
                for _ in 0..times {
                    let (usages, charged) = model.charge(&charges, now);
                    let admission = acquire(limiter, &charges, now).await;
                    assert_eq!(admission.decision.is_refused(), charged.is_empty());
                    let shown = admission.decision.standings().iter();
                    assert_eq!(shown.map(|it| it.usage).collect::<Vec<_>>(), usages);
                    let tokens = admission.receipt.entries.iter().map(|it| it.token);
                    assert_eq!(tokens.collect::<Vec<_>>(), charged);
                    receipts.push((charges.clone(), admission.receipt));
                }
            }
            Step::Look(host, quotas) => {
                let charges = charges(host, &quotas);
                let usages: Vec<_> = charges.iter().map(|it| model.at(it, now).1).collect();
                let looked = limiter.peek(&charges, now).await.unwrap();
                let shown = looked.standings().iter().map(|it| it.usage);
                assert_eq!(shown.collect::<Vec<_>>(), usages);
            }
            Step::Refund(index) if !receipts.is_empty() => {
                let (charges, receipt) = receipts.swap_remove(index.index(receipts.len()));
                let entries = receipt.entries.iter().zip(&charges);
                let usages: Vec<_> = entries
                    .map(|(entry, charge)| {
                        model.refund(charge, Timestamp::from_ms(entry.token), now)
                    })
                    .collect();
                let refunded = refund(limiter, receipt, now).await;
                let shown = refunded.standings().iter().map(|it| it.usage);
                assert_eq!(shown.collect::<Vec<_>>(), usages);
            }
            Step::Refund(_) => {}
        }
    }
    for policy in POLICIES {
        let quota = "300/1h".parse().unwrap();
        let found = limiter.busiest(policy, quota, 100, now).await.unwrap();
        let mut windows: Vec<_> = (0..3)
            .map(|host| charge(policy, "300/1h", host))
            .map(|it| (it.key, model.at(&it, now).1))
            .filter(|(_, usage)| usage.counted > 0)
            .collect();
        windows.sort_by_key(|(key, usage)| std::cmp::Reverse((usage.counted, *key)));
        let found: Vec<_> = found.iter().map(|it| (it.key, it.usage)).collect();
        assert_eq!(found, windows);
    }
}

fn agrees(redis: &Redis, runtime: &Runtime) {
    let opening = RedisRateLimiter::open(redis.settings());
    let limiter = runtime.block_on(opening).unwrap().with_given_time();
    let config = Config {
        cases: CASES,
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new(config)
        .run(&vec(step(), STEPS), |steps| {
            runtime.block_on(play(&limiter, steps));
            Ok(())
        })
        .unwrap();
}

#[test]
fn the_script_agrees_with_the_rule_on_redis() {
    let runtime = Runtime::new().unwrap();
    let redis = runtime.block_on(Redis::start());
    agrees(&redis, &runtime);
}

#[test]
fn the_script_agrees_with_the_rule_on_valkey() {
    let runtime = Runtime::new().unwrap();
    if let Some(valkey) = runtime.block_on(Redis::start_valkey()) {
        agrees(&valkey, &runtime);
    }
}
