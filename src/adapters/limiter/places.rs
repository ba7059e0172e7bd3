//! Places for a shard's windows, each with a byte that tells what stands in it.
//!
//! A few have their bytes beside the shard's lock, so that to find and change a window takes two
//! lines of the cache: that of the lock and that of the window. More places come in pages of one
//! size, any number of them: a page that one shard gives back fits the next. A shard that has just
//! become too large for a few takes up to twice the room that it needs.

use super::tag::Tag;
use super::windows::{Entry, Tagged};

pub(super) enum Places {
    Few {
        /// All free while there is no room.
        tags: [Tag; FEW],
        room: Option<Box<[Option<Entry>; FEW]>>,
    },
    Many {
        /// One for each place of the pages.
        tags: Vec<Tag>,
        pages: Vec<Page>,
    },
}

/// So many are few.
pub(super) const FEW: usize = 16;

pub(super) const PAGE_PLACES: usize = 32;

type Page = Box<[Option<Entry>; PAGE_PLACES]>;

impl Default for Places {
    fn default() -> Self {
        Self::Few {
            tags: [Tag::FREE; FEW],
            room: None,
        }
    }
}

impl Places {
    /// How many there are.
    pub(super) fn count(&self) -> usize {
        match self {
            Self::Few { room: None, .. } => 0,
            Self::Few { .. } | Self::Many { .. } => self.tags().len(),
        }
    }

    pub(super) fn tags(&self) -> &[Tag] {
        match self {
            Self::Few { tags, .. } => tags,
            Self::Many { tags, .. } => tags,
        }
    }

    pub(super) fn entry(&self, position: usize) -> Option<&Entry> {
        match self {
            Self::Few { room, .. } => room.as_ref()?.get(position)?.as_ref(),
            Self::Many { pages, .. } => {
                let page = pages.get(position / PAGE_PLACES)?;
                page.get(position % PAGE_PLACES)?.as_ref()
            }
        }
    }

    /// A place and its tag.
    #[allow(
        clippy::expect_used,
        reason = "callers know that there is such a place"
    )]
    pub(super) fn place_mut(&mut self, position: usize) -> (&mut Tag, &mut Option<Entry>) {
        let found = match self {
            Self::Few { tags, room } => {
                let place = room.as_mut().and_then(|room| room.get_mut(position));
                tags.get_mut(position).zip(place)
            }
            Self::Many { tags, pages } => {
                let page = pages.get_mut(position / PAGE_PLACES);
                let place = page.and_then(|page| page.get_mut(position % PAGE_PLACES));
                tags.get_mut(position).zip(place)
            }
        };
        found.expect("callers know that there is such a place")
    }

    /// The entries with their tags, in the order of their places.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = Tagged<'_>> {
        let (tags, room, pages) = match self {
            Self::Few { tags, room } => (tags.as_mut_slice(), room.as_mut(), [].as_mut_slice()),
            Self::Many { tags, pages } => (tags.as_mut_slice(), None, pages.as_mut_slice()),
        };
        let room = room.into_iter().flat_map(|room| room.iter_mut());
        let places = room.chain(pages.iter_mut().flat_map(|page| page.iter_mut()));
        let places = tags.iter_mut().zip(places);
        places.filter_map(|(tag, entry)| entry.as_mut().map(|entry| Tagged { entry, tag }))
    }

    /// Takes everything out, which is at most `len` entries, and leaves `count` free places or more.
    pub(super) fn clear(&mut self, len: usize, count: usize) -> Vec<(Tag, Entry)> {
        let mut taken = Vec::with_capacity(len);
        taken.extend((0..self.count()).filter_map(|position| {
            let (tag, place) = self.place_mut(position);
            place.take().map(|entry| (*tag, entry))
        }));
        *self = match std::mem::take(self) {
            _ if count <= FEW => Self::Few {
                tags: [Tag::FREE; FEW],
                room: Some(Box::new([const { None }; FEW])),
            },
            Self::Few { .. } => Self::many(Vec::new(), count),
            Self::Many { pages, .. } => Self::many(pages, count),
        };
        taken
    }

    /// Adds free places behind all others. Where anything stands does not change.
    pub(super) fn extend(&mut self) {
        let tags = self.tags().to_vec();
        *self = match std::mem::take(self) {
            Self::Few { room, .. } => {
                let mut page = empty_page();
                let taken = room.into_iter().flat_map(|room| *room);
                for (place, entry) in page.iter_mut().zip(taken) {
                    *place = entry;
                }
                Self::many(vec![page], PAGE_PLACES)
            }
            Self::Many { pages, .. } => Self::many(pages, tags.len() + PAGE_PLACES),
        };
        if let Self::Many { tags: all, .. } = self {
            all.splice(..tags.len(), tags);
        }
    }

    /// Pages with free tags only: whatever stands there is not to be found.
    fn many(mut pages: Vec<Page>, count: usize) -> Self {
        pages.resize_with(count.div_ceil(PAGE_PLACES), empty_page);
        let tags = vec![Tag::FREE; pages.len() * PAGE_PLACES];
        Self::Many { tags, pages }
    }

    /// Whether they take no memory of their own.
    #[cfg(test)]
    pub(super) fn is_nothing(&self) -> bool {
        matches!(self, Self::Few { room: None, .. })
    }
}

fn empty_page() -> Page {
    Box::new([const { None }; PAGE_PLACES])
}
