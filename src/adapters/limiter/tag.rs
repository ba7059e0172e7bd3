//! What stands in a place of a shard, in a byte.

use crate::domain::client::LimitKey;

/// What stands in a place: 0 is nothing; else seven bits of the key's hash, never all 0, and whether
/// the window is newer than what is stored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Tag(u8);

impl Tag {
    pub(super) const FREE: Self = Self(0);
    const NEW: u8 = 0x80;

    /// Of a window that is not new. The bits are others than those that tell shard and home.
    pub(super) fn of(key: &LimitKey) -> Self {
        let [.., bits, _, _, _, _] = *key.as_bytes();
        Self((bits & !Self::NEW).max(1))
    }

    pub(super) fn is_free(self) -> bool {
        self == Self::FREE
    }

    fn is_new(self) -> bool {
        self.0 & Self::NEW != 0
    }

    /// Whether it may be that of a key with the tag `wanted`.
    pub(super) fn may_be(self, wanted: Self) -> bool {
        self.0 & !Self::NEW == wanted.0
    }

    /// Says whether the window is newer than what is stored.
    pub(super) fn set_new(&mut self, is_new: bool) {
        // Written only to change it: another core may use the tags beside it.
        if self.is_new() != is_new {
            self.0 ^= Self::NEW;
        }
    }
}

/// So many tags are skipped at once: as many as the widest registers hold.
const SKIPPED: usize = 32;

/// The first new window's place among these. Mostly none is new, so that many are skipped at once.
pub(super) fn next_new(tags: &[Tag]) -> Option<usize> {
    let groups = tags.chunks(SKIPPED);
    let has_new = |group: &&[Tag]| group.iter().fold(0, |bits, tag| bits | tag.0) & Tag::NEW != 0;
    let skipped = groups.take_while(|group| !has_new(group)).count() * SKIPPED;
    let ahead = tags.get(skipped..)?;
    Some(skipped + ahead.iter().position(|tag| tag.is_new())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_window_is_found_wherever_it_stands() {
        for len in 0..100 {
            let mut tags = vec![Tag(!Tag::NEW); len];
            assert_eq!(next_new(&tags), None, "of {len}");
            for place in (0..len).rev() {
                tags[place].set_new(true);
                assert_eq!(next_new(&tags), Some(place), "of {len}");
            }
        }
    }
}
