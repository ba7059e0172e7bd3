//! Agent skills: instructions that an agent may load. An index lists them with their digests
//! (discovery RFC v0.2.0, agentskills.io).

use data_encoding::HEXLOWER;
use minijinja::context;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::document::{Document, MARKDOWN, MAX_AGE_S, Representation};
use super::error::SiteError;
use super::templates::Templates;

/// A skill, as indexes and catalogs list it.
#[derive(Debug, Serialize)]
pub(super) struct Skill {
    name: &'static str,
    title: &'static str,
    /// Its purpose and when to use it.
    description: &'static str,
    path: &'static str,
    /// Sample requests that it helps with.
    representative_queries: [&'static str; 3],
    /// SHA-256 of the served bytes.
    digest: String,
    #[serde(skip)]
    markdown: String,
}

impl Skill {
    /// The only skill: how to use this API.
    ///
    /// # Errors
    /// [`SiteError`] when its file cannot be rendered.
    pub(super) fn public_api(templates: &Templates) -> Result<Self, SiteError> {
        const NAME: &str = "public-landing-api";
        const DESCRIPTION: &str = "Call the zero-auth endpoints of the public landing API. Use when \
             a task needs its health, sandbox, newsletter, assistant, key or agent registration \
             endpoints.";
        const TITLE: &str = "Using the public landing API";
        let skill = context! { name => NAME, title => TITLE, description => DESCRIPTION };
        let markdown = templates.fill("skills/public-landing-api/SKILL.md", context! { skill })?;
        Ok(Self {
            name: NAME,
            title: TITLE,
            description: DESCRIPTION,
            path: "/.well-known/agent-skills/public-landing-api/SKILL.md",
            representative_queries: [
                "call this API without an account",
                "register an agent and get a token",
                "get a free API key",
            ],
            digest: digest(markdown.as_bytes()),
            markdown,
        })
    }

    pub(super) fn document(&self) -> Document {
        let form = Representation::new(MARKDOWN, self.markdown.clone());
        Document::new(self.path, MAX_AGE_S, vec![form])
    }
}

/// The algorithm and lowercase hexadecimal digits, as in an index.
fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", HEXLOWER.encode(&Sha256::digest(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_in_lowercase_digits() {
        assert_eq!(
            digest(b"abc"),
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
