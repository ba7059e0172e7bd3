//! Contacts, keys and agents.

use landing_api::adapters::files::questions::FileQuestionStore;
use landing_api::domain::credential::{KeyRecord, KeyState};
use landing_api::ports::{ContactStore as _, KeyIssuer as _};

use super::{Desk, Login, Visit};
use crate::assistant_pages::model;
use crate::fixtures::OneFile;
use crate::prelude::*;

/// An address and a label that would be markup.
const HOSTILE_ADDRESS: &str = "o'mal&ley`{x}@example.com";
const HOSTILE_LABEL: &str = "\"><script>alert('x')</script>&amp;{{ 7 * 7 }}";

async fn import(desk: &Desk, count: u32) {
    let before = Timestamp::from_ms(NOW.as_ms() - 1000);
    let row = |n: u32| Contact::imported(address(&format!("n{n:04}")), before, None, None);
    let rows = (0..count).map(row).collect();
    desk.app.contacts.import(rows, false).await.unwrap();
}

async fn contacts(desk: &Desk, login: &Login, query: &str) -> String {
    let shown = desk.get(login, &format!("/contacts{query}")).await;
    shown.check(200, &[]);
    shown.text
}

fn link_to(html: &str, text: &str) -> Option<String> {
    let (before, _) = html.split_once(&format!(">{text}</a>"))?;
    let (_, link) = before.rsplit_once("href=\"")?;
    Some(link.split('"').next()?.replace("&amp;", "&"))
}

#[tokio::test]
async fn contacts_are_searched_by_part_of_the_address() {
    let (desk, login) = Desk::signed_in().await;
    let none = contacts(&desk, &login, "").await;
    assert!(none.contains("No results."));
    import(&desk, 120).await;
    desk.sign_up("ada@lovelace.example").await;

    let first = contacts(&desk, &login, "").await;
    let row = "<tr role=\"row\"><th scope=\"row\"";
    assert_eq!(first.matches(row).count(), 50);
    assert!(first.contains("<b>121</b> contacts, <b>121</b> of them new in the last 30 days."));
    assert!(first.contains("Contacts 1 to 50 of 121."));
    // The newest comes first, and an export is offered before the list.
    let of = |part| first.find(part).unwrap_or_else(|| panic!("{part}"));
    assert!(of("ada@lovelace.example") < of("n0119@example.com"));
    assert!(of("contacts/export?") < of("<table"));
    assert!(!first.contains("First 50"));
    let mut seen = first.matches(row).count();
    let (mut page, mut pages) = (first, 1);
    while let Some(next) = link_to(&page, "Next 50") {
        page = desk.get(&login, &next).await.text;
        seen += page.matches(row).count();
        pages += 1;
    }
    assert_eq!((seen, pages), (121, 3));
    assert!(page.contains("Contacts 101 to 121 of 121."));
    let back = link_to(&page, "First 50").unwrap();
    let back = desk.get(&login, &back).await.text;
    assert!(back.contains("Contacts 1 to 50 of 121."));
    let beyond = contacts(&desk, &login, "?after=0").await;
    assert!(beyond.contains("No results on this page."));

    let whole = "?q=ada%40lovelace.example&page=x";
    for query in ["?q=LOVELACE", "?q=+ada@", whole] {
        let found = desk.get(&login, &format!("/contacts{query}")).await;
        found.check(200, &["Contacts 1 to 1 of 1.", "ada@lovelace.example"]);
    }
    let none = contacts(&desk, &login, "?q=nobody").await;
    assert!(none.contains("No results.") && none.contains("value=\"nobody\""));
    // What is searched for stays in the links to other pages and orders.
    let some = contacts(&desk, &login, "?q=%40example.com&days=7&sort=email").await;
    for link in ["Next 50", "Oldest first", "Z to A"] {
        let link = link_to(&some, link).unwrap();
        assert!(link.contains("&q=%40example.com&days=7"), "{link}");
    }
    assert!(some.contains("aria-current=\"true\">A to Z</a>"));
    assert!(some.contains("name=\"sort\" value=\"email\""));
    assert!(some.contains("<option value=\"7\" selected>"));
}

/// A query, and who is shown for it from top to bottom.
const CHOSEN: &str = "
 | ann zoe mary n0000 old
