//! A browser of its own for each test, driven over WebDriver.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::parts::{EMAIL, ENTER, QUESTION, SEND, SIGN_UP_STATUS};
use crate::webdriver::{Client, Element};

/// Headless, and without a word to anybody outside.
const ARGUMENTS: &str = include_str!("../../.ci/chromium-flags");

/// The process that WebDriver's commands are sent to, and the browser's profile.
pub(crate) struct Driver {
    process: Child,
    url: String,
    profile: TempDir,
}

impl Driver {
    /// Tries again if it ends without having named its port, as it does now and then while many are
    /// started beside it.
    pub(crate) fn start() -> Self {
        const TRIES: u32 = 5;
        let mut said = String::new();
        for _ in 0..TRIES {
            match Self::try_start() {
                Ok(driver) => return driver,
                Err(words) => said = words,
            }
        }
        panic!("chromedriver did not start {TRIES} times: {said}");
    }

    /// # Errors
    /// What it said, if it ended without a port.
    fn try_start() -> Result<Self, String> {
        let mut process = Command::new("chromedriver")
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the browser test needs chromedriver");
        let mut said = String::new();
        for line in BufReader::new(process.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            if let Some((_, port)) = line.split_once("successfully on port ") {
                let port = port.trim_end_matches('.');
                return Ok(Self {
                    process,
                    url: format!("http://127.0.0.1:{port}"),
                    profile: tempfile::tempdir().unwrap(),
                });
            }
            said.push_str(&line);
            said.push('\n');
        }
        let _ = process.wait();
        Err(said)
    }

    pub(crate) async fn open(&self) -> Browser {
        let profile = format!("--user-data-dir={}", self.profile.path().display());
        let mut arguments: Vec<_> = ARGUMENTS.lines().collect();
        arguments.extend(["--window-size=1280,900", &profile]);
        let capabilities = json!({
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL" },
        });
        let client = Client::open(&self.url, capabilities).await;
        Browser { client }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Functions that every script of a test may use. A selector such as `landing-chat >>> .answer` finds
/// what is in the shadow tree of an element.
const FINDERS: &str = "
    const treesOf = (selector) => {
        const [inner, host] = selector.split(' >>> ').reverse();
        if (!host) return [[document], inner];
        const hosts = [...document.querySelectorAll(host)].filter((one) => one.shadowRoot);
        return [hosts.map((one) => one.shadowRoot), inner];
    };
    const all = (selector) => {
        const [trees, inner] = treesOf(selector);
        return trees.flatMap((tree) => [...tree.querySelectorAll(inner)]);
    };
    const find = (selector) => all(selector)[0] ?? null;
    const focused = () => document.activeElement?.shadowRoot?.activeElement ?? document.activeElement;
";

/// One window.
pub(crate) struct Browser {
    pub(crate) client: Client,
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Fails if it was closed.
        let _ = kill_process(self.client.process.unwrap(), Signal::KILL);
    }
}

impl Browser {
    /// Sends a command of the DevTools protocol.
    pub(crate) async fn devtools(&self, command: &str, parameters: Value) {
        let body = json!({ "cmd": command, "params": parameters });
        self.client.post("/goog/cdp/execute", body).await;
    }

