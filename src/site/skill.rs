//! Agent skills: instructions that an agent may load. An index lists them with their digests
//! (discovery RFC v0.2.0, agentskills.io).

use minijinja::context;
use minijinja::value::{Serde, Value};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::document::{Document, MARKDOWN, MAX_AGE_S, Representation};
use super::error::SiteError;
use super::templates::Templates;

/// The entry of a skill in an index; the front matter of its file has the same texts.
#[derive(Clone, Debug, Serialize)]
pub(super) struct SkillCard {
    /// The name, which is also that of its folder.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// What it does, and when to use it.
    pub(super) description: &'static str,
    pub(super) path: &'static str,
    /// Examples of requests that it helps with, for catalogs.
    pub(super) representative_queries: [&'static str; 3],
}

/// The only skill.
pub(super) const PUBLIC_API: SkillCard = SkillCard {
    name: "public-landing-api",
    title: "Using the public landing API",
    description: "Call the zero-auth endpoints of the public landing API. Use when a task needs \
                  its health, sandbox, newsletter, assistant, key or agent registration endpoints.",
    path: "/.well-known/agent-skills/public-landing-api/SKILL.md",
    representative_queries: [
        "call this API without an account",
        "register an agent and get a token",
        "get a free API key",
    ],
};

/// A skill with its rendered file.
#[derive(Debug, Serialize)]
pub(super) struct Skill {
    #[serde(flatten)]
    card: SkillCard,
    /// SHA-256 of the bytes that are served.
    digest: String,
    #[serde(skip)]
    markdown: String,
}

impl Skill {
    /// Renders the file of a skill.
    ///
    /// # Errors
    /// [`SiteError`] when that fails.
    pub(super) fn render(card: SkillCard, templates: &Templates<'_>) -> Result<Self, SiteError> {
        let template = format!("skills/{}/SKILL.md", card.name);
        let markdown =
            templates.fill(&template, context! { skill => Value::from(Serde(&card)) })?;
        Ok(Self {
            digest: digest(markdown.as_bytes()),
            card,
            markdown,
        })
    }

    pub(super) fn document(&self) -> Document {
        let form = Representation::new(MARKDOWN, self.markdown.clone());
        Document::new(self.card.path, MAX_AGE_S, vec![form])
    }
}

/// The algorithm and lowercase hexadecimal digits, as an index has them.
fn digest(bytes: &[u8]) -> String {
    let digits: String = Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("sha256:{digits}")
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
