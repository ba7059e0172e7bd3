//! The unit in which the index keeps its entries: a handful of them together, found by a hash.
//!
//! sled 0.34 spends some 20 us and often a page on each key, whatever its size: a million contacts
//! one by one take 20 s to rebuild and 2 s to open. In buckets they take 1 s and 0.1 s.

use crate::domain::secret::MacKey;

/// Which bucket an entry is in. Two bytes make 65,536 buckets: with a million contacts each has
/// about a kilobyte.
pub(crate) type BucketId = [u8; 2];

/// More than most entries take.
const ENTRY_CAPACITY: usize = 96;

/// The bucket of the entry called `name`. The hash is keyed, so that nobody can choose addresses
/// that all fall into one.
pub(super) fn bucket_id(key: &MacKey, name: &[u8]) -> BucketId {
    let [first, second, ..] = key.hash16(&[name]);
    [first, second]
}

/// Entries, each a name and a value.
///
/// The bytes are a sequence of name length and value length (two bytes each, big-endian), name,
/// value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bucket(Vec<u8>);

impl Bucket {
    /// With room for one entry more, which is why most are read.
    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        let mut copy = Vec::with_capacity(bytes.len() + ENTRY_CAPACITY);
        copy.extend_from_slice(bytes);
        Self(copy)
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Gives back the room that it has for more.
    pub(super) fn shrink(&mut self) {
        self.0.shrink_to_fit();
    }

    /// The value of the entry called `name`.
    pub(super) fn find(&self, name: &[u8]) -> Option<&[u8]> {
        find(&self.0, name)
    }

    /// Adds the entry or replaces its value.
    pub(super) fn put(&mut self, name: &[u8], value: &[u8]) {
        let (Ok(name_len), Ok(value_len)) = (u16::try_from(name.len()), u16::try_from(value.len()))
        else {
            // Names and values are bounded by what an address and a label may be.
            return;
        };
        self.remove(name);
        self.0
            .reserve(2 * size_of::<u16>() + name.len() + value.len());
        self.0.extend_from_slice(&name_len.to_be_bytes());
        self.0.extend_from_slice(&value_len.to_be_bytes());
        self.0.extend_from_slice(name);
        self.0.extend_from_slice(value);
    }

    /// Removes the entry called `name`, if there is one.
    pub(super) fn remove(&mut self, name: &[u8]) {
        self.retain(|found, _| found != name);
    }

    /// Removes every entry whose name and value `keep` refuses.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&[u8], &[u8]) -> bool) {
        let mut cuts = Vec::new();
        for entry in entries(&self.0) {
            if !keep(entry.name, entry.value) {
                cuts.push(entry.start..entry.end);
            }
        }
        for cut in cuts.into_iter().rev() {
            self.0.drain(cut);
        }
    }
}

/// Looks an entry up in a bucket's bytes, without a copy of them.
pub(super) fn find<'a>(bytes: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    entries(bytes)
        .find(|entry| entry.name == name)
        .map(|entry| entry.value)
}

struct Entry<'a> {
    start: usize,
    end: usize,
    name: &'a [u8],
    value: &'a [u8],
}

fn entries(bytes: &[u8]) -> impl Iterator<Item = Entry<'_>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (name_len, tail) = rest.split_first_chunk()?;
        let (value_len, tail) = tail.split_first_chunk()?;
        let (name, tail) = tail.split_at_checked(u16::from_be_bytes(*name_len).into())?;
        let (value, tail) = tail.split_at_checked(u16::from_be_bytes(*value_len).into())?;
        let entry = Entry {
            start: bytes.len() - rest.len(),
            end: bytes.len() - tail.len(),
            name,
            value,
        };
        rest = tail;
        Some(entry)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_behaves_like_a_map() {
        let mut bucket = Bucket::default();
        bucket.put(b"ada", b"1");
        bucket.put(b"bob", b"22");
        bucket.put(b"cy", b"");
        bucket.put(b"bob", b"333");
        assert_eq!(bucket.find(b"ada"), Some(&b"1"[..]));
        assert_eq!(bucket.find(b"bob"), Some(&b"333"[..]));
        assert_eq!(bucket.find(b"cy"), Some(&b""[..]));
        assert_eq!(bucket.find(b"a"), None);
        bucket.remove(b"ada");
        assert_eq!(bucket.find(b"ada"), None);
        bucket.retain(|name, _| name == b"cy");
        assert_eq!(bucket.find(b"bob"), None);
        assert_eq!(Bucket::from_bytes(bucket.as_bytes()), bucket);
        bucket.remove(b"cy");
        assert_eq!(bucket, Bucket::default());
    }

    #[test]
    fn cut_off_bytes_are_no_entry() {
        let mut bucket = Bucket::default();
        bucket.put(b"ada", b"1");
        for length in 0..bucket.as_bytes().len() {
            assert_eq!(find(&bucket.as_bytes()[..length], b"ada"), None);
        }
    }
}