    /// A window of this size, in CSS pixels.
    pub(crate) async fn resize(&self, width: u32, height: u32) {
        let metrics = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600,
        });
        self.devtools("Emulation.setDeviceMetricsOverride", metrics)
            .await;
    }

    /// From now on pages are as without scripts.
    pub(crate) async fn stop_scripts(&self) {
        let parameters = json!({ "value": true });
        self.devtools("Emulation.setScriptExecutionDisabled", parameters)
            .await;
    }

    /// Has pages be `light` or `dark`.
    pub(crate) async fn set_scheme(&self, scheme: &str) {
        let feature = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.devtools("Emulation.setEmulatedMedia", feature).await;
    }

    pub(crate) async fn set_online(&self, is_online: bool) {
        let conditions = json!({
            "offline": !is_online, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1,
        });
        self.devtools("Network.enable", json!({})).await;
        self.devtools("Network.emulateNetworkConditions", conditions)
            .await;
    }

    /// Lets pages read the clipboard, as a person does who pastes.
    pub(crate) async fn clipboard(&self) -> String {
        let permissions =
            json!({ "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"] });
        self.devtools("Browser.grantPermissions", permissions).await;
        let script = "const done = arguments[0];
             navigator.clipboard.readText().then(done, (error) => done(String(error)))";
        let text = self.client.execute_async(script).await.unwrap();
        text.as_str().unwrap().to_owned()
    }

    /// Has `answer`, an expression of the page's language, take the place of what the service would
    /// say to a request: something may stand between the two.
    pub(crate) async fn intercept(&self, answer: &str) {
        self.run(&format!("window.fetch = async (path, options) => {answer}"))
            .await;
    }

    /// The same with a stream of events: each piece of text that is given to `feed` is sent.
    pub(crate) async fn intercept_with_events(&self) {
        self.intercept(
            "{
                const stream = new ReadableStream({ start: (controller) => {
                    window.feed = (text) => controller.enqueue(new TextEncoder().encode(text));
                    window.end = () => controller.close();
                    options.signal.addEventListener('abort', () => controller.error());
                } });
                return new Response(stream, { headers: { 'Content-Type': 'text/event-stream' } });
            }",
        )
        .await;
    }

    /// What went wrong in the page since it was asked last, but for answers that are errors: policies
    /// that were broken, scripts that failed. The browser's own start page is not the service's, and its scripts fail
    /// if scripts are turned off while it loads.
    pub(crate) async fn complaints(&self) -> Vec<String> {
        let body = json!({ "type": "browser" });
        let log = self.client.post("/se/log", body).await;
        let entries = log.as_array().unwrap().iter();
        let is_browsers = |entry: &Value| {
            let message = entry["message"].as_str().unwrap_or_default();
            message.starts_with("chrome://")
        };
        entries
            .filter(|entry| entry["source"] != "network" && !is_browsers(entry))
            .map(Value::to_string)
            .collect()
    }

    pub(crate) async fn run(&self, script: &str) -> Value {
        let script = format!("{FINDERS} {script}");
        self.client.execute(&script).await
    }

    /// Waits until `condition`, an expression of the page's language, is true.
    pub(crate) async fn until(&self, condition: &str) {
        let script = format!(
            "{FINDERS} const done = arguments[0];
             const look = () => {{ if ({condition}) done(); else setTimeout(look, 20); }};
             look();"
        );
        // A script may get no answer if the page was being left when it began: the next page is asked.
        for is_last in [false, true] {
            match self.client.execute_async(&script).await {
                Ok(_) => return,
                Err(_) if !is_last => {}
                Err(error) => {
                    let forms = "return [...document.forms, ...all('* >>> form')]
                        .map((form) => form.parentElement.innerText)";
                    let forms = self.run(forms).await;
                    panic!("{condition}: {error}\n{forms:#}");
                }
            }
        }
    }

    /// Waits until the text of the first element that `selector` finds has `part` in it.
    pub(crate) async fn until_text(&self, selector: &str, part: &str) {
        let (selector, part) = (json!(selector), json!(part));
        let text = format!("find({selector})?.textContent");
        self.until(&format!("{text}?.includes({part})")).await;
    }

    /// Waits for it, for a page may still be loading or an element not yet be defined.
    pub(crate) async fn find(&self, selector: &str) -> Element {
        if !selector.contains(">>>") {
            return self.client.find(selector).await;
        }
        let found = format!("find({})", json!(selector));
        self.until(&found).await;
        self.element(&found).await.expect("it was there")
    }

    /// The element that `expression` gives, if it gives one.
    async fn element(&self, expression: &str) -> Option<Element> {
        let found = self.run(&format!("return {expression}")).await;
        self.client.element(&found)
    }

    /// The text that is seen of the first element that `selector` finds.
    pub(crate) async fn text(&self, selector: &str) -> String {
        self.find(selector).await.text().await
    }

    pub(crate) async fn is_seen(&self, selector: &str) -> bool {
        self.find(selector).await.is_displayed().await
    }

    pub(crate) async fn click(&self, selector: &str) {
        self.find(selector).await.click().await;
    }

    /// Types into a field, in place of what is there.
    pub(crate) async fn fill(&self, selector: &str, text: &str) {
        let field = self.find(selector).await;
        field.clear().await;
        field.send_keys(text).await;
    }

    /// Signs `email` up, and waits until `said` is the answer.
    pub(crate) async fn sign_up(&self, email: &str, said: &str) {
        self.fill(EMAIL, email).await;
        self.press(ENTER).await;
        self.until_text(SIGN_UP_STATUS, said).await;
    }

    /// Asks the assistant.
    pub(crate) async fn ask(&self, question: &str) {
        self.fill(QUESTION, question).await;
        self.click(SEND).await;
    }

    /// Types where the focus is.
    pub(crate) async fn press(&self, keys: &str) {
        let focused = self
            .element("focused()")
            .await
            .expect("nothing has the focus");
        focused.send_keys(keys).await;
    }
}
