//! The areas of the service that a path can be in.

/// The purpose of a path, whether or not it exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// `/api`.
    Api,
    /// `/agent` and `/oauth2`: problems have the fields of RFC 6749 too, and no response may be stored.
    OAuth,
    /// `/mcp`: responses are messages of its protocol, once a request has been admitted.
    Mcp,
    /// Documents and pages, which caches may keep.
    Site,
}

impl Area {
    /// The area of a path. The documents below `/mcp` are in [`Area::Site`].
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

    /// True if an invalid credential ends a request. Elsewhere it is ignored: the documents listed in a
    /// challenge, and the endpoints that issue or revoke credentials, must work for a client whose credential
    /// has expired.
    pub const fn refuses_bad_credentials(self) -> bool {
        matches!(self, Self::Api | Self::Mcp)
    }

    /// True if programs call it: responses always show the rate limits, and pages of allowed origins may read
    /// them.
    pub const fn is_for_programs(self) -> bool {
        matches!(self, Self::Api | Self::OAuth | Self::Mcp)
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
