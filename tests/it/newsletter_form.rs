//! The newsletter as a plain HTML form: it works without script, on any page.

use hyper::StatusCode;

use crate::harness::{Call, TestApp};

#[tokio::test]
async fn the_form_is_a_page_in_the_visitors_language() {
    let app = TestApp::new();
    for (accept, language, button) in [
        ("", "en", "Sign up"),
        ("de-AT", "de", "Anmelden"),
        ("fr", "fr", "S’inscrire"),
        ("es", "es", "Suscribirse"),
    ] {
        let call = Call::get("/newsletter").header("accept-language", accept);
        let reply = app.send(call).await;
        assert_eq!(reply.status, StatusCode::OK);
        assert_eq!(reply.header("content-language"), Some(language));
        assert_eq!(reply.header("vary"), Some("Accept-Language"));
        assert_eq!(reply.header("cache-control"), Some("no-store"));
        let policy = reply.header("content-security-policy").unwrap();
        assert!(policy.contains("form-action 'self'"), "{policy}");
        assert!(reply.text().contains(&format!(">{button}</button>")));
        assert!(
            reply
                .text()
                .contains(&format!("<html lang=\"{language}\">"))
        );
    }
}
