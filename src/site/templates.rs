//! The files of `data/` as templates.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{Environment, context};
use serde::Serialize;

use crate::domain::Language;

use super::catalog::FRAME;
use super::data::sources;
use super::document::fingerprint;
use super::environment::{self, environment, statements};
use super::facts::{self, SiteFacts};
use super::image::{Images, PNG, SVG};
use super::script::accented;
use super::site_file::{SiteError, SiteFile, name_in, page_and_language};

/// The templates, by name; the extension decides how values are escaped. A template that an operator may not
/// replace has a name that no file of theirs may have.
const SOURCES: &[(&str, &str)] = &sources! {
    "index.md" "help.md" "help.de.md" "help.fr.md" "help.es.md" "confirmation.md"
    "confirmation.de.md" "confirmation.fr.md" "confirmation.es.md" "guide.md" "auth.md" "developers.md"
    "parts/embed_page.md" "problem.md" "parts/problems_page.md" "parts/introduction.md"
    "parts/reference_page.md" "page.html" "parts/article.html"
    "parts/guide.html" "home.html" "parts/error.html" "parts/developers.html" "parts/search.html"
    "parts/sign_up.html" "parts/embed.html" "parts/snippets.html" "parts/newsletter.html"
    "parts/thanks.html" "parts/contact.html" "parts/confirmation.html" "parts/confirmation.txt" "parts/reference.html" "parts/operation.html" "parts/reference.md"
    "parts/schema.txt" "parts/search.json" "llms.txt" "robots.txt" "sitemap.xml" "skills/public-landing-api/SKILL.md"
    "well-known/oauth-protected-resource.json" "well-known/oauth-authorization-server.json"
    "well-known/openid-configuration.json" "well-known/jwks.json" "well-known/api-catalog.json"
    "well-known/mcp/server-card.json" "well-known/mcp.json" "well-known/ai-catalog.json"
    "well-known/agent-skills/index.json" "statements.txt" "parts/consent.txt" "parts/skill.txt"
};

/// The stylesheet. It is no template: `{#` in it would begin a comment.
const STYLE: &str = "style.css";

/// The templates and their shared values.
#[derive(Debug)]
pub struct Templates {
    pub(super) environment: Environment<'static>,
    /// The values of all templates.
    pub(super) context: Value,
    /// What documents list besides: the API's description and the like. The frame has none of it, because pages made for
    /// one request are laid out in it, too.
    pub(super) lists: Value,
    /// The languages of the site, the default first: those of the operator's pages, if there are any.
    pub languages: Vec<Language>,
    pub(super) style: String,
    pub(super) images: Images,
}

impl Templates {
    /// The templates of the service, for `facts`, and those of the operator's `files`, which may show
    /// `images`.
    ///
    /// # Errors
    /// [`SiteError`] when one does not parse.
    pub(super) fn new(
        facts: &SiteFacts,
        files: &[SiteFile],
        images: Images,
        own_languages: Vec<Language>,
    ) -> Result<Self, SiteError> {
        let has_own_pages = !own_languages.is_empty();
        let accent = facts.settings.accent;
        let mut environment = environment(SyntaxConfig::builder())?;
        for &(name, source) in SOURCES {
            if !is_outdated(name, files) {
                environment.add_template(name, source)?;
            }
        }
        // An operator's file replaces the service's file of the same name.
        let mut style = accented(include_str!("../../data/style.css"), accent);
        for SiteFile { name, text } in files {
            if name == STYLE {
                style.clone_from(text);
            } else {
                environment.add_template_owned(name.clone(), text.clone())?;
            }
        }
        let is_logo = |media_type| {
            let logo = facts.logo.as_ref();
            logo.is_none_or(|logo| logo.media_type == media_type)
        };
        // A page loads the style it was made with.
        let own = context! {
            style_path => Value::from_safe_string(format!("/style.css?v={}", fingerprint(&[style.as_bytes()]))),
            // Without a logo, the icon serves as both.
            has_svg_icon => is_logo(SVG),
            has_png_icon => is_logo(PNG),
            has_own_pages,
        };
        let context = context! { ..own, ..facts::context(facts) };
        let privacy = statements(&environment, &context)?;
        Ok(Self {
            context: context! { privacy, ..context },
            lists: context! {},
            languages: match has_own_pages {
                true => own_languages,
                false => Language::ALL.to_vec(),
            },
            environment,
            style,
            images,
        })
    }

