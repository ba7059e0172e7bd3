//! Where a value stands in a body.

use std::borrow::Cow;

/// Longest member name that is named in an answer, in bytes.
const NAMED_BYTES_MAX: usize = 64;

/// A JSON Pointer as a URI fragment (RFC 6901, section 6).
pub(super) type Pointer = Cow<'static, str>;

/// Where a value stands. Its pointer is made when something is wrong with it, or has to be said of
/// what is in it.
#[derive(Debug)]
pub(super) struct Location {
    container: Pointer,
    /// Nothing if it is the container itself.
    member: Option<&'static str>,
}

impl Location {
    pub(super) fn at(pointer: impl Into<Pointer>) -> Self {
        Self {
            container: pointer.into(),
            member: None,
        }
    }

    pub(super) fn of_member(container: &Pointer, name: &'static str) -> Self {
        Self {
            container: container.clone(),
            member: Some(name),
        }
    }

    pub(super) fn pointer(&self) -> Pointer {
        match self.member {
            Some(name) => member_of(&self.container, name),
            None => self.container.clone(),
        }
    }
}

/// The pointer to a member of the object at `container`; to the object itself if the name is too
/// long to be repeated.
pub(super) fn member_of(container: &Pointer, name: &str) -> Pointer {
    if name.len() > NAMED_BYTES_MAX {
        return container.clone();
    }
    let mut pointer = format!("{container}/");
    for byte in name.bytes() {
        match byte {
            // RFC 6901, section 3.
            b'~' => pointer.push_str("~0"),
            b'/' => pointer.push_str("~1"),
            // What a URI fragment may hold as it is (RFC 3986, section 3.5).
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'$' | b'@' => {
                pointer.push(char::from(byte));
            }
            _ => pointer.push_str(&format!("%{byte:02X}")),
        }
    }
    pointer.into()
}
