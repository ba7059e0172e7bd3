//! The operations, and what is true of each.

use std::time::Duration;

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// `GET /api/v1/health`
    Health,
    /// `GET /api/v1/keys`
    DescribeKeys,
    /// `GET /api/v1/sandbox/echo`
    DescribeEcho,
    /// `GET /oauth2/authorize`
    Authorize,
    /// `GET` of a document of the site
    Document,
    /// `POST /api/v1/keys`
    IssueKey,
    /// `POST /api/v1/sandbox/echo`
    Echo,
    /// `POST /api/v1/newsletter`, `POST /api/newsletter`
    Subscribe,
    /// `POST /api/v1/assistant/chat`, `POST /api/assistant/chat`
    Chat,
    /// `GET /api/v1/assistant/chat`, `GET /api/assistant/chat`
    Quota,
    /// `POST /agent/auth`
    RegisterAgent,
    /// `POST /agent/auth/claim`, `POST /agent/auth/claim/complete`
    Claim,
    /// `POST /agent/auth/revoke`
    Revoke,
    /// `POST /oauth2/token`
    Token,
    /// `POST /mcp`
    Mcp,
}

/// What a path is for, whether or not there is anything at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// `/api`.
    Api,
    /// `/agent` and `/oauth2`: problems have the members of RFC 6749 too, and no answer may be
    /// stored.
    OAuth,
    /// `/mcp`: answers are messages of its protocol, once a request has come through the door.
    Mcp,
    /// Documents and pages, which anybody may store.
    Site,
}

impl Area {
    /// The area that a path is in: by its first segment, but for the documents below `/mcp`.
    #[must_use]
    pub fn of(path: &str) -> Self {
        let is_below = |root| {
            let rest = path.strip_prefix(root);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if is_below("/api") {
            Self::Api
        } else if is_below("/agent") || is_below("/oauth2") {
            Self::OAuth
        } else if path == "/mcp" {
            Self::Mcp
        } else {
            Self::Site
        }
    }

    /// Whether a credential that is not good ends a request there. Elsewhere it is ignored: what a
    /// challenge leads to, and what gives or ends a credential, must be open to whoever has only a
    /// dead one.
    #[must_use]
    pub const fn refuses_bad_credentials(self) -> bool {
        match self {
            Self::Api | Self::Mcp => true,
            Self::OAuth | Self::Site => false,
        }
    }

    /// Whether programs call what is there: answers always show the rate limits, and pages of
    /// allowed origins may read them.
    #[must_use]
    pub const fn is_for_programs(self) -> bool {
        match self {
            Self::Api | Self::OAuth | Self::Mcp => true,
            Self::Site => false,
        }
    }
}

/// What a request's body may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyRule {
    /// Its media type.
    pub media_type: &'static str,
    /// Its largest size, in bytes.
    pub bytes_max: usize,
}

impl BodyRule {
    const fn json(kib_max: usize) -> Option<Self> {
        Some(Self {
            media_type: "application/json",
            bytes_max: kib_max * 1024,
        })
    }

    const fn form(kib_max: usize) -> Option<Self> {
        Some(Self {
            media_type: "application/x-www-form-urlencoded",
            bytes_max: kib_max * 1024,
        })
    }
}

impl Endpoint {
    /// Its name in the log.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Health => "health",
            Self::DescribeKeys => "keys.describe",
            Self::DescribeEcho => "sandbox.describe",
            Self::Authorize => "oauth.authorize",
            Self::Document => "document",
            Self::IssueKey => "keys.issue",
            Self::Echo => "sandbox.echo",
            Self::Subscribe => "newsletter.subscribe",
            Self::Chat => "assistant.chat",
            Self::Quota => "assistant.quota",
            Self::RegisterAgent => "agent.register",
            Self::Claim => "agent.claim",
            Self::Revoke => "agent.revoke",
            Self::Token => "oauth.token",
            Self::Mcp => "mcp",
        }
    }

    /// What its body may be; nothing if a body means nothing here.
    ///
    /// A legal chat body is 12 times 2000 characters, each written as a pair of escapes: 288,000
    /// bytes before the braces. An identity assertion, which is refused for what it is and not for
    /// its size, may have some kilobytes.
    #[must_use]
    pub const fn body(self) -> Option<BodyRule> {
        match self {
            Self::IssueKey | Self::Subscribe => BodyRule::json(8),
            Self::Echo | Self::RegisterAgent => BodyRule::json(64),
            // The arguments of a tool are such bodies; the message around them is small.
            Self::Chat | Self::Mcp => BodyRule::json(320),
            Self::Revoke | Self::Token => BodyRule::form(8),
            Self::Health
            | Self::DescribeKeys
            | Self::DescribeEcho
            | Self::Authorize
            | Self::Document
            | Self::Quota
            | Self::Claim => None,
        }
    }

    /// How long the operation may take once its body is there.
    #[must_use]
    pub const fn deadline(self) -> Duration {
        match self {
            // Longer than any model may take.
            Self::Chat => Duration::from_secs(330),
            // A tool that takes too long says so itself.
            Self::Mcp => Duration::from_secs(335),
            Self::Health
            | Self::DescribeKeys
            | Self::DescribeEcho
            | Self::Authorize
            | Self::Document
            | Self::IssueKey
            | Self::Echo
            | Self::Subscribe
            | Self::Quota
            | Self::RegisterAgent
            | Self::Claim
            | Self::Revoke
            | Self::Token => Duration::from_secs(30),
        }
    }

    /// Whether every answer tells what is left of the chat quota.
    #[must_use]
    pub const fn shows_quota(self) -> bool {
        match self {
            Self::Chat | Self::Quota => true,
            Self::Health
            | Self::DescribeKeys
            | Self::DescribeEcho
            | Self::Authorize
            | Self::Document
            | Self::IssueKey
            | Self::Echo
            | Self::Subscribe
            | Self::RegisterAgent
            | Self::Claim
            | Self::Revoke
            | Self::Token
            | Self::Mcp => false,
        }
    }

    /// Whether a page may only call it if it is ours or of an allowed origin: then not even what it
    /// sends without asking first does anything.
    #[must_use]
    pub const fn checks_origin(self) -> bool {
        matches!(self, Self::Mcp)
    }

    /// Whether the operation changes anything but counts, so that it must finish once it has begun,
    /// even if the client has gone.
    #[must_use]
    pub const fn has_effects(self) -> bool {
        match self {
            Self::IssueKey | Self::Subscribe | Self::Chat | Self::Revoke => true,
            Self::Health
            | Self::DescribeKeys
            | Self::DescribeEcho
            | Self::Authorize
            | Self::Document
            | Self::Echo
            | Self::Quota
            | Self::RegisterAgent
            | Self::Claim
            | Self::Token
            // The tool that is called may; it then finishes by itself.
            | Self::Mcp => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_are_told_by_the_first_segment() {
        for (path, area) in [
            ("/api", Area::Api),
            ("/api/", Area::Api),
            ("/api/v1/nothing", Area::Api),
            ("/apis", Area::Site),
            ("/API", Area::Site),
            ("api", Area::Site),
            ("//api", Area::Site),
            ("/agent", Area::OAuth),
            ("/agent/auth/claim", Area::OAuth),
            ("/agents", Area::Site),
            ("/oauth2/nothing", Area::OAuth),
            ("/mcp", Area::Mcp),
            ("/mcp/", Area::Site),
            ("/mcp/server-card", Area::Site),
            ("/", Area::Site),
            ("", Area::Site),
            ("*", Area::Site),
        ] {
            assert_eq!(Area::of(path), area, "{path}");
        }
    }
}
