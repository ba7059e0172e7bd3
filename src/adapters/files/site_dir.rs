//! Reads the operator's files for the site: a flat folder of short texts and images.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::adapters::files::{open_regular, read_open};

// All files are held in memory.

const TEXT_FILE_BYTES_MAX: u64 = 256 * 1024;
pub(crate) const IMAGE_BYTES_MAX: u64 = 1024 * 1024;
/// Limit of all texts together.
const ALL_TEXTS_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Limit of all files together.
const ALL_FILES_BYTES_MAX: usize = 16 * 1024 * 1024;
const FILES_MAX: usize = 200;

/// A file name, escaped for one line of a terminal.
fn shown(name: &Path) -> String {
    name.to_string_lossy().escape_debug().to_string()
}

/// Name and content of the files of a folder, by name.
#[derive(Debug, Default)]
pub struct SiteDir {
    pub texts: Vec<(String, String)>,
    pub images: Vec<(String, Vec<u8>)>,
}

/// The files in the folder `dir`; `is_image` recognises images by name. Files that begin with a dot are
/// skipped. The error names the first refused file, in alphabetical order, and never quotes its content.
pub fn read(dir: &Path, is_image: impl Fn(&str) -> bool) -> Result<SiteDir, String> {
    let (dir, names) = list(dir).map_err(|error| error.to_string())?;
    if names.len() > FILES_MAX {
        return Err(format!("holds more than {FILES_MAX} files"));
    }
    let mut files = SiteDir::default();
    let (mut all_bytes, mut text_bytes) = (0, 0);
    for name in names {
        let refused = |why: String| format!("{}: {why}", shown(&name));
        let together = |files: &str, bytes_max: usize| {
            refused(format!(
                "the {files} up to this one exceed {bytes_max} bytes"
            ))
        };
        let text = name.to_string_lossy().into_owned();
        let is_image = is_image(&text);
        let bytes_max = match is_image {
            true => IMAGE_BYTES_MAX,
            false => TEXT_FILE_BYTES_MAX,
        };
        let bytes = read_file(&dir, &name, bytes_max).map_err(refused)?;
        all_bytes += bytes.len();
        if all_bytes > ALL_FILES_BYTES_MAX {
            return Err(together("files", ALL_FILES_BYTES_MAX));
        }
        if is_image {
            files.images.push((text, bytes));
            continue;
        }
        text_bytes += bytes.len();
        if text_bytes > ALL_TEXTS_BYTES_MAX {
            return Err(together("texts", ALL_TEXTS_BYTES_MAX));
        }
        let content = to_text(bytes)
            .map_err(|line| format!("{}, line {line}: is not UTF-8", shown(&name)))?;
        files.texts.push((text, content));
    }
    Ok(files)
}

/// The folder's real path, and the names in it, sorted.
fn list(dir: &Path) -> io::Result<(PathBuf, Vec<PathBuf>)> {
    let dir = fs::canonicalize(dir)?;
    let mut names = Vec::new();
    for entry in fs::read_dir(&dir)? {
        let name = PathBuf::from(entry?.file_name());
        if !name.as_os_str().as_encoded_bytes().starts_with(b".") {
            names.push(name);
        }
        if names.len() > FILES_MAX {
            break;
        }
    }
    names.sort_unstable();
    Ok((dir, names))
}

fn read_file(dir: &Path, name: &Path, bytes_max: u64) -> Result<Vec<u8>, String> {
    let unreadable = |error: io::Error| error.to_string();
    let path = fs::canonicalize(dir.join(name)).map_err(unreadable)?;
    if !path.starts_with(dir) {
        return Err("points outside the folder".to_owned());
    }
    let file = open_regular(&path).map_err(unreadable)?;
    // Another name of the file may be in any folder: anybody who can write to this one could publish files
    // that only the service may read.
    if file.metadata().map_err(unreadable)?.nlink() > 1 {
        return Err("is a hard link; replace it with a copy".to_owned());
    }
    read_open(file, bytes_max).map_err(unreadable)
}

