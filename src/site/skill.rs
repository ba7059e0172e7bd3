//! Agent skills: instructions that an agent may load, with an index that tells their digests
//! (discovery RFC v0.2.0, agentskills.io).

use minijinja::context;
use minijinja::value::{Serde, Value};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::document::{Document, Representation};
use super::templates::Templates;
use super::{MARKDOWN, SiteError};

/// What an index tells of a skill. The file's front matter is made from the same texts.
#[derive(Clone, Debug, Serialize)]
pub(super) struct About {
    /// Also the name of its folder.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// What it does and when to use it.
    pub(super) description: &'static str,
    pub(super) path: &'static str,
    /// What somebody may ask for whom it helps, in a catalogue.
    pub(super) representative_queries: [&'static str; 3],
}

/// The only one there is.
pub(super) const PUBLIC_API: About = About {
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

/// A skill, filled in.
#[derive(Debug, Serialize)]
pub(super) struct Skill {
    #[serde(flatten)]
    about: About,
    /// SHA-256 of the very bytes that are served.
    digest: String,
    #[serde(skip)]
    markdown: String,
}

impl Skill {
    /// Fills in the file of a skill.
    ///
    /// # Errors
    /// [`SiteError`] when that fails.
    pub(super) fn render(about: About, templates: &Templates<'_>) -> Result<Self, SiteError> {
        let template = format!("skills/{}/SKILL.md", about.name);
        let markdown =
            templates.fill(&template, context! { skill => Value::from(Serde(&about)) })?;
        Ok(Self {
            digest: digest(markdown.as_bytes()),
            about,
            markdown,
        })
    }

    pub(super) fn document(&self) -> Document {
        const MAX_AGE_S: u32 = 3600;
        let form = Representation::new(MARKDOWN, self.markdown.clone());
        Document::new(self.about.path, MAX_AGE_S, vec![form])
    }
}

/// As an index has it: the algorithm and lowercase hexadecimal digits.
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
