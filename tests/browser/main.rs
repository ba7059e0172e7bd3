//! The pages in a real browser, on the real program.
//!
//! `cargo test --test browser`; it needs chromium and chromedriver.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets the unexpected has failed"
)]
#![allow(unreachable_pub, reason = "nothing outside reaches a test")]

mod admin;
mod assistant;
mod browser;
mod consent;
mod embed;
mod forms;
mod handbook;
mod newsletter_form;
mod pages;
mod parts;
#[path = "../it/program.rs"]
#[allow(dead_code, reason = "the other tests do more with it")]
mod program;
mod script;
mod talk;
mod trouble;
#[path = "../it/openai/upstream.rs"]
#[allow(dead_code, reason = "the other tests do more with it")]
mod upstream;
mod webdriver;

use std::process::Command;
use std::sync::Arc;

use browser::{Browser, Driver};
use program::{Program, command};

/// A browser, and the service it visits.
#[derive(Clone)]
struct Visit {
    browser: Browser,
    service: Arc<Program>,
}

impl Visit {
    async fn goto(&self, path: &str) {
        let url = format!("http://{}{path}", self.service.address);
        self.browser.client.goto(&url).await.unwrap();
    }
}

/// Has `test` done with a service that was started with `flags`. Whatever becomes of it, the browser
/// is closed; what it complains of fails the test.
async fn visit<T>(flags: &[&str], test: impl FnOnce(Visit) -> T)
where
    T: Future<Output = ()> + Send + 'static,
{
    let data_dir = tempfile::tempdir().unwrap();
    visit_program(command(data_dir.path()).args(flags), test).await;
}

/// The same with a service that `command` starts.
async fn visit_program<T>(command: &mut Command, test: impl FnOnce(Visit) -> T)
where
    T: Future<Output = ()> + Send + 'static,
{
    let service = Program::start(command);
    let driver = Driver::start();
    let browser = driver.open().await;
    let visit = Visit {
        browser: browser.clone(),
        service: Arc::new(service),
    };
    let outcome = tokio::spawn(test(visit)).await;
    let complaints = browser.complaints().await;
    browser.client.close().await.unwrap();
    if let Err(error) = outcome {
        std::panic::resume_unwind(error.into_panic());
    }
    assert_eq!(complaints, Vec::<String>::new());
}

/// The same with a service that asks a model at this address.
async fn visit_with_model<T>(url: &str, test: impl FnOnce(Visit) -> T)
where
    T: Future<Output = ()> + Send + 'static,
{
    visit(&["--model-url", url, "--model", "m"], test).await;
}
