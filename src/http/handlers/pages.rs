//! The documents of the site.

use crate::http::context::RequestContext;
use crate::http::problem::{Code, Problem};
use crate::http::reply::Reply;

pub(super) fn document(context: &RequestContext) -> Result<Reply, Problem> {
    context
        .state
        .documents
        .answer(context.path(), context.headers())
        .ok_or_else(|| Problem::of(Code::NotFound))
}