    /// Adds values for the templates that are rendered from now on.
    pub(super) fn add(&mut self, values: Value) {
        self.context = context! { ..values, ..self.context.clone() };
    }

    /// Number of the first line of the template `name` that contains `text`.
    pub(super) fn line_with(&self, name: &str, text: &str) -> Option<usize> {
        let template = self.environment.get_template(name).ok()?;
        let mut lines = template.source().lines();
        lines.position(|line| line.contains(text)).map(|at| at + 1)
    }

    /// The message `key`, which takes no arguments.
    ///
    /// # Errors
    /// [`SiteError`] when there is none, or it takes some.
    pub(super) fn text(&self, language: Language, key: &str) -> Result<String, SiteError> {
        let text = environment::text(&self.environment, language, key, context! {});
        Ok(text?)
    }

    /// The template of the page `name` in `language`: a translation, such as `about.de.md` for `about.md`, or
    /// else the page's, or else the first translation.
    pub(super) fn source_in(&self, language: Language, name: &str) -> String {
        let others = Language::ALL.map(|other| name_in(other, name));
        let names = [name_in(language, name), name.to_owned()];
        let mut names = names.into_iter().chain(others);
        let source = names.find(|name| self.environment.get_template(name).is_ok());
        source.unwrap_or_else(|| name.to_owned())
    }

    /// Renders the template `name`, with messages in `language`; `more` takes precedence over the shared
    /// values.
    ///
    /// # Errors
    /// [`SiteError`] when it uses an undefined value or message, or takes too many steps.
    pub(super) fn fill(
        &self,
        language: Language,
        name: &str,
        more: Value,
    ) -> Result<String, SiteError> {
        let shared = match name {
            FRAME => self.context.clone(),
            _ => context! { ..self.lists.clone(), ..self.context.clone() },
        };
        let context = context! { lang => language.as_str(), ..shared };
        let template = self.environment.get_template(name)?;
        Ok(template.render(context! { ..more, ..context })?)
    }

    /// Lays `body` out in the frame of every page, with links to the page in those of its `languages` that the site has.
    ///
    /// # Errors
    /// As [`Self::fill`].
    pub(super) fn frame(
        &self,
        language: Language,
        languages: &[Language],
        body: &str,
        values: Value,
    ) -> Result<String, SiteError> {
        let has = |language: &&Language| languages.contains(language);
        let linked = self.languages.iter().filter(has);
        let link = |lang: &Language| context! { tag => lang.as_str(), name => lang.name() };
        let own = context! {
            languages => linked.map(link).collect::<Vec<_>>(),
            body => Value::from_safe_string(body.to_owned()),
        };
        self.fill(language, FRAME, context! { ..own, ..values })
    }

    /// The text with which the newsletter's form asks for consent, on the pages of this service.
    pub fn consent_text(&self, language: Language) -> Option<String> {
        self.fill(language, "parts/consent.txt", context! {}).ok()
    }

    /// Renders the template `layout` with `values`, in the frame. The message `title` is the page's title;
    /// `path` is the page's own URL in every language, if it has one.
    ///
    /// # Errors
    /// [`SiteError`] when a template uses an undefined value.
    pub fn page(
        &self,
        language: Language,
        layout: &str,
        title: &str,
        path: Option<&str>,
        values: &impl Serialize,
    ) -> Result<String, SiteError> {
        let body = self.fill(language, layout, Value::from(Serde(values)))?;
        // The frame always has all its values, even empty ones.
        let frame = context! {
            title => self.text(language, title)?,
            description => "",
            here => path.unwrap_or_default(),
            markdown_path => "",
        };
        let languages = path.map_or(&[][..], |_path| &Language::ALL);
        self.frame(language, languages, &body, frame)
    }
}

/// True if `name` is the translation of a page that the operator has replaced: it translates the replaced
/// text.
fn is_outdated(name: &str, files: &[SiteFile]) -> bool {
    let (page, language) = page_and_language(name);
    language.is_some() && files.iter().any(|file| file.name == page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_page_of_the_operators_has_the_name_of_a_source() {
        for name in SOURCES.iter().map(|(name, _)| *name).chain([STYLE]) {
            let file = SiteFile {
                name: name.to_owned(),
                text: String::new(),
            };
            assert!(!matches!(file.page_path(), Ok(Some(_))), "{name}");
        }
    }
}
