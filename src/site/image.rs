//! The operator's images, which pages refer to by file name.

use std::collections::BTreeMap;

use bytes::Bytes;
use imagesize::{Compression, ImageType};

use super::document::{Document, PAGE_MAX_AGE_S, Representation};
use super::error::SiteError;

/// An image of the operator's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteImage {
    /// File name.
    pub name: String,
    /// Content.
    pub bytes: Bytes,
}

/// Maximum length of an image's name.
const NAME_LEN_MAX: usize = 64;

/// Path under which the images are served.
pub const FOLDER: &str = "/images/";

/// The media type of SVG.
pub const SVG: &str = "image/svg+xml";
/// The media type of PNG.
pub(super) const PNG: &str = "image/png";

/// Media types by file extension.
const MEDIA_TYPES: [(&str, &str); 7] = [
    ("avif", "image/avif"),
    ("gif", "image/gif"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("png", PNG),
    ("svg", SVG),
    ("webp", "image/webp"),
];

/// True if the name has the extension of an image.
pub fn is_image(name: &str) -> bool {
    media_type(name).is_some()
}

fn media_type(name: &str) -> Option<&'static str> {
    let (_, ending) = name.rsplit_once('.')?;
    let mut types = MEDIA_TYPES.iter();
    let (_, media_type) = types.find(|(known, _)| known.eq_ignore_ascii_case(ending))?;
    Some(media_type)
}

/// The media type of the content.
#[allow(
    clippy::wildcard_enum_match_arm,
    reason = "images of all other kinds are refused"
)]
fn media_type_within(bytes: &[u8]) -> Option<&'static str> {
    if std::str::from_utf8(bytes).is_ok_and(|text| text.contains("<svg")) {
        return Some(SVG);
    }
    media_type(match imagesize::image_type(bytes).ok()? {
        ImageType::Gif => ".gif",
        ImageType::Heif(Compression::Av1) => ".avif",
        ImageType::Jpeg => ".jpeg",
        ImageType::Png => ".png",
        ImageType::Webp => ".webp",
        _ => return None,
    })
}

/// The operator's logo, in place of the icon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Logo {
    /// Text of an SVG.
    Svg(String),
    /// A PNG.
    Png(Bytes),
}

impl Logo {
    /// The logo among `images`, by its name. [`Images::read`] checks their content.
    pub fn among(images: &[SiteImage]) -> Option<Self> {
        images.iter().find_map(|image| match image.name.as_str() {
            "logo.svg" => {
                let text = String::from_utf8_lossy(&image.bytes);
                Some(Self::Svg(text.into_owned()))
            }
            "logo.png" => Some(Self::Png(image.bytes.clone())),
            _ => None,
        })
    }
}

/// The images, by name.
#[derive(Debug, Default)]
pub(super) struct Images(BTreeMap<String, Image>);

#[derive(Debug)]
struct Image {
    media_type: &'static str,
    /// Width and height in pixels; unknown for an SVG.
    size: Option<(usize, usize)>,
    bytes: Bytes,
}

impl Images {
    /// Checks names and content.
    ///
    /// # Errors
    /// [`SiteError`] when one of them is wrong.
    pub(super) fn read(files: &[SiteImage]) -> Result<Self, SiteError> {
        let image = |file: &SiteImage| Ok((file.name.clone(), Image::read(file)?));
        files.iter().map(image).collect::<Result<_, _>>().map(Self)
    }