?sort=-subscribed_at | ann zoe mary n0000 old
?sort=subscribed_at | old n0000 mary zoe ann
?sort=email | ann mary n0000 old zoe
?sort=-email | zoe old n0000 mary ann
?sort=%3Cb%3E | ann zoe mary n0000 old
?days=1 | ann zoe mary n0000
?days=7 | ann zoe mary n0000 old
?days=x | ann zoe mary n0000 old
";

#[tokio::test]
async fn contacts_are_sorted_and_chosen_by_when_they_signed_up_as_the_query_says() {
    let desk = Desk::new();
    desk.sign_up("old@example.com").await;
    desk.app.clock.advance_ms(2 * 86_400_000);
    let login = desk.sign_in().await;
    // Imported last, and signed up before.
    for (address, after_ms) in [("mary", 1000), ("zoe", 1000), ("ann", 0)] {
        desk.sign_up(&format!("{address}@example.com")).await;
        desk.app.clock.advance_ms(after_ms);
    }
    let begun = Timestamp::from_ms(NOW.as_ms() + 2 * 86_400_000 - 1000);
    let earlier = Contact::imported(address("n0000"), begun, None, None);
    desk.app
        .contacts
        .import(vec![earlier], false)
        .await
        .unwrap();
    for [query, expected] in rows(CHOSEN) {
        let shown = contacts(&desk, &login, query).await;
        let rows = shown.split("<th scope=\"row\" role=\"rowheader\"><a href=");
        let names = rows.skip(1).filter_map(|row| Some(row.split_once('>')?.1));
        let names: Vec<_> = names.map(|from| from.split('@').next().unwrap()).collect();
        assert_eq!(names.join(" "), expected, "{query}");
    }
    let today = contacts(&desk, &login, "?days=1").await;
    assert!(today.contains("<b>5</b> contacts, <b>4</b> of them new in the last 24 hours."));
}

#[tokio::test]
async fn a_contact_is_shown_with_its_proof() {
    let (desk, login) = Desk::signed_in().await;
    desk.sign_up(HOSTILE_ADDRESS).await;
    let listed = contacts(&desk, &login, "").await;
    let (_, link) = listed.split_once("<a href=\"/contacts/show").unwrap();
    let link = link.split('"').next().unwrap().replace("&amp;", "&");
    let shown = desk.get(&login, &format!("/contacts/show{link}")).await;
    check_markup("contact", &shown.text);
    let proof = [
        "<dt>Signed up</dt><dd>2026-11-21 12:00</dd>",
        "<dt>Origin</dt><dd>api</dd>",
        "href=\"/contacts/erase?email=o%27mal%26ley%60%7Bx%7D%40example.com\"",
    ];
    shown.check(200, &proof);
    assert!(!shown.text.contains("Previous consent"));
    let token = desk.app.contact(HOSTILE_ADDRESS).await.unwrap().leave_token;
    let left = desk.app.contacts.leave(&token.unwrap(), None, NOW).await;
    assert_eq!(left, Ok(true));
    desk.sign_up(HOSTILE_ADDRESS).await;
    let shown = desk.get(&login, &format!("/contacts/show{link}")).await;
    check_markup("contact", &shown.text);
    let (_, previous) = shown.text.split_once("<h2>Previous consent</h2>").unwrap();
    let left = "<dt>Unsubscribed</dt><dd>2026-11-21T12:00:00.000Z</dd>";
    assert!(previous.contains(left), "{previous}");
    let unknown = "?email=a%40b.example";
    for (query, status) in [("", 400), ("?email=nobody", 400), (unknown, 404)] {
        let path = format!("/contacts/show{query}");
        assert_eq!(desk.get(&login, &path).await.status, status, "{query}");
    }
}

#[tokio::test]
async fn a_contact_is_erased_after_a_confirmation() {
    let (desk, login) = Desk::signed_in().await;
    desk.sign_up("ada@example.com").await;
    desk.sign_up("bob@example.com").await;
    let (path, ada) = ("/contacts/erase", "email=ada%40example.com");
    let asked = desk.get(&login, &format!("{path}?{ada}")).await;
    asked.check(200, &["Erase this contact?", "ada@example.com"]);
    assert!(desk.is_known("ada@example.com").await);

    let done = desk.confirm(&login, path, ada).await;
    done.check(200, &["<h1>Erased</h1>", "ada@example.com"]);
    assert!(!desk.is_known("ada@example.com").await);
    assert!(desk.is_known("bob@example.com").await);
    let again = desk.confirm(&login, path, ada).await;
    again.check(200, &["<h1>Nothing to erase</h1>"]);

    for bad in ["", "email=", "email=nobody", "email=%3Cscript%3E"] {
        let asked = desk.get(&login, &format!("{path}?{bad}")).await;
        asked.check(400, &["Nothing was done."]);
    }
}

