//! Tables as texts: a row a line, its cells between bars.

/// The rows of `table`, with white space around cells left out.
pub(crate) fn rows<const CELLS: usize>(table: &str) -> impl Iterator<Item = [&str; CELLS]> {
    table.trim().lines().map(|row| {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let found = cells.len();
        let cells = cells.try_into();
        cells.unwrap_or_else(|_| panic!("{found} cells in place of {CELLS}: {row}"))
    })
}