    /// The name of the image that `url` refers to in the operator's folder, whether it exists or not:
    /// `crane.jpg` or `/images/crane.jpg`.
    pub(super) fn name_in(url: &str) -> Option<&str> {
        let name = url.strip_prefix(FOLDER).unwrap_or(url);
        (is_image(name) && is_name(name)).then_some(name)
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// `html` with images that reserve their space and load when they come into view. It comes from
    /// pulldown-cmark, which writes `src` first, and contains no `<` in text.
    pub(super) fn with_sizes(&self, html: String) -> String {
        if !html.contains("<img ") {
            return html;
        }
        self.0.iter().fold(html, |html, (name, image)| {
            let tag = format!("<img src=\"{FOLDER}{name}\"");
            let size = image.size.map_or_else(String::new, |(width, height)| {
                format!(" width=\"{width}\" height=\"{height}\"")
            });
            html.replace(&tag, &format!("{tag} loading=\"lazy\"{size}"))
        })
    }

    /// Each image under a path of its own.
    pub(super) fn documents(&self) -> impl Iterator<Item = Document> {
        self.0.iter().map(|(name, image)| {
            let form = Representation::new(image.media_type, image.bytes.clone());
            Document::new(format!("{FOLDER}{name}"), PAGE_MAX_AGE_S, vec![form])
        })
    }
}

impl Image {
    fn read(file: &SiteImage) -> Result<Self, SiteError> {
        let SiteImage { name, bytes } = file;
        let wrong = |why: &str| SiteError::new(name, why);
        if !is_name(name) {
            return Err(wrong(
                "is an image whose name is not up to 64 letters, digits and inner hyphens, \
                 underscores and full stops",
            ));
        }
        let media_type = media_type(name).filter(|kind| media_type_within(bytes) == Some(kind));
        let media_type = media_type.ok_or_else(|| wrong("is no image of the kind in its name"))?;
        let size = match media_type {
            SVG => None,
            _ => {
                let size = imagesize::blob_size(bytes);
                let size = size.map_err(|error| wrong(&format!("has no size: {error}")))?;
                Some((size.width, size.height))
            }
        };
        Ok(Self {
            media_type,
            size,
            bytes: bytes.clone(),
        })
    }
}

/// True if the name needs no escaping in a URL.
fn is_name(text: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    text.len() <= NAME_LEN_MAX
        && text.chars().all(is_allowed)
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_a_content_that_belong_together_make_an_image() {
        const SHAPE: &[u8] = b"<?xml version=\"1.0\"?><svg xmlns=\"http://www.w3.org/2000/svg\"/>";
        const ICON: &[u8] = include_bytes!("../../data/icon.png");
        let jpeg = b"\xff\xd8\xff\xc0\x00\x0b\x08\x00\x10\x00\x20\x01\x01\x11\x00";
        let gif = b"GIF89a\x20\x00\x10\x00\x00\x00\x00";
        let read = |name: &str, bytes: &[u8]| {
            let bytes = Bytes::copy_from_slice(bytes);
            let name = name.to_owned();
            let image = Image::read(&SiteImage { name, bytes });
            image.map(|image| (image.media_type, image.size))
        };
        let small = Some((32, 16));
        for (name, bytes, expected) in [
            ("a.png", ICON, ("image/png", Some((180, 180)))),
            ("IMG_1.a-b.PNG", ICON, ("image/png", Some((180, 180)))),
            ("a.jpg", jpeg, ("image/jpeg", small)),
            ("a.jpeg", jpeg, ("image/jpeg", small)),
            ("a.gif", gif, ("image/gif", small)),
            ("a.svg", SHAPE, (SVG, None)),
        ] {
            assert_eq!(read(name, bytes), Ok(expected), "{name}");
        }
        for (name, bytes) in [
            ("a.jpg", ICON),
            ("a.svg", ICON),
            ("a.png", SHAPE),
            ("a.avif", ICON),
            ("a.webp", &gif[..]),
            ("a.png", b""),
            ("a.png", b"\x89PNG\r\n\x1a\n"),
            ("a.svg", b"<html>"),
            ("a.svg", b"<svg>\xff"),
            ("a b.png", ICON),
            ("-a.png", ICON),
            ("\u{e4}.png", ICON),
            ("a/b.png", ICON),
            ("a%20b.png", ICON),
        ] {
            let error = read(name, bytes).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("{}: ", name.escape_debug())),
                "{error}"
            );
        }
    }
}
