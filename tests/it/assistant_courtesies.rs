//! Greetings, thanks and the like get a short sentence of the assistant, and a text that does not tell its language
//! is answered in that of the page.

use std::sync::Arc;

use landing_api::adapters::model::PassageModelClient;
use serde_json::json;

use crate::harness::{Call, Setup};
use crate::rows::rows;
use crate::site::{facts, render};

/// The language of the page, what is said there, and how the reply begins.
const SAID: &str = "
en | Thanks! | You are welcome.
en | thx | You are welcome.
en | thank you so much 🙏 | You are welcome.
en | great, thanks | You are welcome.
en | ok | Good.
en | OK. | Good.
en | hello | Hello!
en | Good morning! | Hello!
en | merci | Avec plaisir.
de | ok | Gut.
de | vielen Dank | Gern geschehen.
de | Danke schön!! | Gern geschehen.
de | Guten Tag | Guten Tag!
fr | ok | Bien.
fr | merci beaucoup ! | Avec plaisir.
fr | Bonjour 😀 | Bonjour !
es | ok | Bien.
es | ¡Muchas gracias! | Con mucho gusto.
es | ¡Hola! | ¡Hola!
en | Vielen Dank! | Gern geschehen.
en | hello, how do I unsubscribe? | Use the unsubscribe link
en | thanks, is it free? | Everything here is free
en | newsletter | Enter your email address
de | newsletter | Tragen Sie Ihre E-Mail-Adresse
fr | newsletter | Saisissez votre adresse
es | API | Todo está disponible
de | What is this site? | Landing API is a site
*;q=x | hello | Hello!
";

#[tokio::test]
async fn courtesies_get_a_short_sentence_in_their_language_or_that_of_the_page() {
    let site = render(&facts());
    let model = PassageModelClient::new(site.passages(), site.assistant_texts());
    let app = Setup::with_model(Arc::new(model))
        .limit("assistant", "100/1h")
        .start();
    for [page, said, expected] in rows(SAID) {
        let body = json!({"messages": [{"role": "user", "content": said}]});
        let call = Call::chat().body(body.to_string());
        let call = call.header("accept-language", page);
        let reply = app.expect("200", call).await.json();
        let message = reply["message"].as_str().unwrap();
        assert!(message.starts_with(expected), "{page}: {said} -> {message}");
        assert_eq!(reply["used"], 1, "{said} is charged");
    }
}
