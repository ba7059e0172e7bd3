//! A page of a long list, which is read no further than needed.

use std::time::Duration;

use futures_util::StreamExt as _;
use minijinja::context;
use minijinja::value::Value;
use tokio::time::Instant;

use crate::http::admin::request::Params;
use crate::ports::{PageStream, StoreError};

/// The rows of a page.
pub(super) const ROWS: usize = 50;
/// How long a list is read for one page.
const READING_MAX: Duration = Duration::from_secs(5);

/// A page of what was wanted of a list.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Picked<T> {
    pub(super) rows: Vec<T>,
    /// How many were before them.
    pub(super) skipped: usize,
    /// Whether there are more.
    pub(super) has_more: bool,
    /// How many had been read when the time was over; none if it was not.
    pub(super) cut_after: Option<usize>,
}

impl<T> Picked<T> {
    /// What the template of page `number` needs, each row as `row` shows it.
    pub(super) fn values(&self, number: usize, row: impl Fn(&T) -> Value) -> Value {
        context! {
            number,
            first => self.skipped + 1,
            rows => self.rows.iter().map(row).collect::<Vec<_>>(),
            has_more => self.has_more,
            cut_after => self.cut_after,
        }
    }
}

/// The number of the page that was asked for, from 1 on.
pub(super) fn page_number(params: &Params) -> usize {
    let number = params.get("page").and_then(|number| number.parse().ok());
    number.unwrap_or(1).max(1)
}

/// Reads page `number` of the entries that `is_wanted` selects. Only the rows of the page are kept.
///
/// # Errors
/// [`StoreError`] when the list cannot be read.
pub(super) async fn pick<T>(
    mut list: PageStream<T>,
    number: usize,
    mut is_wanted: impl FnMut(&T) -> bool,
) -> Result<Picked<T>, StoreError> {
    let mut picked = Picked {
        rows: Vec::new(),
        skipped: 0,
        has_more: false,
        cut_after: None,
    };
    let skip = (number - 1).saturating_mul(ROWS);
    let began = Instant::now();
    let mut read = 0;
    while let Some(entries) = list.next().await {
        for entry in entries? {
            read += 1;
            if !is_wanted(&entry) {
                continue;
            }
            if picked.skipped < skip {
                picked.skipped += 1;
            } else if picked.rows.len() < ROWS {
                picked.rows.push(entry);
            } else {
                picked.has_more = true;
                return Ok(picked);
            }
        }
        if began.elapsed() >= READING_MAX {
            picked.cut_after = Some(read);
            return Ok(picked);
        }
    }
    Ok(picked)
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    fn list(pages: Vec<Vec<u32>>) -> PageStream<u32> {
        Box::pin(stream::iter(pages.into_iter().map(Ok)))
    }

    #[tokio::test]
    async fn a_page_holds_fifty_and_says_whether_there_are_more() {
        let pages = || list(vec![(0..70).collect(), vec![], (70..101).collect()]);
        for (number, rows, skipped, has_more) in [
            (1, 0..50, 0, true),
            (2, 50..100, 50, true),
            (3, 100..101, 100, false),
            (4, 0..0, 101, false),
            (usize::MAX, 0..0, 101, false),
        ] {
            let picked = pick(pages(), number, |_| true).await.unwrap();
            let expected = Picked {
                rows: rows.collect(),
                skipped,
                has_more,
                cut_after: None,
            };
            assert_eq!(picked, expected, "{number}");
        }
        let even = pick(pages(), 1, |it| it % 2 == 0).await.unwrap();
        assert_eq!((even.rows[49], even.has_more), (98, true));
        let all = pick(list(vec![(0..50).collect()]), 1, |_| true).await;
        assert!(!all.unwrap().has_more);
    }

    #[tokio::test]
    async fn it_is_read_no_further_than_needed() {
        let mut asked = 0;
        let endless = stream::iter(0..).map(move |page: u32| Ok(vec![page; 10]));
        let picked = pick(Box::pin(endless), 2, |_| {
            asked += 1;
            true
        });
        assert_eq!(
            picked.await.unwrap().rows,
            [5, 6, 7, 8, 9].map(|it| [it; 10]).concat()
        );
        assert_eq!(asked, 101);
    }

    #[tokio::test(start_paused = true)]
    async fn reading_ends_after_a_while_and_says_so() {
        let slow = stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Some((Ok(vec![7; 3]), ()))
        });
        let picked = pick(Box::pin(slow), 1, |_| false).await.unwrap();
        assert_eq!(picked.cut_after, Some(15));
        assert_eq!(picked.rows, [0; 0]);
    }

    #[tokio::test]
    async fn a_failure_is_no_end() {
        let failing = stream::iter([Ok(vec![1]), Err(StoreError::Overloaded)]);
        let picked = pick(Box::pin(failing), 1, |_| true).await;
        assert_eq!(picked, Err(StoreError::Overloaded));
    }

    #[test]
    fn pages_are_numbered_from_one() {
        for (query, number) in [
            ("", 1),
            ("page=", 1),
            ("page=0", 1),
            ("page=-1", 1),
            ("page=x", 1),
            ("page=3", 3),
            ("page=99999999999999999999", 1),
        ] {
            assert_eq!(page_number(&Params::parse(query)), number, "{query}");
        }
    }
}
