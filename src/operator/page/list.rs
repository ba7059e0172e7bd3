//! A page of a long list, searched and sorted. It is found in one pass over the list, with no more than the
//! page in memory: the time grows with the list, whichever page it is, but the memory doesn't.
//!
//! A page begins after a row, whichever rows were added or removed in the meantime.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::domain::{DAY_MS, Timestamp};
use crate::operator::operation::{Lines, OperatorError, Params};

/// Rows of a page.
const ROWS: usize = 50;
/// Maximum time to read a list for one page.
const READING_MAX: Duration = Duration::from_secs(5);
/// Default number of days in which a row counts as new.
const NEW_DAYS: u32 = 30;

/// The fields of a list's rows that it can be searched and sorted by.
#[derive(Debug)]
pub(super) struct ListMembers {
    pub(super) operation: &'static str,
    /// Unique.
    pub(super) id: &'static str,
    /// Creation time, in RFC 3339. The default order is newest first.
    pub(super) made_at: &'static str,
    /// Text fields.
    pub(super) searched: &'static [&'static str],
}

/// Selection of rows.
#[derive(Debug)]
pub(super) struct Search {
    members: &'static ListMembers,
    /// Text to find in one of the searched fields, in lower case; empty selects all rows.
    needle: String,
    /// Maximum age of a row in days; `None` selects all.
    days: Option<u32>,
    /// Time since which a row counts as new, in RFC 3339.
    new_since: String,
    sorted_by: &'static str,
    is_ascending: bool,
    /// Key of the last row before the page; `None` for the first page.
    after: Option<String>,
}

impl Search {
    /// Selection by the parameters `q`, `days`, `sort` and `after`. The field to sort by begins
    /// with `-` for descending order.
    pub(super) fn new(params: &Params, members: &'static ListMembers, now: Timestamp) -> Self {
        let part = params.text("q").unwrap_or_default();
        let days = params.text("days").and_then(|days| days.parse().ok());
        let new_days = u64::from(days.unwrap_or(NEW_DAYS));
        let new_since = now.as_ms().saturating_sub(new_days * DAY_MS);
        let sort = params.text("sort").unwrap_or_default();
        let mut sorted = members.searched.iter().copied().chain([members.made_at]);
        let sorted_by = sorted.find(|member| *member == sort.trim_start_matches('-'));
        Self {
            members,
            needle: part.trim().to_lowercase(),
            days,
            new_since: Timestamp::from_ms(new_since).to_rfc3339(),
            sorted_by: sorted_by.unwrap_or(members.made_at),
            is_ascending: sorted_by.is_some() && !sort.starts_with('-'),
            after: params.text("after").map(str::to_owned),
        }
    }

    /// True if the row contains the search text.
    fn is_found(&self, row: &Value) -> bool {
        let mut texts = self.members.searched.iter().map(|name| text(row, name));
        self.needle.is_empty() || texts.any(|text| text.to_lowercase().contains(&self.needle))
    }

    /// Reads the page, for the template. Only its rows are kept in memory.
    ///
    /// # Errors
    /// When the list can't be read.
    pub(super) async fn pick(
        &self,
        mut list: Lines<OperatorError>,
    ) -> Result<Value, OperatorError> {
        let mut page = BTreeMap::new();
        let (mut total, mut new, mut found, mut skipped) = (0, 0, 0, 0);
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
                let key = [text(&row, self.sorted_by), text(&row, self.members.id)].join("\n");
                let is_before =
                    |after: &String| key == *after || (key > *after) != self.is_ascending;
                if self.after.as_ref().is_some_and(is_before) {
                    skipped += 1;
                    continue;
                }
                page.insert(key, row);
                if page.len() > ROWS {
                    let _farthest = if self.is_ascending {
                        page.pop_last()
                    } else {
                        page.pop_first()
                    };
                }
            }
            if began.elapsed() >= READING_MAX {
                cut_after = Some(total);
                break;
            }
        }
        let has_more = skipped + page.len() < found;
        let (keys, mut rows): (Vec<_>, Vec<_>) = page.into_iter().unzip();
        let mut last = keys.last();
        if !self.is_ascending {
            rows.reverse();
            last = keys.first();
        }
        let direction = if self.is_ascending { "" } else { "-" };
        // Of all rows, those in `found` are selected, the ones in `skipped` of them are on earlier pages, and those in
        // `new` are from the last `new_days` days.
        Ok(json!({
            "rows": rows,
            "after": last.filter(|_| has_more),
            "skipped": skipped,
            "found": found,
            "total": total,
            "new": new,
            "new_days": self.days.unwrap_or(NEW_DAYS),
            "sort": format!("{direction}{}", self.sorted_by),
            // The rows that were read until the time was up; null if it wasn't.
            "cut_after": cut_after,
        }))
    }
}

