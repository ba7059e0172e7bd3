//! `/newsletter`: signing up by a plain HTML form.

use hyper::StatusCode;
use serde::Serialize;

use crate::http::context::RequestContext;
use crate::http::endpoint::Endpoint;
use crate::http::negotiate;
use crate::http::problem::Problem;
use crate::http::reply::Reply;
use crate::http::written_page::WrittenPage;

pub(crate) const SHOW: Endpoint = Endpoint {
    name: "newsletter.form",
    paths: &[PATH],
    is_page: true,
    ..Endpoint::get(|context, _body| Box::pin(async move { show(&context) }))
};

const PATH: &str = "/newsletter";

/// What the form page is filled in with.
#[derive(Debug, Default, Serialize)]
struct FormValues {
    email: String,
}

fn show(context: &RequestContext) -> Result<Reply, Problem> {
    let page = WrittenPage {
        status: StatusCode::OK,
        language: negotiate::language(&context.parts.uri, context.headers()),
        layout: "parts/newsletter.html",
        title: "newsletter-title",
        path: Some(PATH),
        values: FormValues::default(),
    };
    page.reply(&context.state.page_writer)
}
