//! The documents of the site.

use hyper::HeaderMap;

use crate::http::problem::{Code, Problem};
use crate::http::reply::Reply;

use super::Context;

pub(super) fn document(
    context: &Context,
    path: &str,
    headers: &HeaderMap,
) -> Result<Reply, Problem> {
    context
        .documents
        .answer(path, headers)
        .ok_or_else(|| Problem::of(Code::NotFound))
}
