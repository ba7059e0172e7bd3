//! How much a connection may read: in a turn, so that others have theirs, and without asking for anything.
//!
//! hyper reads what there is and does not tell of frames that are no requests. So bytes are counted, at the
//! socket.

use std::sync::atomic::{AtomicUsize, Ordering};

/// How many bytes a connection reads before others have their turn.
const TURN_BYTES: usize = 16 * 1024;

/// For how many of them a request counts: a turn has 16 requests.
const REQUEST_BYTES: usize = TURN_BYTES / 16;

/// How many bytes a client may send without beginning a request and without any being read of a body. On
/// HTTP/2, half of them may be bodies that are on their way to who reads them.
const UNASKED_BYTES_MAX: usize = 128 * 1024;

/// Whether a connection may read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum MayRead {
    Now,
    NextTurn,
    /// It has read too much that asks for nothing.
    Never,
}

/// What a connection has read.
#[derive(Debug, Default)]
pub(crate) struct Intake {
    /// In this turn.
    turn_bytes: AtomicUsize,
    /// Since the last request began or some of a body was read.
    unasked_bytes: AtomicUsize,
}

impl Intake {
    /// Called before the connection is polled.
    pub(crate) fn begin_turn(&self) {
        self.turn_bytes.store(0, Ordering::Relaxed);
    }

    pub(crate) fn may_read(&self) -> MayRead {
        if self.unasked_bytes() > UNASKED_BYTES_MAX {
            MayRead::Never
        } else if self.turn_bytes.load(Ordering::Relaxed) >= TURN_BYTES {
            MayRead::NextTurn
        } else {
            MayRead::Now
        }
    }

    pub(crate) fn unasked_bytes(&self) -> usize {
        self.unasked_bytes.load(Ordering::Relaxed)
    }

    /// Called after each read from the socket.
    pub(crate) fn read(&self, bytes: usize) {
        self.turn_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.unasked_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn begin_request(&self) {
        self.turn_bytes.fetch_add(REQUEST_BYTES, Ordering::Relaxed);
        self.unasked_bytes.store(0, Ordering::Relaxed);
    }

    pub(crate) fn read_body(&self) {
        self.unasked_bytes.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_has_16_kib_or_16_requests() {
        let intake = Intake::default();
        for _ in 0..3 {
            intake.begin_turn();
            for _ in 0..16 {
                assert_eq!(intake.may_read(), MayRead::Now);
                intake.begin_request();
            }
            assert_eq!(intake.may_read(), MayRead::NextTurn);
            intake.begin_turn();
            intake.read(TURN_BYTES - 1);
            assert_eq!(intake.may_read(), MayRead::Now);
            intake.read(1);
            assert_eq!(intake.may_read(), MayRead::NextTurn);
        }
    }

    #[test]
    fn what_asks_for_nothing_adds_up_until_something_is_asked() {
        let intake = Intake::default();
        for asks in [Intake::begin_request, Intake::read_body] {
            for bytes in [UNASKED_BYTES_MAX - 1, 1] {
                intake.read(bytes);
                intake.begin_turn();
                assert_eq!(intake.may_read(), MayRead::Now);
            }
            asks(&intake);
        }
        intake.read(UNASKED_BYTES_MAX + 1);
        assert_eq!(intake.may_read(), MayRead::Never);
    }
}
