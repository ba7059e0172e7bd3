//! A page of a long list, which is read no further than needed.

use std::time::Duration;

use futures_util::StreamExt as _;
use serde::Serialize;
use serde_json::Value;
use tokio::time::Instant;

use crate::operator::operation::{Lines, OperatorError, Params};

/// The rows of a page.
const ROWS: usize = 50;
/// How long a list is read for one page.
const READING_MAX: Duration = Duration::from_secs(5);

/// Which rows of a list are wanted.
#[derive(Debug)]
pub(super) struct Search<'a> {
    /// A part of what is in one of the `members`, in lower case; nothing wants all rows.
    needle: String,
    members: &'a [&'a str],
    /// The page, from 1 on.
    number: usize,
}

/// A page of what was wanted of a list, for the template.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Picked {
    number: usize,
    rows: Vec<Value>,
    /// How many were before them.
    skipped: usize,
    has_more: bool,
    /// How many had been read when the time was over; none if it was not.
    cut_after: Option<usize>,
}

impl<'a> Search<'a> {
    pub(super) fn new(params: &Params, members: &'a [&'a str]) -> Self {
        let part = params.text("q").unwrap_or_default();
        let number = params.text("page").and_then(|number| number.parse().ok());
        Self {
            needle: part.trim().to_lowercase(),
            members,
            number: number.unwrap_or(1).max(1),
        }
    }

    /// The row in `line`, if it is wanted.
    fn wanted(&self, line: &[u8]) -> Result<Option<Value>, OperatorError> {
        let row: Value = serde_json::from_slice(line).map_err(std::io::Error::from)?;
        let texts = self
            .members
            .iter()
            .filter_map(|name| row.get(name)?.as_str());
        let mut texts = texts.map(str::to_lowercase);
        let is_wanted = self.needle.is_empty() || texts.any(|text| text.contains(&self.needle));
        Ok(is_wanted.then_some(row))
    }

    /// Reads the page. Only its rows are kept.
    ///
    /// # Errors
    /// When the list cannot be read.
    pub(super) async fn pick(
        &self,
        mut list: Lines<OperatorError>,
    ) -> Result<Picked, OperatorError> {
        let mut picked = Picked {
            number: self.number,
            rows: Vec::new(),
            skipped: 0,
            has_more: false,
            cut_after: None,
        };
        let skip = (self.number - 1).saturating_mul(ROWS);
        let began = Instant::now();
        let mut read = 0;
        while let Some(lines) = list.next().await {
            for line in lines?.split_inclusive(|byte| *byte == b'\n') {
                read += 1;
                if self.needle.is_empty() && picked.skipped < skip {
                    picked.skipped += 1;
                    continue;
                }
                let Some(row) = self.wanted(line)? else {
                    continue;
                };
                if picked.skipped < skip {
                    picked.skipped += 1;
                } else if picked.rows.len() < ROWS {
                    picked.rows.push(row);
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
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures_util::stream;

    use super::*;
    use crate::ports::StoreError;

    fn lines(numbers: impl IntoIterator<Item = u32>) -> Result<Bytes, OperatorError> {
        let lines = numbers
            .into_iter()
            .map(|it| format!("{{\"n\":\"n{it}\"}}\n"));
        Ok(lines.collect::<String>().into())
    }

    fn search(query: &str) -> Search<'static> {
        Search::new(&Params::of_form(query), &["m", "n"])
    }

    fn numbers(picked: &Picked) -> Vec<u32> {
        let names = picked.rows.iter().map(|row| row["n"].as_str().unwrap());
        names.map(|name| name[1..].parse().unwrap()).collect()
    }

    #[tokio::test]
    async fn a_page_holds_fifty_and_says_whether_there_are_more() {
        let pages = || stream::iter([lines(0..70), lines([]), lines(70..101)]).boxed();
        for (number, rows, skipped, has_more) in [
            (1, 0..50, 0, true),
            (2, 50..100, 50, true),
            (3, 100..101, 100, false),
            (4, 0..0, 101, false),
            (usize::MAX, 0..0, 101, false),
        ] {
            let picked = search(&format!("page={number}"))
                .pick(pages())
                .await
                .unwrap();
            assert_eq!(numbers(&picked), rows.collect::<Vec<_>>(), "{number}");
            let rest = (picked.skipped, picked.has_more, picked.cut_after);
            assert_eq!(rest, (skipped, has_more, None), "{number}");
        }
        let found = search("q=+N1+").pick(pages()).await.unwrap();
        assert_eq!(
            numbers(&found),
            [vec![1], (10..20).collect(), vec![100]].concat()
        );
        let all = search("").pick(stream::iter([lines(0..50)]).boxed()).await;
        assert!(!all.unwrap().has_more);
    }

    #[tokio::test]
    async fn it_is_read_no_further_than_needed() {
        let endless = stream::iter(0..).map(|page: u32| {
            assert!(page <= 10, "it was read further");
            lines([page; 10])
        });
        let picked = search("page=2&q=n").pick(endless.boxed()).await.unwrap();
        let expected = [5, 6, 7, 8, 9].map(|it| [it; 10]).concat();
        assert_eq!(numbers(&picked), expected);
    }

    #[tokio::test(start_paused = true)]
    async fn reading_ends_after_a_while_and_says_so() {
        let slow = stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Some((lines([7; 3]), ()))
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
            assert_eq!(search(query).number, number, "{query}");
        }
    }
}
