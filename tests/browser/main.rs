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
mod pages;
mod parts;
#[path = "../it/program.rs"]
#[allow(dead_code, reason = "the other tests do more with it")]
mod program;
#[path = "../it/provider.rs"]
#[allow(dead_code, reason = "the other tests do more with it")]
mod provider;
mod script;
mod talk;
mod trouble;
#[path = "../it/openai/upstream.rs"]
#[allow(dead_code, reason = "the other tests do more with it")]
mod upstream;
mod webdriver;

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use browser::{Browser, Driver};
use program::{Program, command, private_dir};

/// A browser, and the service it visits. Both end with this value.
struct Visit {
    browser: Browser,
    service: Program,
    _driver: Driver,
    data_dir: TempDir,
}

impl Visit {
    /// Of the service that `command` starts on `data_dir`.
    async fn of(data_dir: TempDir, command: &mut Command) -> Self {
        let service = Program::start(command);
        let driver = Driver::start();
        Self {
            browser: driver.open().await,
            service,
            _driver: driver,
            data_dir,
        }
    }

    async fn goto(&self, path: &str) {
        let url = self.url() + path;
        self.browser.client.goto(&url).await;
    }

    /// The service's URL.
    fn url(&self) -> String {
        format!("http://{}", self.service.address)
    }

    fn data_dir(&self) -> &Path {
        self.data_dir.path()
    }

    /// Closes the browser, which must have no complaint.
    async fn end(self) {
        let complaints = self.browser.complaints().await;
        self.browser.client.close().await;
        assert_eq!(complaints, Vec::<String>::new());
    }
}

/// Starts a service with `flags`, and a browser.
async fn visit(flags: &[&str]) -> Visit {
    let data_dir = private_dir();
    let mut command = command(data_dir.path());
    Visit::of(data_dir, command.args(flags)).await
}

/// The same, where the browser goes to a page.
async fn visit_at(path: &str, flags: &[&str]) -> Visit {
    let visit = visit(flags).await;
    visit.goto(path).await;
    visit
}

/// The same with a service that asks a model at this address.
async fn visit_with_model(url: &str) -> Visit {
    visit(&["--model-url", url, "--model", "m"]).await
}