#[tokio::test]
async fn a_store_that_fails_is_no_empty_list() {
    let (desk, login) = Desk::signed_in().await;
    desk.sign_up("ada@example.com").await;
    let failure = StoreError::Unavailable("the disk hums".to_owned());
    desk.app.contacts.fail_with(Some(failure));
    let shown = desk.get(&login, "/contacts").await;
    shown.check(503, &["the disk hums"]);
    let erase = Visit::post("/contacts/erase", "email=ada%40example.com");
    desk.send(erase.of(&login)).await.check(503, &[]);
    desk.app.contacts.fail_with(None);
    assert!(desk.is_known("ada@example.com").await);
}

async fn issue(desk: &Desk, label: Option<&str>) -> ApiKey {
    let key = ApiKey::mint(|bytes| desk.app.app.entropy.fill(bytes));
    let record = KeyRecord {
        fingerprint: key.fingerprint(),
        id: key.id(),
        issued_at: NOW,
        expires_at: NOW.plus_ms(1000),
        ..key_record(0, label)
    };
    desk.app.keys.issue(record).await.unwrap();
    key
}

#[tokio::test]
async fn keys_are_found_and_revoked() {
    let (desk, login) = Desk::signed_in().await;
    let (one, other) = (issue(&desk, Some("Shop")).await, issue(&desk, None).await);
    let keys = async |query: &str| desk.get(&login, &format!("/keys{query}")).await.text;
    let all = keys("").await;
    for key in [&one, &other] {
        assert!(all.contains(&key.id().to_string()));
        assert!(!all.contains(&key.expose()[12..]), "the key itself");
    }
    for query in ["?q=shop".to_owned(), format!("?q={}", one.id())] {
        let found = keys(&query).await;
        assert!(found.contains(&one.id().to_string()) && !found.contains(&other.id().to_string()));
    }
    let field = format!("key={}", one.id());
    let revoke = async || desk.confirm(&login, "/keys/revoke", &field).await;
    revoke().await.check(200, &["<h1>Revoked</h1>"]);
    let record = async |key: &ApiKey| {
        let found = desk.app.keys.find(&key.fingerprint()).await;
        found.unwrap().unwrap()
    };
    assert_eq!(record(&one).await.state(NOW), KeyState::Revoked);
    assert_eq!(record(&other).await.state(NOW), KeyState::Active);
    assert!(keys("?q=shop").await.contains("revoked 2026-11-21 12:00"));
    revoke().await.check(200, &["The key was already revoked."]);
    desk.app.clock.advance_ms(1000);
    assert!(keys("").await.contains("expired 2026-11-21 12:00"));

    for bad in ["", "key=", "key=00000000", "key=nonsense"] {
        let asked = desk.get(&login, &format!("/keys/revoke?{bad}")).await;
        assert_eq!(asked.status, 400, "{bad}");
    }
}

#[tokio::test]
async fn an_agent_is_revoked_after_a_confirmation() {
    let (desk, login) = Desk::signed_in().await;
    let client_id = Registration::new([7; 16], NOW).client_id();
    let field = format!("client_id={client_id}");
    let revoke = async |field: &str| desk.confirm(&login, "/agents/revoke", field).await;
    let agents = async || desk.get(&login, "/agents").await.text;
    assert!(agents().await.contains("No results."));
    revoke(&field).await.check(200, &["<h1>Revoked</h1>"]);
    assert!(agents().await.contains(&client_id));
    let again = revoke(&field).await;
    again.check(200, &["The agent was already revoked."]);
    let bad = revoke("client_id=%3Cb%3E").await;
    bad.check(400, &["Not a client ID"]);
    assert_eq!(desk.get(&login, "/agents/revoke").await.status, 400);
}

