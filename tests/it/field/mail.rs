//! Replies of mail relays.
