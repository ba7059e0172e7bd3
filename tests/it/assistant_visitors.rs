//! The embedded model on the help page, in its four languages: the questions that it is tuned on.

use landing_api::adapters::model::PassageModelClient;
use landing_api::domain::language::Language;

use crate::assistant_pages::ask;
use crate::site::{facts, render};

/// The sections of the help page, in order.
const SECTIONS: [&str; 18] = [
    "site",
    "sign-up",
    "after",
    "often",
    "leave",
    "delete",
    "stored",
    "cookies",
    "cost",
    "chat",
    "quota",
    "read",
    "contact",
    "safe",
    "wrong",
    "later",
    "developers",
    "key",
];

const ENGLISH: &str = "
site: What is this site?
site: hi, what is this place for?
site: Who are you and what do you offer
sign-up: Where do I enter my email for the newsletter
sign-up: sign me up
after: Did my sign-up work?
after: I have not received a confirmation
after: nothing arrived in my mailbox
often: how many mails will I get per month?
often: what do you write about in the newsletter
leave: stop sending me mails
leave: how can I opt out
leave: I no longer wish to get the newsletter
delete: Please delete my data
delete: erase my account
stored: what do you know about me?
stored: are you GDPR compliant
stored: do you store my ip
cookies: do you set cookies?
cookies: am I being tracked
cost: how much does it cost?
cost: Is it free?
cost: where can I log in
chat: are you a bot
chat: can you speak German?
chat: is this ChatGPT
quota: how many messages do I have
read: who can read this conversation?
contact: what's the phone number of support
contact: I want to talk to a human
contact: who runs this site
contact: imprint
safe: is this a scam?
safe: will I get spam
wrong: my email address is not accepted
wrong: I want to change my email address
later: why am I blocked
later: the form doesn't work
developers: is there an API
developers: do you have docs for programmers?
key: do I need a key for the newsletter?
-: what is the weather like
-: who is the president of France
-: how do I cook rice
-: how much does a car cost?
-: are you free tonight
-: where can I buy cheap shoes
-: write an essay about whales
-: when was the telephone invented
-: how do I delete my Facebook account
-: how long does a letter to Canada take
-: what is the best phone
-: is it safe to travel to Egypt
";

const GERMAN: &str = "
site: Was ist das hier?
site: Was ist das für eine Seite?
site: Wer seid ihr?
sign-up: Wie melde ich mich an?
sign-up: newsletter abonnieren
sign-up: Ich will den Newsletter
after: Bekomme ich eine Bestätigungsmail?
after: hat die anmeldung geklappt
often: Wie oft kommt der Newsletter?
often: Was steht im Newsletter?
leave: Wie melde ich mich wieder ab?
leave: Newsletterabmeldung
leave: Newsletter abbestellen
leave: ich will nichts mehr bekommen
delete: Bitte löschen Sie meine Daten
delete: bitte loeschen sie meine daten
stored: Welche Daten speichert ihr?
stored: Datenschutz
cookies: Setzt ihr Cookies?
cost: Was kostet das?
cost: Ist das kostenlos?
cost: Brauche ich einen Account?
chat: Spreche ich mit einem Menschen?
chat: bist du eine KI
quota: Wie viele Fragen kann ich noch stellen?
read: Wer liest den Chat mit?
contact: Wer betreibt diese Website?
contact: Impressum
contact: Wie kann ich euch kontaktieren?
safe: Ist das seriös?
safe: ist meine adresse bei euch sicher
wrong: Ich habe eine falsche E-Mail-Adresse eingegeben
wrong: Meine Adresse wird nicht akzeptiert
later: Warum geht das Formular nicht?
developers: Gibt es eine API?
key: Wozu brauche ich einen API-Key?
-: Wie ist das Wetter in Berlin?
-: Wer hat die Fußball-WM gewonnen?
-: Wie koche ich Nudeln?
-: Was kostet ein Auto?
-: Erzähl mir einen Witz
-: Wo kann ich Schuhe kaufen
-: Wie lösche ich mein Facebook-Konto?
-: Wie alt ist die Erde?
-: Wie oft soll man Zähne putzen
-: Übersetze Haus ins Englische
";

