//! What the pages say about stored data, held against the settings that they are made with: nothing that a flag makes
//! false, in any language.

use landing_api::domain::language::Language;
use landing_api::domain::settings::{Settings, SignUpsGo};
use landing_api::http::answer::problem;
use landing_api::site::{HTML, Site};

use crate::prelude::*;
use crate::site::{at, facts_of, text};

/// What pages say of a service: the condition under which it is true, and the words in each language. The guide, at
/// `/docs`, is in English alone, and makes the statements of the help page but for the last.
const CLAIMS: &str = "
# /help /docs

stores
our newsletter form stores your email address
speichert unser Newsletter-Formular Ihre E-Mail-Adresse
notre formulaire de newsletter conserve votre adresse e-mail
nuestro formulario del boletín guarda su dirección de correo electrónico

stores
the details of your previous sign-up stay stored
bleiben die Angaben zu Ihrer vorherigen Anmeldung als Nachweis gespeichert
les données de votre inscription précédente restent conservées
los datos de su suscripción anterior siguen guardados

stores nothing
stores nothing about you
speichert bei der Anmeldung nichts über Sie
ne conserve rien sur vous
no guarda nada sobre usted

stores no IP address
Your IP address is not stored
Ihre IP-Adresse wird nicht gespeichert
Votre adresse IP n’est pas conservée
Su dirección IP no se guarda

stores the IP address
Your IP address is stored
Ihre IP-Adresse wird als Nachweis
Votre adresse IP est conservée
Su dirección IP se guarda

stores and shares nothing
None of this is shared
Nichts davon wird an Dritte weitergegeben
Aucune de ces données n’est communiquée
Ninguno de estos datos se comparte

stores and shares
Only your address and the status of your subscription are shared
Weitergegeben werden nur Ihre Adresse und der Status
l’état de votre inscription sont communiqués
Solo se comparten su dirección y el estado de su suscripción

confirms
when you confirmed
wann Sie bestätigt haben
celles de votre confirmation
cuándo confirmó usted

has no model and stores no questions
sent to nobody else, and not stored
an niemanden weitergegeben und nicht gespeichert
ne sont transmis à personne d’autre et ne sont pas conservés
no se envían a nadie más y no se guardan

stores questions
sent to nobody else. Questions the chat can’t answer are stored for 30 days
an niemanden weitergegeben. Fragen, die der Chat nicht beantworten kann, werden 30 Tage lang gespeichert, \
damit wir diese Website verbessern können. Wer gefragt hat, wird nicht erfasst
ne sont transmis à personne d’autre. Les questions auxquelles le chat ne sait pas répondre sont \
conservées pendant 30 jours
no se envían a nadie más. Las preguntas que el chat no sabe responder se guardan durante 30 días

has a model
they are sent to a language model
ohne Ihre IP-Adresse und Ihre Cookies an ein Sprachmodell gesendet
sans votre adresse IP ni vos cookies, à un modèle de langage
sin su dirección IP ni sus cookies, a un modelo de lenguaje

sets a cookie
The only cookie comes from the chat
Das einzige Cookie stammt vom Chat
Le seul cookie est celui du chat
La única cookie es la del chat

sets no cookie
No cookies are set
Es werden keine Cookies gesetzt
Aucun cookie n’est déposé
No se instala ninguna cookie

always
Nobody can look up here
Niemand kann hier nachsehen
Personne ne peut vérifier ici
Nadie puede comprobar aquí

# /

stores the IP address
We also store your IP address
speichern wir auch Ihre IP-Adresse
Nous conservons aussi votre adresse IP
También guardamos su dirección IP

stores and shares nothing
don’t share it with anyone
und geben sie nicht weiter
ne la communiquons à personne
no la compartimos con nadie

stores and shares
share it only with the services
geben sie nur an die Dienste weiter
ne la communiquons qu’aux services
solo la compartimos con los servicios

stores nothing
isn’t stored here
wird hier nicht gespeichert.
n’est pas conservée ici
y no se guarda aquí

has no model and stores no questions
Your messages aren’t stored
Ihre Nachrichten werden nicht gespeichert
Vos messages ne sont pas conservés
Sus mensajes no se guardan

stores questions
Questions it can’t answer are stored for 30 days
Unbeantwortete Fragen werden 30 Tage lang gespeichert
restées sans réponse sont conservées pendant 30 jours
Las preguntas sin respuesta se guardan durante 30 días

has a model
are sent to that model
werden an dieses Modell gesendet
sont envoyés à ce modèle
se envían a ese modelo

# /help

