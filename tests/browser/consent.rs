//! A sign-up in a real browser: what the proof of the consent has of the page, and what the visitor is told when the
//! address has to be confirmed.

use serde_json::{Value, json};

use crate::embed::{OtherSite, PLAIN, snippet};

use crate::program::{Ran, landing_api};
use crate::{Visit, visit};

/// The beginning of what the forms of this service ask with.
const ASKED: &str = "Enter your email address to subscribe";

/// Page and wording, as the proof of the consent of `email` has them.
fn proof(visit: &Visit, email: &str) -> [Value; 3] {
    let mut command = landing_api(&["contacts", "show", email, "--json", "--data-dir"]);
    let shown = Ran::of(command.arg(visit.data_dir())).json();
    ["consent_by", "source", "consent_text"].map(|member| shown[member].clone())
}

/// Signs up with the plain form of the page that is open.
async fn sign_up_plainly(visit: &Visit, email: &str) {
    let page = &visit.browser;
    page.fill("form [name=email]", email).await;
    page.click("form [type=submit]").await;
    page.until("location.pathname === '/newsletter/thanks'")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_proof_of_a_consent_has_the_page_and_the_words_of_the_own_forms() {
    let visit = visit(&[]).await;
    let page = &visit.browser;
    let at = |path: &str| json!(visit.url() + path);
    visit.goto("/").await;
    page.sign_up("element@example.com", "Thank you for signing up")
        .await;
    page.stop_scripts().await;
    visit.goto("/newsletter?lang=en").await;
    sign_up_plainly(&visit, "form@example.com").await;
    for (email, way, source) in [
        ("element@example.com", "element", at("/")),
        ("form@example.com", "form", at("/newsletter")),
    ] {
        let [by, shown, text] = proof(&visit, email);
        assert_eq!((by, shown), (json!(way), source), "{email}");
        assert!(text.as_str().unwrap().starts_with(ASKED), "{text}");
    }
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_proof_of_a_consent_has_the_origin_of_another_site() {
    const FORM: &str = "<form method=\"post\" action=\"SERVICE/newsletter\"><input name=\"email\">\
                        <button type=\"submit\">Sign up</button></form>";
    let (plain, scripted) = (OtherSite::new(), OtherSite::new());
    let allowed = ["--allow-origin", &*scripted.origin.clone()];
    let visit = visit(&allowed).await;
    let page = &visit.browser;
    // Browsers tell other sites no more than the origin, with a slash.
    let expected = [&scripted, &plain].map(|site| json!(format!("{}/", site.origin)));
    let element = snippet(&visit, "<landing-newsletter></landing-newsletter>");
    scripted.open(page, PLAIN, &element, "").await;
    page.until("find('landing-newsletter')?.shadowRoot").await;
    page.sign_up("element@example.com", "Thank you for signing up")
        .await;
    plain.open(page, PLAIN, &snippet(&visit, FORM), "").await;
    sign_up_plainly(&visit, "form@example.com").await;
    for (way, source) in ["element", "form"].into_iter().zip(expected) {
        let shown = proof(&visit, &format!("{way}@example.com"));
        assert_eq!(shown, [json!(way), source, json!(null)]);
    }
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_has_to_be_confirmed_replaces_the_form_by_what_comes_next() {
    let flags = [
        "--opt-in=double",
        // Nobody listens there: the emails wait.
        "--smtp-url=smtp://127.0.0.1:1",
        "--mail-from=news@example.com",
    ];
    let visit = visit(&flags).await;
    let page = &visit.browser;
    for (language, asked) in [
        (
            "en",
            "Check your inbox and click the link we sent to ada@example.com.",
        ),
        ("de", "schauen Sie in Ihr Postfach"),
        ("fr", "Consultez votre boîte de réception"),
        ("es", "Revise su bandeja de entrada"),
    ] {
        visit.goto(&format!("/?lang={language}")).await;
        page.sign_up("ada@example.com", asked).await;
        let left = "return all('landing-newsletter >>> input').length";
        assert_eq!(page.run(left).await, json!(0), "{language}");
    }
    // A page's own thanks do not hide it.
    let own = "const own = document.createElement('landing-newsletter');
        own.setAttribute('thanks', 'Lovely!'); own.lang = 'en'; document.body.replaceChildren(own)";
    page.run(own).await;
    page.sign_up("ada@example.com", "Check your inbox").await;
    page.stop_scripts().await;
    visit.goto("/newsletter?lang=en").await;
    sign_up_plainly(&visit, "eve@example.com").await;
    page.until_text("h1", "Check your inbox").await;
    visit.end().await;
}
