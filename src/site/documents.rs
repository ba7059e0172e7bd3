//! The documents that are not pages.

use bytes::Bytes;
use data_encoding::HEXLOWER;
use minijinja::context;
use ring::digest::{SHA256, digest};

use super::catalog::DocumentRow;
use super::document::{Document, Representation};
use super::error::SiteError;
use super::facts::SiteFacts;
use super::image::{PNG, SVG};
use super::script::accented;
use super::templates::Templates;

const CSS: &str = "text/css; charset=utf-8";

/// The document of a row.
///
/// # Errors
/// [`SiteError`] when its template can't be rendered.
pub(super) fn document(row: &DocumentRow, templates: &Templates) -> Result<Document, SiteError> {
    let body = Bytes::from(templates.fill(row.template, context! {})?);
    let form = |media_type: &&'static str| Representation::new(media_type, body.clone());
    let forms = row.media_types.iter().map(form).collect();
    Ok(Document {
        link: (!row.link.is_empty()).then(|| row.link.to_owned()),
        ..Document::new(row.path, forms)
    })
}

/// Stylesheet, icons and picture. An icon is the operator's logo, if that is of its kind. Phones and link previews take
/// the PNG, and so do browsers that show none of our pages, which request the last one.
pub(super) fn assets(facts: &SiteFacts, style: &str) -> Vec<Document> {
    let logo = |media_type| {
        let logo = facts.logo.as_ref();
        let logo = logo.filter(|logo| logo.media_type == media_type);
        logo.map(|logo| logo.bytes.clone())
    };
    let svg = logo(SVG).unwrap_or_else(|| {
        let icon = include_str!("../../data/icon.svg");
        accented(icon, facts.settings.accent).into()
    });
    let png = include_bytes!("../../data/icon.png");
    let png = logo(PNG).unwrap_or_else(|| Bytes::from_static(png));
    let mut assets = vec![
        Document::single("/style.css", CSS, style.to_owned()),
        Document::single("/icon.svg", SVG, svg),
        Document::single("/icon.png", PNG, png.clone()),
        Document::single("/favicon.ico", PNG, png),
    ];
    let picture = facts.picture.iter();
    assets.extend(picture.map(|picture| {
        Document::single(
            picture.picture_path(),
            picture.media_type,
            picture.bytes.clone(),
        )
    }));
    assets
}

/// The digest of the only skill's file, with which an index lists it (discovery RFC v0.2.0, agentskills.io).
///
/// # Errors
/// [`SiteError`] when the file cannot be rendered.
pub(super) fn skill_digest(templates: &Templates) -> Result<String, SiteError> {
    let text = templates.fill("skills/public-landing-api/SKILL.md", context! {})?;
    Ok(format!(
        "sha256:{}",
        HEXLOWER.encode(digest(&SHA256, text.as_bytes()).as_ref())
    ))
}
