//! Inputs that were good once, mutated.

use crate::Run;

pub(crate) fn targets(run: Run) -> Result<String, String> {
    Ok(format!("{run:?}"))
}
