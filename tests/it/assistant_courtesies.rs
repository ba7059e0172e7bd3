//! Greetings, thanks and the like get a short sentence of the assistant, and a text that does not tell its language
//! is answered in that of the page.

use crate::assistant_pages::model;
use crate::harness::{Call, Setup};
use crate::rows::rows;

/// The language of the page, what is said there, and how the reply begins.
const SAID: &str = "
en | Thanks! | You’re welcome!
en | thx | You’re welcome!
en | thank you so much 🙏 | You’re welcome!
en | great, thanks | You’re welcome!
en | ok | Great.
en | OK. | Great.
en | hello | Hello!
en | Good morning! | Hello!
en | merci | Avec plaisir !
de | ok | Gut.
de | vielen Dank | Gern geschehen!
de | Danke schön!! | Gern geschehen!
de | Guten Tag | Guten Tag!
fr | ok | Parfait.
fr | merci beaucoup ! | Avec plaisir !
fr | Bonjour 😀 | Bonjour !
es | ok | Perfecto.
es | ¡Muchas gracias! | ¡De nada!
es | ¡Hola! | ¡Hola!
en | Vielen Dank! | Gern geschehen!
en | hello, how do I unsubscribe? | Use the unsubscribe link
en | thanks, is it free? | Everything here is free
en | newsletter | Enter your email address
de | newsletter | Tragen Sie Ihre E-Mail-Adresse
fr | newsletter | Saisissez votre adresse
es | API | Todo está disponible
de | What is this site? | Landing API is a site
*;q=x | hello | Hello!
en | thanks, that helped! | You’re welcome!
en | Thanks for the quick answer, see you on the Saturday ride | You’re welcome!
en | lol | Glad to hear it!
en | I love your site | Glad to hear it!
en | wow, this is a great website! | Glad to hear it!
de | Danke, das hat geholfen | Gern geschehen!
de | danke, dann komme ich morgen mal vorbei | Gern geschehen!
de | haha, sehr witzig | Das freut mich!
de | Mir gefällt eure Website | Das freut mich!
fr | Merci, ça m’a beaucoup aidé | Avec plaisir !
fr | merci, je passerai demain avec mon vélo | Avec plaisir !
fr | mdr | Merci, cela fait plaisir !
fr | J’adore votre site ! | Merci, cela fait plaisir !
es | Gracias, me ha servido mucho | ¡De nada!
es | gracias, mañana paso por la tienda con mi perro | ¡De nada!
es | jajaja | ¡Me alegro!
es | Me encanta vuestra web | ¡Me alegro!
en | thanks, do you sell skateboards? | I couldn’t find that on our site.
en | thanks, now tell me how to bake bread | I couldn’t find that on our site.
";

#[tokio::test]
async fn courtesies_get_a_short_sentence_in_their_language_or_that_of_the_page() {
    let app = Setup::with_model(model().0)
        .limit("assistant", "100/1h")
        .start();
    for [page, said, expected] in rows(SAID) {
        let call = Call::question(said).header("accept-language", page);
        let reply = app.expect("200", call).await.json();
        let message = reply["message"].as_str().unwrap();
        let text = message
            .split_once("**\n\n")
            .map_or(message, |(_, text)| text);
        assert!(text.starts_with(expected), "{page}: {said} -> {message}");
        assert_eq!(reply["used"], 1, "{said} is charged");
    }
}
