//! The script of the pages, served as the modules that it is written in.

use super::document::{Document, PAGE_MAX_AGE_S, Representation, fingerprint};

const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

/// The modules; the pages load the first, which imports the others.
const MODULES: [(&str, &str); 11] = [
    ("/site.js", include_str!("../../data/site.js")),
    (
        "/script/assistant.js",
        include_str!("../../data/script/assistant.js"),
    ),
    (
        "/script/events.js",
        include_str!("../../data/script/events.js"),
    ),
    ("/script/find.js", include_str!("../../data/script/find.js")),
    ("/script/form.js", include_str!("../../data/script/form.js")),
    (
        "/script/forms.js",
        include_str!("../../data/script/forms.js"),
    ),
    ("/script/page.js", include_str!("../../data/script/page.js")),
    (
        "/script/proof.js",
        include_str!("../../data/script/proof.js"),
    ),
    (
        "/script/request.js",
        include_str!("../../data/script/request.js"),
    ),
    (
        "/script/search.js",
        include_str!("../../data/script/search.js"),
    ),
    ("/script/time.js", include_str!("../../data/script/time.js")),
];

/// The path that pages load the script from.
pub(super) fn path() -> String {
    format!("/site.js?v={}", version())
}

/// Every module under its path. An import names the version, as pages do, so that modules of two
/// versions never meet.
pub(super) fn documents() -> [Document; 11] {
    let versioned_end = format!(".js?v={}\";", version());
    MODULES.map(|(path, text)| {
        let text = text.replace(".js\";", &versioned_end);
        let form = Representation::new(JAVASCRIPT, text);
        Document {
            version: Some(version()),
            ..Document::new(path, PAGE_MAX_AGE_S, vec![form])
        }
    })
}

fn version() -> String {
    fingerprint(&MODULES.map(|(_, text)| text.as_bytes()))
}
