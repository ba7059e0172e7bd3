//! A page of a long list, searched and sorted. It is found in one pass over the list that keeps no more than
//! the page: the time grows with the list, whichever page it is, and the memory does not.
//!
//! A page begins behind a row or ends before one, whichever rows were added or removed meanwhile.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::StreamExt as _;
use serde::Serialize;
use serde_json::Value;
use tokio::time::Instant;

use crate::domain::{DAY_MS, Timestamp};
use crate::operator::operation::{Lines, OperatorError, Params};

/// The rows of a page.
const ROWS: usize = 50;
/// How long a list is read for one page.
const READING_MAX: Duration = Duration::from_secs(5);
/// The days in which a row counts as new, unless others are asked for.
const NEW_DAYS: u32 = 30;

/// What a list can be searched and sorted by: members of its rows.
#[derive(Debug)]
pub(super) struct ListMembers {
    /// Unlike in all rows.
    pub(super) id: &'static str,
    /// When a row was made, in RFC 3339. The newest rows come first unless another order is asked for.
    pub(super) made_at: &'static str,
    /// Texts.
    pub(super) searched: &'static [&'static str],
}

/// Which rows of a list are wanted.
#[derive(Debug)]
pub(super) struct Search {
    members: &'static ListMembers,
    /// A part of what is in one of the searched members, in lower case; nothing wants all rows.
    needle: String,
    /// The days in which wanted rows were made; any if there are none.
    days: Option<u32>,
    /// Since when a row counts as new, in RFC 3339.
    new_since: String,
    sorted_by: &'static str,
    is_ascending: bool,
    begin: Begin,
}

/// Where a page is, by the key of a row that is not on it.
#[derive(Debug, PartialEq, Eq)]
enum Begin {
    First,
    After(String),
    Before(String),
}

/// A page of what was wanted of a list, for the template.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Picked {
    rows: Vec<Value>,
    /// How many of the wanted rows were before them.
    skipped: usize,
    /// How many were wanted.
    found: usize,
    /// How many there are.
    total: usize,
    /// How many of them are new, made in the last `new_days` days.
    new: usize,
    new_days: u32,
    /// As the parameter has it.
    sort: String,
    /// The parameters of the pages before and behind, if there are some.
    before: Option<String>,
    after: Option<String>,
    /// How many had been read when the time was over; none if it was not.
    cut_after: Option<usize>,
}

impl Search {
    /// What the parameters `q`, `days`, `sort`, `after` and `before` want. A member to sort by begins with `-` if
    /// the greatest come first.
    pub(super) fn new(params: &Params, members: &'static ListMembers, now: Timestamp) -> Self {
        let part = params.text("q").unwrap_or_default();
        let days = params.text("days").and_then(|days| days.parse().ok());
        let new_days = u64::from(days.unwrap_or(NEW_DAYS));
        let new_since = now.as_ms().saturating_sub(new_days * DAY_MS);
        let sort = params.text("sort").unwrap_or_default();
        let mut sorted = members.searched.iter().copied().chain([members.made_at]);
        let sorted_by = sorted.find(|it| *it == sort.trim_start_matches('-'));
        let key = |name| params.text(name).map(str::to_owned);
        let before = key("before").map(Begin::Before);
        Self {
            members,
            needle: part.trim().to_lowercase(),
            days,
            new_since: Timestamp::from_ms(new_since).to_rfc3339(),
            sorted_by: sorted_by.unwrap_or(members.made_at),
            is_ascending: sorted_by.is_some() && !sort.starts_with('-'),
            begin: key("after")
                .map(Begin::After)
                .or(before)
                .unwrap_or(Begin::First),
        }
    }

    /// Whether the row has the part that is looked for.
    fn is_found(&self, row: &Value) -> bool {
        let mut texts = self.members.searched.iter().map(|name| text(row, name));
        self.needle.is_empty() || texts.any(|text| text.to_lowercase().contains(&self.needle))
    }

    /// What the row is sorted by.
    fn key(&self, row: &Value) -> String {
        [text(row, self.sorted_by), text(row, self.members.id)].join("\n")
    }

