//! The operator's images, which pages refer to by file name.

use std::collections::BTreeMap;

use imagesize::{Compression, ImageType};
use tokio_util::bytes::Bytes;

use super::document::Document;
use super::site_file::SiteError;

/// A file of the operator's that is an image: its name and content.
pub type SiteImage = (String, Vec<u8>);

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
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
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

    /// The picture of the home page, with its size, so that nothing moves when it has loaded.
    ///
    /// # Errors
    /// Says what it must be.
    pub fn picture(bytes: Vec<u8>) -> Result<Self, String> {
        let image = Self::read(bytes.into());
        let kinds = ["png", "jpg", "webp", "svg"];
        let image = image.filter(|image| kinds.contains(&image.ending));
        let mut image = image.ok_or("is not a PNG, JPEG, WebP or SVG")?;
        if image.media_type == SVG {
            let size = view_box_size(&image.bytes);
            image.size =
                Some(size.ok_or("is an SVG without a viewBox, which is needed for its size")?);
        }
        Ok(image)
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
        let ending = match imagesize::image_type(&bytes) {
            _ if is_svg => "svg",
            Ok(ImageType::Gif) => "gif",
            Ok(ImageType::Heif(Compression::Av1)) => "avif",
            Ok(ImageType::Jpeg) => "jpg",
            Ok(ImageType::Png) => "png",
            Ok(ImageType::Webp) => "webp",
            _ => return None,
        };
        let size = imagesize::blob_size(&bytes);
        let size = size.ok().map(|size| (size.width, size.height));
        (is_svg || size.is_some()).then_some(Self {
            ending,
            media_type: media_type(&format!(".{ending}"))?,
            size,
            bytes,
        })
    }
}

/// Width and height of the view box of an SVG, rounded up.
fn view_box_size(svg: &[u8]) -> Option<(usize, usize)> {
    let (_, rest) = std::str::from_utf8(svg).ok()?.split_once("viewBox")?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let quote = rest.chars().next()?;
    let view_box = rest.split(quote).nth(1)?;
    let numbers = view_box.split([' ', ',', '\t', '\n', '\r']);
    let numbers = numbers.filter(|text| !text.is_empty());
    let mut sizes = numbers.skip(2).map(|number| {
        let size = number.parse::<f64>().ok()?.ceil();
        size.to_string().parse().ok().filter(|size| *size > 0)
    });
    Some((sizes.next()??, sizes.next()??))
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
            if !is_name(name) {
                return Err(SiteError::new(
                    name,
                    "is an image whose name is not up to 64 letters, digits and inner hyphens, \
                     underscores and full stops",
                ));
            }
            let image = Image::read(bytes.clone().into());
            let image = image.filter(|image| media_type(name) == Some(image.media_type));
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
    fn a_picture_has_a_size_and_a_path_that_tells_its_kind() {
        let svg = |value: &str| format!("<svg xmlns='http://www.w3.org/2000/svg' viewBox{value}/>");
        let jpeg = b"\xff\xd8\xff\xc0\x00\x0b\x08\x00\x10\x00\x20\x01\x01\x11\x00";
        for (bytes, path, size) in [
            (jpeg.to_vec(), "/picture.jpg", (32, 16)),
            (svg("=\"0 0 640 480.5\"").into(), "/picture.svg", (640, 481)),
            (svg(" = '0 0\t.5\n1e2'").into(), "/picture.svg", (1, 100)),
            (svg("='0,0,64,32'").into(), "/picture.svg", (64, 32)),
        ] {
            let picture = Image::picture(bytes).unwrap();
            assert_eq!(picture.picture_path(), path);
            assert_eq!(picture.size, Some(size));
        }
        let without = "is an SVG without a viewBox, which is needed for its size";
        let bare = svg("").replace(" viewBox", "");
        let boxes = [
            "='0 0 -.5 32'",
            "='0 0 inf 1e99'",
            "='0 0 0 32'",
            "='0 0 wide'",
        ];
        for text in boxes.map(svg).into_iter().chain([bare]) {
            assert_eq!(Image::picture(text.into()), Err(without.to_owned()));
        }
        for other in ["GIF89a\x20\0\x10\0\0\0\0", ""] {
            let why = "is not a PNG, JPEG, WebP or SVG".to_owned();
            assert_eq!(Image::picture(other.into()), Err(why));
        }
    }
}
