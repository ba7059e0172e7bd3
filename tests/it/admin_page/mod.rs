//! The admin page: in process with a clock that stands still, and in the real program.

mod access;
mod blocks;
mod connections;
mod lists;
mod overview;
mod policies;
mod program;
mod queue;

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::{HeaderMap, Request};
use landing_api::operator::page::AdminPage;
use landing_api::operator::sessions::Sessions;

use crate::prelude::*;

/// The pages that a session shows, with what they are called in the menu.
const MENU: [(&str, &str); 8] = [
    ("/", "Overview"),
    ("/contacts", "Contacts"),
    ("/keys", "Keys"),
    ("/policies", "Limits"),
    ("/agents", "Agents"),
    ("/blocks", "Blocks"),
    ("/questions", "Questions"),
    ("/queue", "Deliveries"),
];

/// Where forms are sent, but for the one that signs in.
const FORMS: &str = "/contacts/erase /keys/revoke /policies/reset /agents/revoke /blocks/add /blocks/remove \
                     /warning/put-away /logout";

/// The admin page over a service in memory.
struct Desk {
    app: TestApp,
    sessions: Arc<Sessions>,
    page: AdminPage,
}

struct Shown {
    /// Method and path.
    request: String,
    status: StatusCode,
    headers: HeaderMap,
    text: String,
}

/// A session, as a browser keeps it.
#[derive(Clone)]
struct Login {
    cookie: String,
    /// The path that the cookie is sent to.
    root: String,
}

#[derive(Clone)]
struct Visit {
    method: Method,
    path: String,
    headers: Vec<(String, String)>,
    body: String,
}

impl Visit {
    fn new(method: Method, path: &str) -> Self {
        Self {
            method,
            path: path.to_owned(),
            headers: vec![("host".to_owned(), "127.0.0.1:9090".to_owned())],
            body: String::new(),
        }
    }

    fn get(path: &str) -> Self {
        Self::new(Method::GET, path)
    }

    fn post(path: &str, form: &str) -> Self {
        let mut visit = Self::new(Method::POST, path)
            .header("content-type", "application/x-www-form-urlencoded")
            .header("sec-fetch-site", "same-origin")
            .header("origin", "null");
        visit.body = form.to_owned();
        visit
    }

    /// The same with this header, in place of one of its name.
    fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self
    }

    /// The same in a session, to the path below its root.
    fn of(mut self, login: &Login) -> Self {
        self.path = format!("{}{}", login.root, self.path);
        self.header("cookie", &login.cookie)
    }
}

impl Shown {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// Fails unless this is the status, and the page has each of these texts.
    #[track_caller]
    fn check(&self, status: u16, parts: &[&str]) {
        assert_eq!(self.status, status, "{}: {}", self.request, self.text);
        for part in parts {
            let (request, text) = (&self.request, &self.text);
            assert!(text.contains(part), "{part}: {request}: {text}");
        }
    }
}

impl Desk {
    fn new() -> Self {
        Self::over(Setup::default())
    }

    fn over(setup: Setup) -> Self {
        let app = setup.start();
        let address = "127.0.0.1:9090".parse().unwrap();
        let sessions = Sessions::new(Arc::new(SeededEntropy::default()), address);
        let sessions = Arc::new(sessions);
        let page = AdminPage::new(Arc::clone(&app.app), Arc::clone(&sessions)).unwrap();
        Self {
            app,
            sessions,
            page,
        }
    }

    /// One of its own, and a session.
    async fn signed_in() -> (Self, Login) {
        let desk = Self::new();
        let login = desk.sign_in().await;
        (desk, login)
    }

    /// The page at `path` as a session sees it, without the session's root in its links.
    async fn get(&self, login: &Login, path: &str) -> Shown {
        let mut shown = self.send(Visit::get(path).of(login)).await;
        shown.text = shown.text.replace(&login.root, "");
        shown
    }

    /// Sends a request, and checks what every answer must fulfil.
    async fn send(&self, visit: Visit) -> Shown {
        let mut request = Request::builder().method(&visit.method).uri(&visit.path);
        for (name, value) in &visit.headers {
            request = request.header(name, value);
        }
        let body = Full::new(Bytes::from(visit.body));
        let response = self.page.respond(request.body(body).unwrap()).await;
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let shown = Shown {
            request: format!("{} {}", visit.method, visit.path),
            status: parts.status,
            headers: parts.headers,
            text: String::from_utf8(body.to_vec()).unwrap(),
        };
        let request = &shown.request;
        for (name, value) in [
            ("cache-control", "no-store"),
            ("referrer-policy", "no-referrer"),
            ("x-content-type-options", "nosniff"),
            ("cross-origin-resource-policy", "same-origin"),
            ("cross-origin-opener-policy", "same-origin"),
        ] {
            assert_eq!(shown.header(name), Some(value), "{request}");
        }
        let policy = shown.header("content-security-policy").unwrap();
        let parts = "default-src 'none'|style-src 'self'|base-uri 'none'|form-action 'self'|frame-ancestors 'none'";
        for part in parts.split('|') {
            assert!(policy.contains(part), "{request}: {policy}");
        }
        assert!(!policy.contains("unsafe") && !policy.contains("script-src"));
        assert!(!shown.text.contains("<script"), "{request}");
        assert!(!shown.text.contains("style=\""), "{request}");
        if visit.method == Method::HEAD {
            assert_eq!(shown.text, "", "{request}");
        }
        shown
    }

    async fn sign_up(&self, address: &str) {
        self.app.expect("200", Call::sign_up(address)).await;
    }

    async fn is_known(&self, address: &str) -> bool {
        self.app.contact(address).await.is_some()
    }

    fn link(&self) -> String {
        let now = self.app.app.clock.now();
        let url = self.sessions.new_link(now).0;
        let token = url.strip_prefix("http://127.0.0.1:9090/login?link=");
        token.unwrap().to_owned()
    }

    async fn sign_in(&self) -> Login {
        let form = format!("link={}", self.link());
        let shown = self.send(Visit::post("/login", &form)).await;
        assert_eq!(shown.status, 303, "{}", shown.text);
        let root = shown.header("location").unwrap().strip_suffix('/');
        let cookie = shown.header("set-cookie").unwrap();
        Login {
            cookie: cookie.split(';').next().unwrap().to_owned(),
            root: root.unwrap().to_owned(),
        }
    }

    /// Sends the form of the confirmation page at `path`.
    async fn confirm(&self, login: &Login, path: &str, field: &str) -> Shown {
        let asked = self.get(login, &format!("{path}?{field}")).await;
        assert_eq!(asked.status, 200, "{}", asked.text);
        self.send(Visit::post(path, field).of(login)).await
    }
}
