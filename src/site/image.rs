//! The operator's images, which pages refer to by file name.

use std::collections::BTreeMap;

use imagesize::{Compression, ImageType};
use tokio_util::bytes::Bytes;

use super::document::Document;
use super::site_file::{SiteError, is_name};

/// A file of the operator's that is an image: its name and content.
pub type SiteImage = (String, Vec<u8>);

/// Path under which the images are served.
pub const FOLDER: &str = "/images/";

/// The media type of SVG.
pub const SVG: &str = "image/svg+xml";
/// The media type of PNG.
pub(super) const PNG: &str = "image/png";

/// True if the name has the extension of an image.
pub fn is_image(name: &str) -> bool {
    ["avif", "gif", "jpg", "png", "svg", "webp"].contains(&&*ending(name))
}

/// The extension of a name, as [`Image::ending`] has it.
fn ending(name: &str) -> String {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    ending.to_ascii_lowercase().replace("jpeg", "jpg")
}

/// An image, known by its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The usual file extension.
    ending: &'static str,
    pub(super) media_type: &'static str,
    /// Width and height in pixels; unknown for an SVG.
    pub(super) size: Option<(usize, usize)>,
    pub(super) bytes: Bytes,
}

impl Image {
    /// The operator's logo, in place of the icon.
    ///
    /// # Errors
    /// Says what it must be.
    pub fn logo(bytes: Vec<u8>) -> Result<Self, String> {
        let image = Self::read(bytes.into());
        let logo = image.filter(|image| ["svg", "png"].contains(&image.ending));
        logo.ok_or_else(|| "is not an SVG or PNG".to_owned())
    }

    /// The picture of the home page.
    ///
    /// # Errors
    /// Says what it must be.
    pub fn picture(bytes: Vec<u8>) -> Result<Self, String> {
        let image = Self::read(bytes.into());
        let kinds = ["png", "jpg", "webp", "svg"];
        let picture = image.filter(|image| kinds.contains(&image.ending));
        picture.ok_or_else(|| "is not a PNG, JPEG, WebP or SVG".to_owned())
    }

    /// The path of the home page's picture.
    pub(super) fn picture_path(&self) -> String {
        format!("/picture.{}", self.ending)
    }

    /// The image under `path`.
    pub(super) fn document(&self, path: String) -> Document {
        Document::single(path, self.media_type, self.bytes.clone())
    }

    #[allow(
        clippy::wildcard_enum_match_arm,
        reason = "images of all other kinds are refused"
    )]
    fn read(bytes: Bytes) -> Option<Self> {
        let is_svg = std::str::from_utf8(&bytes).is_ok_and(|text| text.contains("<svg"));
        let (ending, media_type) = match imagesize::image_type(&bytes) {
            _ if is_svg => ("svg", SVG),
            Ok(ImageType::Gif) => ("gif", "image/gif"),
            Ok(ImageType::Heif(Compression::Av1)) => ("avif", "image/avif"),
            Ok(ImageType::Jpeg) => ("jpg", "image/jpeg"),
            Ok(ImageType::Png) => ("png", PNG),
            Ok(ImageType::Webp) => ("webp", "image/webp"),
            _ => return None,
        };
        let size = imagesize::blob_size(&bytes);
        let size = size.ok().map(|size| (size.width, size.height));
        (is_svg || size.is_some()).then_some(Self {
            ending,
            media_type,
            size,
            bytes,
        })
    }
}

/// The images of the operator's folder, by name.
#[derive(Debug, Default)]
pub(super) struct Images(BTreeMap<String, Image>);

impl Images {
    /// Checks names and content.
    ///
    /// # Errors
    /// [`SiteError`] when one of them is wrong.
    pub(super) fn read(files: &[SiteImage]) -> Result<Self, SiteError> {
        let image = |(name, bytes): &SiteImage| {
            // None of them needs escaping in a URL.
            let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            if !is_name(name, is_allowed) {
                return Err(SiteError::new(
                    name,
                    "is an image whose name is not up to 64 letters, digits and inner hyphens, \
                     underscores and full stops",
                ));
            }
            let image = Image::read(bytes.clone().into());
            let image = image.filter(|image| image.ending == ending(name));
            let image = image.ok_or_else(|| {
                SiteError::new(name, "is not the kind of image that its extension says")
            })?;
            Ok((name.clone(), image))
        };
        files.iter().map(image).collect::<Result<_, _>>().map(Self)
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
        let images = self.0.iter();
        images.map(|(name, image)| image.document(format!("{FOLDER}{name}")))
    }
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
            let images = Images::read(&[(name.to_owned(), bytes.to_vec())]);
            images.map(|Images(images)| {
                let image = &images[name];
                (image.media_type, image.size)
            })
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
            let named = format!("{}: ", name.escape_debug());
            assert!(error.starts_with(&named), "{error}");
        }
    }

    #[test]
    fn a_picture_has_a_path_that_tells_its_kind() {
        let jpeg = b"\xff\xd8\xff\xc0\x00\x0b\x08\x00\x10\x00\x20\x01\x01\x11\x00";
        for (bytes, path, size) in [
            (&jpeg[..], "/picture.jpg", Some((32, 16))),
            (b"<svg viewBox='0 0 64 32'/>", "/picture.svg", None),
        ] {
            let picture = Image::picture(bytes.to_vec()).unwrap();
            assert_eq!(picture.picture_path(), path);
            assert_eq!(picture.size, size);
        }
        for other in ["GIF89a\x20\0\x10\0\0\0\0", ""] {
            let why = "is not a PNG, JPEG, WebP or SVG".to_owned();
            assert_eq!(Image::picture(other.into()), Err(why));
        }
    }
}