/// Text of a field; empty if it has none.
fn text<'a>(row: &'a Value, member: &str) -> &'a str {
    row.get(member).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use tokio_util::bytes::Bytes;

    use super::*;
    use crate::ports::StoreError;

    const NOW: Timestamp = Timestamp::from_ms(1_795_262_400_000);

    static MEMBERS: ListMembers = ListMembers {
        operation: "keys list",
        id: "n",
        made_at: "at",
        searched: &["n", "m"],
    };

    /// Rows created this many hours ago.
    fn lines(hours: impl IntoIterator<Item = u64>) -> Result<Bytes, OperatorError> {
        let lines = hours.into_iter().map(|hour| {
            let at = Timestamp::from_ms(NOW.as_ms() - hour * 3_600_000).to_rfc3339();
            format!("{{\"at\":\"{at}\",\"n\":\"n{hour:04}\"}}\n")
        });
        Ok(lines.collect::<String>().into())
    }

    fn search(query: &str) -> Search {
        Search::new(&Params::of_form(query), &MEMBERS, NOW)
    }

    #[derive(serde::Deserialize)]
    struct Picked {
        rows: Vec<Value>,
        skipped: usize,
        found: usize,
        total: usize,
        new: usize,
        new_days: u32,
        after: Option<String>,
    }

    async fn pick(query: &str, hours: &[u64]) -> Picked {
        let pages = hours.chunks(7).map(|page| lines(page.iter().copied()));
        let pages: Vec<_> = pages.collect();
        let picked = search(query).pick(stream::iter(pages).boxed()).await;
        serde_json::from_value(picked.unwrap()).unwrap()
    }

    fn numbers(picked: &Picked) -> Vec<u64> {
        let names = picked.rows.iter().map(|row| text(row, "n"));
        names.map(|name| name[1..].parse().unwrap()).collect()
    }

    fn counts(picked: &Picked) -> [usize; 3] {
        [picked.found, picked.total, picked.new]
    }

    /// The hours 0 to 120, in a useless order.
    fn mixed() -> Vec<u64> {
        (0..121).map(|hour| hour * 37 % 121).collect()
    }

    fn escaped(key: Option<&str>) -> String {
        url::form_urlencoded::byte_serialize(key.unwrap().as_bytes()).collect()
    }

    #[tokio::test]
    async fn each_row_is_on_one_page_in_each_order() {
        for (sort, is_ascending) in [
            ("", true),
            ("-at", true),
            ("at", false),
            ("n", true),
            ("-n", false),
            ("nonsense", true),
        ] {
            // Hours count backwards, and names like hours.
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
                assert_eq!(picked.after.is_some(), index < 2);
                if index < 2 {
                    begin = format!("&after={}", escaped(picked.after.as_deref()));
                }
            }
        }
    }

    #[tokio::test]
    async fn what_is_added_or_removed_meanwhile_moves_no_row_to_another_page() {
        let mut rows = mixed();
        rows.retain(|hour| *hour > 1);
        let after = escaped(pick("", &rows).await.after.as_deref());
        // The last row of the page is gone, and there are newer ones.
        let mut changed = mixed();
        changed.retain(|hour| *hour != 51);
        let second = pick(&format!("after={after}"), &changed).await;
        assert_eq!(numbers(&second), (52..102).collect::<Vec<_>>());
        assert_eq!((second.skipped, second.found), (51, 120));
        let beyond = pick("sort=n&after=z", &changed).await;
        assert!(beyond.rows.is_empty());
        assert_eq!((beyond.skipped, beyond.found), (120, 120));
    }

    #[tokio::test]
    async fn rows_are_found_by_a_part_and_by_when_they_were_made() {
        let found = pick("q=+N001+", &mixed()).await;
        assert_eq!(numbers(&found), (10..20).collect::<Vec<_>>());
        assert_eq!((counts(&found), found.new_days), ([10, 121, 121], 30));
        let today = pick("days=1", &mixed()).await;
        assert_eq!(numbers(&today), (0..25).collect::<Vec<_>>());
        assert_eq!((counts(&today), today.new_days), ([25, 121, 25], 1));
        let neither = pick("days=1&q=n0030", &mixed()).await;
        assert_eq!((neither.found, neither.new), (0, 25));
        let any = pick("days=x", &[24 * 31, 24 * 30, 1]).await;
        assert_eq!(counts(&any), [3, 3, 2]);
    }

    #[tokio::test(start_paused = true)]
    async fn reading_ends_after_a_while_and_says_so() {
        let slow = stream::unfold(0, |hour| async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Some((lines([hour; 3]), hour + 1))
        });
        let picked = search("q=x").pick(slow.boxed()).await.unwrap();
        let expected = (&json!(15), &json!([]));
        assert_eq!((&picked["cut_after"], &picked["rows"]), expected);
    }

    #[tokio::test]
    async fn a_failure_is_no_end() {
        let failing = stream::iter([lines([1]), Err(StoreError::Overloaded.into())]);
        let failed = search("").pick(failing.boxed()).await.unwrap_err();
        let expected = OperatorError::Store(StoreError::Overloaded);
        assert_eq!(failed.to_string(), expected.to_string());
    }
}
