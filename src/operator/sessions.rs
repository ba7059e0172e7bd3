//! Access to the admin page: links, each for one sign-in, and the sessions they open.
//!
//! Both are only in memory, as hashes, so they end with the process.

use std::net::SocketAddr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use blake3::Hash;
use parking_lot::{Mutex, MutexGuard};

use crate::domain::{Timestamp, macros::hidden};
use crate::ports::{Entropy, random};

/// Lifetime of a link.
const LINK_LIFETIME_MS: u64 = 10 * 60 * 1000;
/// Lifetime of a session.
pub(crate) const SESSION_LIFETIME_S: u64 = 12 * 60 * 60;

/// Maximum number of links and sessions. The next one to expire makes room for another: a link before a session.
const TOKENS_MAX: usize = 64;

/// The random bytes of a token.
const TOKEN_BYTES: usize = 32;

const LINK: &str = "landing-api 2026-11 admin link";
const SESSION: &str = "landing-api 2026-11 admin session";
const ROOT: &str = "landing-api 2026-11 admin page root";

/// The links and sessions.
pub struct Sessions {
    entropy: Arc<dyn Entropy>,
    /// Address of the page's listener.
    address: SocketAddr,
    /// The hash of each token under its purpose, and its expiry.
    tokens: Mutex<Vec<(Hash, Timestamp)>>,
}

hidden!(Sessions, Session);

/// An open session, by its token.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Session(pub(crate) String);

impl Sessions {
    /// No links and no sessions, for the page at `address`.
    pub fn new(entropy: Arc<dyn Entropy>, address: SocketAddr) -> Self {
        Self {
            entropy,
            address,
            tokens: Mutex::default(),
        }
    }

    /// The URL of a new link, which is a secret until it is used, and its expiry.
    pub fn new_link(&self, now: Timestamp) -> (String, Timestamp) {
        let expires_at = now.plus_ms(LINK_LIFETIME_MS);
        let token = self.add(LINK, expires_at, now);
        let url = format!("http://{}/login?link={token}", self.address);
        (url, expires_at)
    }

    /// True if a link with this token is valid. It stays valid.
    pub(crate) fn has_link(&self, token: &str, now: Timestamp) -> bool {
        self.contains(LINK, token, now)
    }

    /// Opens a session with a link, which it uses up. `None` if the link is invalid.
    pub(crate) fn open(&self, link: &str, now: Timestamp) -> Option<Session> {
        let is_valid = self.remove(LINK, link, now);
        let expires_at = now.plus_ms(SESSION_LIFETIME_S * 1000);
        is_valid.then(|| Session(self.add(SESSION, expires_at, now)))
    }

    /// The open session with this token.
    pub(crate) fn find(&self, token: &str, now: Timestamp) -> Option<Session> {
        let is_open = self.contains(SESSION, token, now);
        is_open.then(|| Session(token.to_owned()))
    }

    /// Ends a session.
    pub(crate) fn close(&self, session: &Session, now: Timestamp) {
        self.remove(SESSION, &session.0, now);
    }

    fn add(&self, purpose: &str, expires_at: Timestamp, now: Timestamp) -> String {
        let token = URL_SAFE_NO_PAD.encode(random::<TOKEN_BYTES>(&*self.entropy));
        let mut tokens = self.valid_tokens(now);
        if tokens.len() == TOKENS_MAX {
            tokens.sort_by_key(|(_, expires_at)| *expires_at);
            tokens.remove(0);
        }
        tokens.push((hash(purpose, &token), expires_at));
        token
    }

    /// The tokens, without expired ones.
    fn valid_tokens(&self, now: Timestamp) -> MutexGuard<'_, Vec<(Hash, Timestamp)>> {
        let mut tokens = self.tokens.lock();
        tokens.retain(|(_, expires_at)| now < *expires_at);
        tokens
    }

    fn contains(&self, purpose: &str, token: &str, now: Timestamp) -> bool {
        let hash = hash(purpose, token);
        self.valid_tokens(now)
            .iter()
            .any(|(known, _)| *known == hash)
    }

    /// True if it was there and unexpired. Of two calls, only one returns true.
    fn remove(&self, purpose: &str, token: &str, now: Timestamp) -> bool {
        let hash = hash(purpose, token);
        let mut tokens = self.valid_tokens(now);
        let found = tokens.iter().position(|(known, _)| *known == hash);
        found.map(|index| tokens.remove(index)).is_some()
    }
}

impl Session {
    /// The path prefix of the session's pages and its cookie: one that no other service on this host knows. A
    /// cookie for `/` would be sent to all of them, whatever their port (RFC 6265, section 8.5). Only the owner of the
    /// cookie can derive it, so nobody else can send its forms, and the cookie can't be derived from it.
    pub(crate) fn root(&self) -> String {
        format!("/{}", &hash(ROOT, &self.0).to_hex()[..32])
    }
}

fn hash(purpose: &str, token: &str) -> Hash {
    Hash::from_bytes(blake3::derive_key(purpose, token.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_ms(1_800_000_000_000);

    /// Another byte for every draw.
    struct Counting(Mutex<u8>);

    impl Entropy for Counting {
        fn fill(&self, bytes: &mut [u8]) {
            let mut next = self.0.lock();
            *next += 1;
            bytes.fill(*next);
        }
    }

    fn sessions() -> Sessions {
        let address = "[::1]:9090".parse().unwrap();
        Sessions::new(Arc::new(Counting(Mutex::new(0))), address)
    }

    /// The token of a new link.
    fn new_link(sessions: &Sessions) -> String {
        let (url, expires_at) = sessions.new_link(NOW);
        assert_eq!(expires_at, NOW.plus_ms(600_000));
        let token = url.strip_prefix("http://[::1]:9090/login?link=");
        token.unwrap().to_owned()
    }

    #[test]
    fn the_oldest_makes_room() {
        let sessions = sessions();
        let links: Vec<_> = (0..=TOKENS_MAX).map(|_| new_link(&sessions)).collect();
        assert!(!sessions.has_link(&links[0], NOW));
        assert!(sessions.has_link(&links[1], NOW));
        assert!(sessions.has_link(&links[TOKENS_MAX], NOW));
    }

    #[test]
    fn links_leave_the_sessions_open() {
        let sessions = sessions();
        let session = sessions.open(&new_link(&sessions), NOW).unwrap();
        let links: Vec<_> = (0..TOKENS_MAX).map(|_| new_link(&sessions)).collect();
        assert!(sessions.find(&session.0, NOW).is_some());
        assert!(!sessions.has_link(&links[0], NOW));
    }
}