#[tokio::test]
async fn what_strangers_wrote_is_text() {
    let (desk, login) = Desk::signed_in().await;
    desk.sign_up(HOSTILE_ADDRESS).await;
    let id = issue(&desk, Some(HOSTILE_LABEL)).await.id();
    let encoded = url::form_urlencoded::byte_serialize(HOSTILE_ADDRESS.as_bytes());
    let encoded: String = encoded.collect();
    for path in [
        "/contacts".to_owned(),
        format!("/contacts?q={encoded}"),
        format!("/contacts/erase?email={encoded}"),
        "/keys".to_owned(),
        format!("/keys/revoke?key={id}"),
        "/contacts?q=%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E".to_owned(),
        "/keys?q=%22%3E%3Cimg%20src%3Dx%3E".to_owned(),
        "/?by=%22%3E%3Cimg%20src%3Dx%3E".to_owned(),
        "/contacts?days=%22%3E%3Cimg%3E&after=%22%3E%3Cimg%3E".to_owned(),
        "/contacts?sort=%22%3E%3Cimg%3E&after=%22%3E%3Cimg%3E".to_owned(),
    ] {
        let shown = desk.get(&login, &path).await;
        shown.check(200, &[]);
        check_markup(&path, &shown.text);
    }
    // The form has the very address.
    let field = format!("email={encoded}");
    let done = desk.confirm(&login, "/contacts/erase", &field).await;
    done.check(200, &["<h1>Erased</h1>"]);
    check_markup("erased", &done.text);
    assert!(!desk.is_known(HOSTILE_ADDRESS).await);
}

/// The page has the elements and attributes of its templates, and no others.
fn check_markup(path: &str, html: &str) {
    let text = html
        .replace("<!DOCTYPE html>\n", "")
        .replace(" selected>", " selected=\"\">")
        .replace(" download>", " download=\"\">");
    // Void elements, as XML has them.
    let mut xml = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find('<') {
        let (before, from) = rest.split_at(at);
        let (tag, after) = from.split_at(from.find('>').unwrap());
        xml.push_str(before);
        xml.push_str(tag);
        let mut void = ["<meta", "<link", "<input", "<img", "<br"].iter();
        let is_void = void.any(|name| tag.starts_with(name));
        xml.push_str(if is_void { "/>" } else { ">" });
        rest = &after[1..];
    }
    xml.push_str(rest);
    let document = roxmltree::Document::parse(&xml);
    let document = document.unwrap_or_else(|error| panic!("{path}: {error}\n{xml}"));
    for element in document.descendants().filter(roxmltree::Node::is_element) {
        let (name, source) = (element.tag_name().name(), element.attribute("src"));
        assert!(name != "script" && name != "style", "{path}");
        let is_ours = source.is_none_or(|it| it == "/icon.svg");
        assert!(is_ours, "{path}: {source:?}");
        for attribute in element.attributes() {
            let (name, value) = (attribute.name(), attribute.value());
            assert!(!name.starts_with("on") && name != "style", "{path}: {name}");
            let is_link = ["href", "src", "action"].contains(&name);
            let is_ours = ["/", "#", "http://landing.example"];
            let is_ours = is_ours.iter().any(|own| value.starts_with(own));
            assert!(!is_link || is_ours, "{path}: {name}={value}");
        }
    }
}

#[tokio::test]
async fn contacts_are_exported_as_a_file() {
    let (desk, login) = Desk::signed_in().await;
    desk.sign_up("=1+1@example.com").await;
    let shown = desk.get(&login, "/contacts/export").await;
    let csv = "text/csv; charset=utf-8";
    assert_eq!(
        (shown.status.as_u16(), shown.header("content-type")),
        (200, Some(csv))
    );
    let disposition = "attachment; filename=\"contacts.csv\"";
    assert_eq!(shown.header("content-disposition"), Some(disposition));
    let text = "email,subscribed_at,last_seen_at,status,confirmed_at,source,consent_text,unsubscribe_url\r\n\
                '=1+1@example.com,2026-11-21T12:00:00.000Z,2026-11-21T12:00:00.000Z,subscribed,,,,\r\n";
    assert_eq!(shown.text, text);
}

#[tokio::test]
async fn questions_without_an_answer_are_listed_as_text() {
    let files = OneFile::named("questions.jsonl");
    let questions = Arc::new(FileQuestionStore::open(files.path.clone(), 30));
    let setup = Setup {
        questions,
        ..Setup::with_model(model().0)
    };
    let desk = Desk::over(setup);
    let login = desk.sign_in().await;
    let question = Call::question("What is the capital of <b> Mongolia?");
    desk.app.expect("200", question).await;
    let row = "<bdi>What is the capital of &lt;b&gt; Mongolia?</bdi>";
    desk.get(&login, "/questions").await.check(200, &[row]);
}
