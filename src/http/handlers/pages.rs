//! The documents of the site.

use crate::http::problem::{Code, Problem};
use crate::http::reply::Reply;

use super::Call;

pub(super) fn document(call: &Call) -> Result<Reply, Problem> {
    call.context
        .documents
        .answer(call.uri.path(), &call.headers)
        .ok_or_else(|| Problem::of(Code::NotFound))
}
