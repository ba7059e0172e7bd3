//! What every [`Entropy`] must do.

use landing_api::adapters::system::SystemEntropy;
use landing_api::ports::Entropy;

use crate::twins::SeededEntropy;

/// A random byte is 0 in all of these draws with a probability of 2^-128.
const DRAWS: usize = 16;

fn check(entropy: &dyn Entropy) {
    entropy.fill(&mut []);
    let draw = || {
        let mut bytes = [0; 32];
        entropy.fill(&mut bytes);
        bytes
    };
    assert_ne!(draw(), draw());
    // Every byte is overwritten, whatever the length.
    for length in (1..70).chain([255, 256, 257, 1000]) {
        let mut is_written = vec![false; length];
        for _ in 0..DRAWS {
            let mut bytes = vec![0; length];
            entropy.fill(&mut bytes);
            for (is_written, byte) in is_written.iter_mut().zip(bytes) {
                *is_written |= byte != 0;
            }
        }
        assert!(!is_written.contains(&false), "{length}: {is_written:?}");
    }
}

#[test]
fn the_systems_entropy_fills_whole_buffers() {
    check(&SystemEntropy);
}

#[test]
fn the_seeded_entropy_fills_whole_buffers_and_is_the_same_in_every_run() {
    check(&SeededEntropy::default());
    let draw = || {
        let entropy = SeededEntropy::default();
        let mut bytes = [[0; 24]; 2];
        for bytes in &mut bytes {
            entropy.fill(bytes);
        }
        bytes
    };
    assert_eq!(draw(), draw());
}