    /// Whether the row may be on the page, and not on one before or behind it.
    fn is_beyond_begin(&self, key: &str) -> bool {
        match &self.begin {
            Begin::First => true,
            Begin::After(other) if self.is_ascending => key > other.as_str(),
            Begin::After(other) => key < other.as_str(),
            Begin::Before(other) if self.is_ascending => key < other.as_str(),
            Begin::Before(other) => key > other.as_str(),
        }
    }

    /// Reads the page. Only its rows are kept.
    ///
    /// # Errors
    /// When the list cannot be read.
    pub(super) async fn pick(
        &self,
        mut list: Lines<OperatorError>,
    ) -> Result<Picked, OperatorError> {
        let is_before = matches!(self.begin, Begin::Before(_));
        let mut page = BTreeMap::new();
        let (mut total, mut new, mut found, mut beyond) = (0, 0, 0, 0);
        let mut cut_after = None;
        let began = Instant::now();
        while let Some(lines) = list.next().await {
            for line in lines?.split_inclusive(|byte| *byte == b'\n') {
                let row: Value = serde_json::from_slice(line).map_err(std::io::Error::from)?;
                let is_new = text(&row, self.members.made_at) >= self.new_since.as_str();
                total += 1;
                new += usize::from(is_new);
                if (self.days.is_some() && !is_new) || !self.is_found(&row) {
                    continue;
                }
                found += 1;
                let key = self.key(&row);
                if !self.is_beyond_begin(&key) {
                    continue;
                }
                beyond += 1;
                page.insert(key, row);
                if page.len() > ROWS && self.is_ascending == is_before {
                    page.pop_first();
                } else if page.len() > ROWS {
                    page.pop_last();
                }
            }
            if began.elapsed() >= READING_MAX {
                cut_after = Some(total);
                break;
            }
        }
        let skipped = if is_before {
            beyond - page.len()
        } else {
            found - beyond
        };
        let has_more = skipped + page.len() < found;
        let (keys, mut rows): (Vec<_>, Vec<_>) = page.into_iter().unzip();
        let (mut first, mut last) = (keys.first(), keys.last());
        if !self.is_ascending {
            rows.reverse();
            std::mem::swap(&mut first, &mut last);
        }
        Ok(Picked {
            before: first.filter(|_| skipped > 0).cloned(),
            after: last.filter(|_| has_more).cloned(),
            rows,
            skipped,
            found,
            total,
            new,
            new_days: self.days.unwrap_or(NEW_DAYS),
            sort: self.sort(),
            cut_after,
        })
    }

    fn sort(&self) -> String {
        let sign = if self.is_ascending { "" } else { "-" };
        format!("{sign}{}", self.sorted_by)
    }
}