const FRENCH: &str = "
site: C'est quoi ce site ?
site: Qui êtes-vous ?
site: À quoi sert ce site
sign-up: Comment m'abonner à la newsletter ?
sign-up: je veux m'inscrire
after: Vais-je recevoir un mail de confirmation ?
after: mon inscription a-t-elle marché
often: À quelle fréquence envoyez-vous la newsletter ?
leave: Comment me désabonner ?
leave: me desinscrire
leave: arrêtez de m'envoyer des mails
delete: Supprimez mes données s'il vous plaît
delete: supprimer mes donnees
stored: Quelles données gardez-vous ?
stored: RGPD
cookies: Y a-t-il des cookies ?
cost: Combien ça coûte ?
cost: Faut-il payer ?
chat: Est-ce que je parle à une personne ?
chat: tu es un robot ?
quota: Combien de questions puis-je encore poser ?
read: Qui lit mes messages ?
contact: Qui gère ce site ?
contact: mentions légales
contact: comment vous contacter
safe: Est-ce une arnaque ?
safe: mon adresse est-elle en sécurité
wrong: mon adresse n'est pas acceptée
wrong: je veux changer mon adresse e-mail
later: le formulaire ne marche pas
developers: Avez-vous une API ?
key: à quoi sert une clé API
-: Quel temps fait-il à Paris ?
-: Qui est le président ?
-: Comment cuire du riz ?
-: Combien coûte une voiture ?
-: Où acheter des chaussures
-: Écris un poème sur la mer
-: Comment supprimer mon compte Facebook ?
-: Quel âge a la terre
-: Traduis maison en anglais
-: Quelle est la meilleure banque
";

const SPANISH: &str = "
site: ¿Qué es esto?
site: ¿Quiénes sois?
site: para qué sirve este sitio
sign-up: ¿Cómo me suscribo?
sign-up: quiero el boletín
sign-up: como me apunto a la newsletter
after: ¿Recibiré un correo de confirmación?
after|sign-up: se ha hecho bien mi suscripción
often: ¿Cada cuánto llega el boletín?
leave: ¿Cómo me doy de baja?
leave: quiero darme de baja
leave: dejen de mandarme correos
delete: Borren mis datos por favor
delete: eliminar mis datos
stored: ¿Qué datos guardan?
stored: protección de datos
cookies: ¿Usan cookies?
cost: ¿Cuánto cuesta?
cost: ¿Es gratis?
cost: necesito una cuenta
chat: ¿Hablo con un humano?
chat: eres un robot
quota: ¿Cuántas preguntas puedo hacer hoy?
read: ¿Quién lee mis mensajes?
contact: ¿Quién lleva esta página?
contact: aviso legal
contact: como puedo contactaros
safe: ¿Es una estafa?
safe: está segura mi dirección
wrong: no acepta mi dirección de correo
wrong: quiero cambiar mi correo
later: el formulario no funciona
developers: ¿Tienen una API?
key: para qué es la clave API
-: ¿Qué tiempo hace en Madrid?
-: ¿Quién es el presidente?
-: ¿Cómo se cocina el arroz?
-: ¿Cuánto cuesta un coche?
-: dónde comprar zapatos
-: cuéntame un chiste
-: cómo borro mi cuenta de Facebook
-: ¿Qué edad tiene la tierra?
-: traduce casa al inglés
-: cuál es el mejor banco
";

/// How a list of questions went.
#[derive(Debug)]
pub(crate) struct Score {
    pub(crate) asked: usize,
    pub(crate) right: usize,
    /// Questions off the subject that got an answer.
    pub(crate) answered_off_topic: usize,
    /// The questions that went wrong, each with what came.
    pub(crate) wrong: Vec<String>,
}

/// Asks `questions`: a line each, with the sections of the help page that answer it, or `-` if none
/// does.
pub(crate) async fn score(language: Language, questions: &str) -> Score {
    let site = render(&facts());
    let model = PassageModelClient::new(site.passages());
    let is_help = |url: &str| url.contains("/help#") || url.contains("/help?");
    let passages = site.passages().iter();
    let help = passages.filter(|it| it.language == Some(language) && is_help(&it.url));
    let help: Vec<_> = help.map(|passage| passage.url.as_str()).collect();
    assert_eq!(help.len(), SECTIONS.len());
    let mut score = Score {
        asked: 0,
        right: 0,
        answered_off_topic: 0,
        wrong: Vec::new(),
    };
    for row in questions.trim().lines() {
        let (expected, question) = row.split_once(": ").unwrap();
        let reply = ask(&model, question).await;
        let end = reply.lines().last().unwrap_or_default();
        let url = end.split_once(": ").map(|(_, url)| url);
        let url = url.filter(|url| site.passages().iter().any(|it| it.url == *url));
        let is_right = match expected {
            "-" => url.is_none(),
            sections => sections.split('|').any(|section| {
                let at = SECTIONS.iter().position(|it| *it == section).unwrap();
                url == Some(help[at])
            }),
        };
        score.asked += 1;
        score.right += usize::from(is_right);
        score.answered_off_topic += usize::from(expected == "-" && url.is_some());
        if !is_right {
            score.wrong.push(format!("{row} -> {url:?}"));
        }
    }
    score
}

#[tokio::test]
async fn what_visitors_ask_is_answered_in_their_language() {
    let mut wrong = Vec::new();
    for (language, questions) in [
        (Language::English, ENGLISH),
        (Language::German, GERMAN),
        (Language::French, FRENCH),
        (Language::Spanish, SPANISH),
    ] {
        let score = score(language, questions).await;
        wrong.extend(score.wrong);
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
