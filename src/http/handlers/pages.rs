//! `GET` of a document of the site.

use crate::http::endpoint::Handled::Now;
use crate::http::{Code, Endpoint, Problem, Reply, RequestContext};

/// Every document. The site has their paths.
pub(crate) const DOCUMENT: Endpoint = Endpoint {
    name: "document",
    is_document: true,
    ..Endpoint::get(|context, _body| Now(document(context)))
};

fn document(context: &RequestContext) -> Result<Reply, Problem> {
    let answer = context
        .state()
        .documents
        .answer(&context.parts, context.language());
    answer.ok_or_else(|| Problem::of(Code::NotFound))
}
