//! The names in an archive, beside those of the ledger and the secret.

pub(super) const COUNTS: &str = "counts";
pub(super) const SUMS: &str = "SHA256SUMS";
/// A month's counts are a tenth of this.
pub(super) const COUNTS_BYTES_MAX: u64 = 1024 * 1024;

/// Whether `name` is that of a month's counts.
pub(super) fn is_month(name: &str) -> bool {
    let month = name.strip_suffix(".jsonl").unwrap_or_default();
    let is_digit = |at: usize, byte: u8| byte.is_ascii_digit() || (at == 4 && byte == b'-');
    month.len() == "2026-11".len() && month.bytes().enumerate().all(|(at, it)| is_digit(at, it))
}
