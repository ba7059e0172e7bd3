//! Documents, made once at start, and the pages of problems, made when they are asked for.

use hyper::body::Bytes;

use crate::http::problem::{Code, Problem, page_markdown};
use crate::http::reply::Reply;

use super::Call;

const HTML: &str = "text/html; charset=utf-8";

pub(super) fn document(call: &Call) -> Result<Reply, Problem> {
    match call.site.document(&call.path) {
        Some(document) => Ok(Reply::document(document.media_type, document.body.clone())),
        None => Err(Problem::of(Code::NotFound)),
    }
}

/// The page that a problem's `type` leads to.
pub(super) fn problem(call: &Call, code: Code) -> Reply {
    let page = call.site.page(code.kind().title, &page_markdown(code));
    Reply::document(HTML, Bytes::from(page))
}
