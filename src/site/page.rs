//! The frame around every HTML page.

use super::SiteError;

const TITLE: &str = "<!--title-->";
const BODY: &str = "<!--body-->";

/// A page cut where its title and its body go.
#[derive(Clone, Debug)]
pub struct Frame {
    before_title: String,
    before_body: String,
    after_body: String,
}

impl Frame {
    /// Cuts a page at its two markers.
    ///
    /// # Errors
    /// [`SiteError::Frame`] when a marker is missing.
    pub fn parse(page: &str) -> Result<Self, SiteError> {
        let (before_title, rest) = page.split_once(TITLE).ok_or(SiteError::Frame(TITLE))?;
        let (before_body, after_body) = rest.split_once(BODY).ok_or(SiteError::Frame(BODY))?;
        Ok(Self {
            before_title: before_title.to_owned(),
            before_body: before_body.to_owned(),
            after_body: after_body.to_owned(),
        })
    }

    /// The page with `title`, which is text, and `body`, which is HTML.
    #[must_use]
    pub fn around(&self, title: &str, body: &str) -> String {
        [
            &self.before_title,
            escape(title).as_str(),
            &self.before_body,
            body,
            &self.after_body,
        ]
        .concat()
    }
}

/// `text` as it stands in HTML, between tags or in a quoted attribute.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_cannot_reach_beyond_its_place() {
        let frame = Frame::parse("<title><!--title--></title><main><!--body--></main>").unwrap();
        assert_eq!(
            frame.around("<!--body--> & \"'", "<p>x</p>"),
            "<title>&lt;!--body--&gt; &amp; &quot;&#39;</title><main><p>x</p></main>"
        );
    }

    #[test]
    fn a_page_without_its_markers_is_refused() {
        assert!(matches!(
            Frame::parse("<!--body-->"),
            Err(SiteError::Frame(TITLE))
        ));
        assert!(matches!(
            Frame::parse("<!--title-->"),
            Err(SiteError::Frame(BODY))
        ));
    }
}