/// The text of a member; none if there is no such text.
fn text<'a>(row: &'a Value, member: &str) -> &'a str {
    row.get(member).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures_util::stream;

    use super::*;
    use crate::ports::StoreError;

    const NOW: Timestamp = Timestamp::from_ms(1_795_262_400_000);

    static MEMBERS: ListMembers = ListMembers {
        id: "n",
        made_at: "at",
        searched: &["n", "m"],
    };

    /// Rows made so many hours before.
    fn lines(hours: impl IntoIterator<Item = u64>) -> Result<Bytes, OperatorError> {
        let lines = hours.into_iter().map(|it| {
            let at = Timestamp::from_ms(NOW.as_ms() - it * 3_600_000).to_rfc3339();
            format!("{{\"at\":\"{at}\",\"n\":\"n{it:04}\"}}\n")
        });
        Ok(lines.collect::<String>().into())
    }

    fn search(query: &str) -> Search {
        Search::new(&Params::of_form(query), &MEMBERS, NOW)
    }

    async fn pick(query: &str, hours: &[u64]) -> Picked {
        let pages = hours.chunks(7).map(|it| lines(it.iter().copied()));
        let pages: Vec<_> = pages.collect();
        search(query)
            .pick(stream::iter(pages).boxed())
            .await
            .unwrap()
    }

    fn numbers(picked: &Picked) -> Vec<u64> {
        let names = picked.rows.iter().map(|row| text(row, "n"));
        names.map(|name| name[1..].parse().unwrap()).collect()
    }

    /// The hours 0 to 120, in an order of no use.
    fn mixed() -> Vec<u64> {
        (0..121).map(|it| it * 37 % 121).collect()
    }

    fn escaped(key: Option<&str>) -> String {
        url::form_urlencoded::byte_serialize(key.unwrap().as_bytes()).collect()
    }

    #[tokio::test]
    async fn each_row_is_on_one_page_in_each_order_forwards_and_back() {
        for (sort, is_ascending) in [
            ("", true),
            ("-at", true),
            ("at", false),
            ("n", true),
            ("-n", false),
            ("nonsense", true),
        ] {
            // Hours count backwards, and names as hours do.
            let mut expected: Vec<u64> = (0..121).collect();
            if !is_ascending {
                expected.reverse();
            }
            let pages = [&expected[..50], &expected[50..100], &expected[100..]];
            let mut begin = String::new();
            for (index, page) in pages.iter().enumerate() {
                let picked = pick(&format!("sort={sort}{begin}"), &mixed()).await;
                assert_eq!(numbers(&picked), *page, "{sort} {index}");
                assert_eq!((picked.skipped, picked.found), (index * 50, 121));
                assert_eq!(picked.before.is_some(), index > 0);
                assert_eq!(picked.after.is_some(), index < 2);
                if index > 0 {
                    let back = escaped(picked.before.as_deref());
                    let back = pick(&format!("sort={sort}&before={back}"), &mixed()).await;
                    assert_eq!(numbers(&back), pages[index - 1], "{sort} {index}");
                    assert_eq!(back.skipped, (index - 1) * 50);
                }
                if index < 2 {
                    begin = format!("&after={}", escaped(picked.after.as_deref()));
                }
            }
        }
    }

    #[tokio::test]
    async fn what_is_added_or_removed_meanwhile_moves_no_row_to_another_page() {
        let first = pick("", &mixed()).await;
        let after = escaped(first.after.as_deref());
        // The last row of the page is gone, and there are newer ones.
        let mut changed: Vec<_> = mixed()
            .into_iter()
            .filter(|it| *it != 49 && *it > 1)
            .collect();
        changed.extend([0, 1]);
        let second = pick(&format!("after={after}"), &changed).await;
        assert_eq!(numbers(&second), (50..100).collect::<Vec<_>>());
        assert_eq!((second.skipped, second.found), (49, 120));
        let beyond = pick("sort=n&after=z", &changed).await;
        assert_eq!(
            (beyond.rows.len(), beyond.skipped, beyond.found),
            (0, 120, 120)
        );
    }

    #[tokio::test]
    async fn rows_are_found_by_a_part_and_by_when_they_were_made() {
        let found = pick("q=+N001+", &mixed()).await;
        assert_eq!(numbers(&found), (10..20).collect::<Vec<_>>());
        assert_eq!(
            (found.found, found.total, found.new, found.new_days),
            (10, 121, 121, 30)
        );
        let today = pick("days=1", &mixed()).await;
        assert_eq!(numbers(&today), (0..25).collect::<Vec<_>>());
        assert_eq!(
            (today.found, today.total, today.new, today.new_days),
            (25, 121, 25, 1)
        );
        let neither = pick("days=1&q=n0030", &mixed()).await;
        assert_eq!((neither.found, neither.new), (0, 25));
        let any = pick("days=x", &[24 * 31, 24 * 30, 1]).await;
        assert_eq!((any.found, any.total, any.new), (3, 3, 2));
    }

    #[tokio::test(start_paused = true)]
    async fn reading_ends_after_a_while_and_says_so() {
        let slow = stream::unfold(0, |hour| async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Some((lines([hour; 3]), hour + 1))
        });
        let picked = search("q=x").pick(slow.boxed()).await.unwrap();
        assert_eq!((picked.cut_after, picked.rows.len()), (Some(15), 0));
    }

    #[tokio::test]
    async fn a_failure_is_no_end() {
        let failing = stream::iter([lines([1]), Err(StoreError::Overloaded.into())]);
        let picked = search("").pick(failing.boxed()).await;
        assert!(matches!(
            picked,
            Err(OperatorError::Store(StoreError::Overloaded))
        ));
    }
}