/// The error is the line of the first invalid byte, from 1.
fn to_text(bytes: Vec<u8>) -> Result<String, usize> {
    match String::from_utf8(bytes) {
        // Some editors write a byte order mark.
        Ok(text) => Ok(text.trim_start_matches('\u{feff}').to_owned()),
        Err(error) => {
            let valid = error
                .as_bytes()
                .iter()
                .take(error.utf8_error().valid_up_to());
            Err(1 + valid.filter(|&&byte| byte == b'\n').count())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs::{create_dir, hard_link, write};
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::symlink;

    use super::*;

    fn is_image(name: &str) -> bool {
        name.ends_with(".jpg")
    }

    /// The error for a folder filled by `fill`.
    fn refused(fill: impl FnOnce(&Path)) -> String {
        let parent = tempfile::tempdir().unwrap();
        write(parent.path().join("secret.md"), "# Secret").unwrap();
        let dir = parent.path().join("site");
        create_dir(&dir).unwrap();
        fill(&dir);
        read(&dir, is_image).unwrap_err()
    }

    #[test]
    fn texts_and_images_come_by_name_and_hidden_files_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("b.md", "\u{feff}# B\r\n"),
            ("a.md", "# A"),
            (".a.md.swp", "\0"),
            (".a.jpg", "\0"),
        ] {
            write(dir.path().join(name), text).unwrap();
        }
        create_dir(dir.path().join(".git")).unwrap();
        symlink("a.md", dir.path().join("c.md")).unwrap();
        let largest = vec![b'\xff'; 1024 * 1024];
        write(dir.path().join("crane.jpg"), &largest).unwrap();
        let files = read(dir.path(), is_image).unwrap();
        assert_eq!(files.images, [("crane.jpg".to_owned(), largest)]);
        let texts: Vec<_> = files
            .texts
            .iter()
            .map(|(name, text)| (&**name, &**text))
            .collect();
        assert_eq!(
            texts,
            [("a.md", "# A"), ("b.md", "# B\r\n"), ("c.md", "# A")]
        );
    }

    #[track_caller]
    fn refuse(expected: &str, fill: impl FnOnce(&Path)) {
        assert_eq!(refused(fill), expected);
    }

    #[test]
    fn what_is_no_text_of_the_folder_is_refused_by_name() {
        let file = |expected, name: &[u8], content: &[u8]| {
            let name = OsStr::from_bytes(name);
            refuse(expected, |dir| write(dir.join(name), content).unwrap());
        };
        file("a.md, line 3: is not UTF-8", b"a.md", b"ok\n\nb\xff");
        file("\u{fffd}.md, line 1: is not UTF-8", b"\xff.md", b"\xff");
        let large = vec![b'x'; 1024 * 1024 + 1];
        let text = &large[..256 * 1024 + 1];
        file("a.md: is larger than 262144 bytes", b"a.md", text);
        file("a.jpg: is larger than 1048576 bytes", b"a.jpg", &large);
    }

    #[test]
    fn what_is_no_file_of_the_folder_is_refused_by_name() {
        const NO_FILE: &str = "is not a regular file";
        let escaped = "a\\nb\\u{1b}[31m\\u{202e}é.md";
        for (name, told) in [
            ("a.jpg", "a.jpg"),
            ("more", "more"),
            ("a\nb\u{1b}[31m\u{202e}é.md", escaped),
        ] {
            let expected = format!("{told}: {NO_FILE}");
            refuse(&expected, |dir| create_dir(dir.join(name)).unwrap());
        }
        let looped = "Too many levels of symbolic links (os error 40)";
        for (name, target, expected) in [
            ("a.jpg", "../secret.md", "points outside the folder"),
            ("a.md", "../secret.md", "points outside the folder"),
            ("a.md", "/etc/passwd", "points outside the folder"),
            ("a.md", ".", NO_FILE),
            ("a.md", "nowhere", "No such file or directory (os error 2)"),
            ("a.md", "a.md", looped),
        ] {
            let expected = format!("{name}: {expected}");
            refuse(&expected, |dir| symlink(target, dir.join(name)).unwrap());
        }
        let is_linked = "a.md: is a hard link; replace it with a copy";
        for (original, link) in [("../secret.md", "a.md"), ("a.md", "b.md")] {
            refuse(is_linked, |dir| {
                write(dir.join(original), "# A").unwrap();
                hard_link(dir.join(original), dir.join(link)).unwrap();
            });
        }
    }

    #[test]
    fn many_files_and_much_in_all_are_refused() {
        let many = |expected, suffix: &str, count: usize, size: usize| {
            refuse(expected, |dir| {
                for number in 101..=100 + count {
                    write(dir.join(format!("{number}.{suffix}")), vec![b'x'; size]).unwrap();
                }
            });
        };
        many("holds more than 200 files", "md", 201, 0);
        let texts = "109.md: the texts up to this one exceed 2097152 bytes";
        many(texts, "md", 9, 256 * 1024);
        let all = "25.jpg: the files up to this one exceed 16777216 bytes";
        refuse(all, |dir| {
            write(dir.join("0.md"), "x").unwrap();
            for number in 10..=25 {
                write(dir.join(format!("{number}.jpg")), vec![b'x'; 1024 * 1024]).unwrap();
            }
        });
    }

    #[test]
    fn a_folder_that_is_none_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        write(&file, "").unwrap();
        let refused = read(&file, is_image).unwrap_err();
        assert_eq!(refused, "Not a directory (os error 20)");
        let refused = read(&dir.path().join("nowhere"), is_image).unwrap_err();
        assert_eq!(refused, "No such file or directory (os error 2)");
    }
}
