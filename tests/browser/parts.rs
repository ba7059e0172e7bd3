//! The parts of the pages that tests use, and keys.

pub(crate) const EMAIL: &str = "landing-newsletter >>> #email";
pub(crate) const SIGN_UP: &str = "landing-newsletter >>> [type=submit]";
pub(crate) const SIGN_UP_STATUS: &str = "landing-newsletter >>> .status";
pub(crate) const QUESTION: &str = "landing-chat >>> #question";
pub(crate) const SEND: &str = "landing-chat >>> [type=submit]";
pub(crate) const CHAT_STATUS: &str = "landing-chat >>> .status";
/// What is said of the quota.
pub(crate) const LEFT: &str = "landing-chat >>> .left";
/// A script that gives the question that is typed and not sent.
pub(crate) const DRAFT: &str = "return find('landing-chat >>> #question').value";
/// The condition that there is a whole answer.
pub(crate) const ANSWERED: &str = "find('landing-chat >>> .answer:not(.growing)')";
pub(crate) const MINT: &str = "[data-form=key] [type=submit]";
pub(crate) const KEY_STATUS: &str = "[data-form=key] .status";

pub(crate) const TAB: &str = "\u{e004}";
pub(crate) const ENTER: &str = "\u{e007}";
pub(crate) const ESCAPE: &str = "\u{e00c}";