stores no questions
Your chat messages are not stored here.
Ihre Chatnachrichten werden hier nicht gespeichert.
Vos messages dans le chat ne sont pas conservés ici.
Sus mensajes del chat no se guardan aquí.

stores no questions
so there is nothing to delete
und müssen deshalb nicht gelöscht werden
il n’y a donc rien à supprimer
no hay nada que borrar

stores questions
without a record of who asked, and deleted automatically after 30 days
ohne Angabe des Absenders gespeichert und nach 30 Tagen automatisch gelöscht
supprimées automatiquement au bout de 30 jours
se borran automáticamente al cabo de 30 días
";

/// Whether a service with these settings does what a condition says.
fn is_true(condition: &str, settings: &Settings) -> bool {
    let stores = settings.sign_ups != SignUpsGo::PassedOn;
    // The address reaches the operator's program or a mail relay.
    let shares = settings.sign_ups == SignUpsGo::Told || settings.opt_in_ms.is_some();
    // Questions that the chat could not answer. A model answers all.
    let stores_questions = settings.questions_kept_days > 0 && !settings.has_model;
    match condition {
        "always" => true,
        "stores" => stores,
        "stores nothing" => !stores,
        "stores the IP address" => stores && settings.keeps_consent_ip,
        "stores no IP address" => !(stores && settings.keeps_consent_ip),
        "stores and shares nothing" => stores && !shares,
        "stores and shares" => stores && shares,
        "confirms" => settings.opt_in_ms.is_some(),
        "has a model" => settings.has_model,
        "has no model and stores no questions" => !settings.has_model && !stores_questions,
        "stores questions" => stores_questions,
        "stores no questions" => !stores_questions,
        "sets a cookie" => settings.policies.quota(PolicyName::Assistant).is_some(),
        "sets no cookie" => settings.policies.quota(PolicyName::Assistant).is_none(),
        other => panic!("{other}"),
    }
}

/// Combinations of the settings that decide what is stored. With no contacts nobody is asked to confirm.
fn combinations() -> Vec<Settings> {
    let mut all = vec![facts().settings];
    let mut vary = |change: fn(&mut Settings)| {
        let changed = all.clone().into_iter().map(|mut settings| {
            change(&mut settings);
            settings
        });
        all = [all.clone(), changed.collect()].concat();
    };
    vary(|settings| settings.keeps_consent_ip = true);
    vary(|settings| settings.has_model = true);
    vary(|settings| settings.questions_kept_days = 30);
    vary(|settings| settings.opt_in_ms = Some(7 * DAY_MS));
    // The fifth follows from the others, so any four occur in every combination.
    for settings in &mut all {
        let others = [
            settings.keeps_consent_ip,
            settings.has_model,
            settings.questions_kept_days > 0,
            settings.opt_in_ms.is_some(),
        ];
        if others.iter().filter(|is_set| **is_set).count() % 2 == 1 {
            settings.policies.set(PolicyName::Assistant, None);
        }
    }
    let ways = SignUpsGo::ALL.into_iter().flat_map(|sign_ups| {
        let of_way = all.clone().into_iter().map(move |settings| Settings {
            sign_ups,
            ..settings
        });
        of_way.filter(|settings| settings.opt_in_ms.is_none() || is_true("stores", settings))
    });
    ways.collect()
}

fn page<'a>(site: &'a Site, path: &str, language: Language) -> &'a str {
    let mut forms = at(site, path).representations.iter();
    let is_meant = |own: Language| own == language;
    let form = forms.find(|form| form.media_type == HTML && form.language.is_none_or(is_meant));
    text(form.unwrap())
}

#[test]
fn no_page_says_what_a_flag_makes_false() {
    for settings in combinations() {
        let facts = facts_of(settings.clone());
        // As many as there are of them are not kept.
        let site = Site::render(&facts, &problem::PAGES, &[], &[]).unwrap();
        let mut paths = "";
        for block in CLAIMS.trim().split("\n\n") {
            let Some((condition, words)) = block.split_once('\n') else {
                paths = block.strip_prefix("# ").unwrap();
                continue;
            };
            let expected = is_true(condition, &settings);
            assert_eq!(words.lines().count(), Language::ALL.len(), "{words}");
            for (words, language) in words.lines().zip(Language::ALL) {
                for path in paths.split(' ') {
                    if path == "/docs" && language != Language::English {
                        continue;
                    }
                    let is_told = page(&site, path, language).contains(words);
                    assert_eq!(is_told, expected, "{words} on {path}: {settings:?}");
                }
            }
        }
    }
}
