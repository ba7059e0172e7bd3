//! Buckets that have changed and are not in sled yet.
//!
//! To write one costs sled more than all else that a sign-up takes on the ledger's thread. One that
//! changes again before its turn comes is written once, and those of a small site not before the
//! stop. Nothing is lost with them: no index is trusted that was not closed.

use std::ops::Bound;

use super::bucket::{Bucket, BucketId};
use super::overlay::Buckets;

/// What a bucket takes beside its entries, about, in bytes.
const BUCKET_BYTES: usize = 40;

/// Changed buckets, some of which are due when all take more than they may.
#[derive(Debug)]
pub(super) struct DirtyBuckets {
    buckets: Buckets,
    bytes: usize,
    bytes_max: usize,
    /// They are written in the order of their ids, round and round, so that each has as long to
    /// change again, and sled finds one near the one before.
    last_written: BucketId,
}

impl DirtyBuckets {
    /// None yet, and room for so many bytes.
    pub(super) fn new(bytes_max: usize) -> Self {
        Self {
            buckets: Buckets::new(),
            bytes: 0,
            bytes_max,
            last_written: [u8::MAX; 2],
        }
    }

    /// The bucket as it is now, if it is one of them.
    pub(super) fn get(&self, id: BucketId) -> Option<&Bucket> {
        self.buckets.get(&id)
    }

    pub(super) fn put(&mut self, buckets: Buckets) {
        for (id, mut bucket) in buckets {
            bucket.shrink();
            self.bytes += size(&bucket);
            if let Some(before) = self.buckets.insert(id, bucket) {
                self.bytes -= size(&before);
            }
        }
    }

    pub(super) fn all(&self) -> &Buckets {
        &self.buckets
    }

    /// Those that are due to be written.
    pub(super) fn due(&self) -> impl Iterator<Item = (BucketId, &Bucket)> {
        let behind = (Bound::Excluded(self.last_written), Bound::Unbounded);
        let round = self.buckets.range(behind);
        let round = round.chain(self.buckets.range(..=self.last_written));
        let mut excess = self.bytes.saturating_sub(self.bytes_max);
        let due = round.take_while(move |(_id, bucket)| {
            let is_due = excess > 0;
            excess = excess.saturating_sub(size(bucket));
            is_due
        });
        due.map(|(id, bucket)| (*id, bucket))
    }

    /// Takes note that these were written.
    pub(super) fn written(&mut self, ids: Vec<BucketId>) {
        for id in ids {
            if let Some(bucket) = self.buckets.remove(&id) {
                self.bytes -= size(&bucket);
            }
            self.last_written = id;
        }
    }
}

fn size(bucket: &Bucket) -> usize {
    BUCKET_BYTES + bucket.as_bytes().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(len: usize) -> Bucket {
        let mut bucket = Bucket::default();
        bucket.put(b"", &vec![0; len]);
        bucket
    }

    /// Room for three of the buckets.
    fn dirty() -> DirtyBuckets {
        DirtyBuckets::new(3 * size(&bucket(100)))
    }

    fn put(dirty: &mut DirtyBuckets, ids: &[u8]) {
        dirty.put(ids.iter().map(|&id| ([id; 2], bucket(100))).collect());
    }

    fn write_due(dirty: &mut DirtyBuckets) -> Vec<u8> {
        let due: Vec<_> = dirty.due().map(|(id, _)| id).collect();
        dirty.written(due.clone());
        due.iter().map(|[first, _]| *first).collect()
    }

    #[test]
    fn buckets_are_due_round_and_round_as_soon_as_there_is_no_room() {
        let mut dirty = dirty();
        let steps: [(&[u8], &[u8]); 6] = [
            (&[2, 4, 6], &[]),
            (&[4, 6], &[]),
            (&[8], &[2]),
            (&[0, 4], &[4]),
            (&[5, 7], &[5, 6]),
            (&[1, 9], &[7, 8]),
        ];
        for (ids, due) in steps {
            put(&mut dirty, ids);
            assert_eq!(write_due(&mut dirty), due, "{ids:?}");
        }
        // Beyond the end they begin anew.
        put(&mut dirty, &[3]);
        assert_eq!(write_due(&mut dirty), [9]);
        put(&mut dirty, &[10, 255]);
        assert_eq!(write_due(&mut dirty), [10, 255]);
        put(&mut dirty, &[254]);
        assert_eq!(write_due(&mut dirty), [0]);
        let left: Vec<_> = dirty.all().keys().map(|[first, _]| *first).collect();
        assert_eq!(left, [1, 3, 254]);
    }

    #[test]
    fn what_grows_and_shrinks_is_counted_as_it_is() {
        let mut dirty = dirty();
        for len in [100, 10, 200, 0] {
            dirty.put([([7; 2], bucket(len))].into());
            assert_eq!(dirty.bytes, size(&bucket(len)));
            assert_eq!(dirty.get([7; 2]), Some(&bucket(len)));
        }
        dirty.put([([8; 2], bucket(1000))].into());
        assert_eq!(write_due(&mut dirty), [7, 8]);
        assert_eq!(dirty.bytes, 0);
        assert_eq!(dirty.get([8; 2]), None);
    }
}
