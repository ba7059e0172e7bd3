//! A bucket: the identities whose hash begins alike, with the events that are kept of each. It is
//! text, a line an identity:
//!
//! ```text
//! IDENTITY <tab> FIRST EVENT [<tab> LAST EVENT] <newline>
//! ```
//!
//! Neither an identity nor an event's JSON contains a tab or a newline.

use crate::adapters::ledger::record::{Identity, Kept};

/// What is kept of `identity`.
pub(super) fn find<'a>(bucket: &'a [u8], identity: &Identity) -> Option<Kept<&'a [u8]>> {
    let lines = bucket.split(|byte| *byte == b'\n');
    let events = lines.filter_map(|line| events(line, identity)).next()?;
    let mut events = events.split(|byte| *byte == b'\t');
    Some(Kept {
        first: events.next()?,
        last: events.next(),
    })
}

/// The bucket with `kept` in place of what was kept of `identity`.
pub(super) fn replace(
    bucket: &[u8],
    identity: &Identity,
    kept: Option<&Kept<Box<[u8]>>>,
) -> Vec<u8> {
    let mut replaced = Vec::with_capacity(bucket.len() + 256);
    for line in bucket.split_inclusive(|byte| *byte == b'\n') {
        if events(line, identity).is_none() {
            replaced.extend_from_slice(line);
        }
    }
    if let Some(kept) = kept {
        replaced.extend_from_slice(identity.as_bytes());
        for event in [Some(&kept.first), kept.last.as_ref()]
            .into_iter()
            .flatten()
        {
            replaced.push(b'\t');
            replaced.extend_from_slice(event);
        }
        replaced.push(b'\n');
    }
    replaced
}

/// The events of the line, if it is about `identity`.
fn events<'a>(line: &'a [u8], identity: &Identity) -> Option<&'a [u8]> {
    line.strip_prefix(identity.as_bytes())?.strip_prefix(b"\t")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(first: &str, last: Option<&str>) -> Kept<Box<[u8]>> {
        Kept {
            first: first.as_bytes().into(),
            last: last.map(|last| last.as_bytes().into()),
        }
    }

    #[test]
    fn a_bucket_behaves_like_a_map() {
        let [ada, bob] = ["ada@example.com", "bob@example.com"].map(Identity::contact);
        let mut bucket = Vec::new();
        for (identity, kept) in [
            (&ada, Some(kept("1", None))),
            (&bob, Some(kept("2", Some("3")))),
            (&ada, Some(kept("1", Some("4")))),
            (&bob, Some(kept("5", None))),
            (&ada, None),
            (&ada, None),
            (&bob, None),
        ] {
            bucket = replace(&bucket, identity, kept.as_ref());
            let found = find(&bucket, identity);
            let expected = kept.as_ref().map(|kept| Kept {
                first: &*kept.first,
                last: kept.last.as_deref(),
            });
            assert_eq!(found, expected);
            // Part of a name is another name.
            assert_eq!(find(&bucket, &Identity::contact("ada@example.co")), None);
        }
        assert_eq!(bucket, b"");
    }
}
