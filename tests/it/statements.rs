//! What the pages say about stored data, held against the settings that they are made with: nothing that a flag makes
//! false, in any language.

use landing_api::domain::language::Language;
use landing_api::domain::policy::PolicyName;
use landing_api::domain::settings::{Settings, SignUpsGo};
use landing_api::domain::time::DAY_MS;
use landing_api::site::{HTML, Site, SiteFacts};

use crate::site::{facts, render, text};

/// What is told of a service, in words of each language, and the settings that make it true. Each statement is on the
/// page.
struct Claim {
    path: &'static str,
    words: [&'static str; Language::ALL.len()],
    is_true: fn(&Settings) -> bool,
}

fn stores(settings: &Settings) -> bool {
    settings.sign_ups != SignUpsGo::PassedOn
}

fn stores_ip(settings: &Settings) -> bool {
    stores(settings) && settings.keeps_consent_ip
}

/// The address reaches the operator's program or a mail relay.
fn shares(settings: &Settings) -> bool {
    settings.sign_ups == SignUpsGo::Told || settings.opt_in_ms.is_some()
}

fn has_cookie(settings: &Settings) -> bool {
    settings.policies.quota(PolicyName::Assistant).is_some()
}

/// Questions that the chat could not answer. A model answers all.
fn stores_questions(settings: &Settings) -> bool {
    settings.questions_kept_days > 0 && !settings.has_model
}

const CLAIMS: [Claim; 20] = [
    Claim {
        path: "/help",
        words: [
            "our newsletter form stores your email address",
            "speichert unser Newsletter-Formular Ihre E-Mail-Adresse",
            "notre formulaire de newsletter conserve votre adresse e-mail",
            "nuestro formulario del boletín guarda su dirección de correo electrónico",
        ],
        is_true: stores,
    },
    Claim {
        path: "/help",
        words: [
            "stores nothing about you",
            "speichert bei der Anmeldung nichts über Sie",
            "ne conserve rien sur vous",
            "no guarda nada sobre usted",
        ],
        is_true: |settings| !stores(settings),
    },
    Claim {
        path: "/help",
        words: [
            "Your IP address is not stored",
            "Ihre IP-Adresse wird nicht gespeichert",
            "Votre adresse IP n’est pas conservée",
            "Su dirección IP no se guarda",
        ],
        is_true: |settings| !stores_ip(settings),
    },
    Claim {
        path: "/help",
        words: [
            "Your IP address is stored",
            "Ihre IP-Adresse wird als Nachweis",
            "Votre adresse IP est conservée",
            "Su dirección IP se guarda",
        ],
        is_true: stores_ip,
    },
    Claim {
        path: "/",
        words: [
            "We also store your IP address",
            "speichern wir auch Ihre IP-Adresse",
            "Nous conservons aussi votre adresse IP",
            "También guardamos su dirección IP",
        ],
        is_true: stores_ip,
    },
    Claim {
        path: "/",
        words: [
            "don’t share it with anyone",
            "und geben sie nicht weiter",
            "ne la communiquons à personne",
            "no la compartimos con nadie",
        ],
        is_true: |settings| stores(settings) && !shares(settings),
    },
    Claim {
        path: "/",
        words: [
            "share it only with the services",
            "geben sie nur an die Dienste weiter",
            "ne la communiquons qu’aux services",
            "solo la compartimos con los servicios",
        ],
        is_true: |settings| stores(settings) && shares(settings),
    },
    Claim {
        path: "/",
        words: [
            "isn’t stored here",
            "wird hier nicht gespeichert.",
            "n’est pas conservée ici",
            "y no se guarda aquí",
        ],
        is_true: |settings| !stores(settings),
    },
    Claim {
        path: "/help",
        words: [
            "None of this is shared",
            "Nichts davon wird an Dritte weitergegeben",
            "Aucune de ces données n’est communiquée",
            "Ninguno de estos datos se comparte",
        ],
        is_true: |settings| stores(settings) && !shares(settings),
    },
    Claim {
        path: "/help",
        words: [
            "Only your address and the status of your subscription are shared",
            "Weitergegeben werden nur Ihre Adresse und der Status",
            "l’état de votre inscription sont communiqués",
            "Solo se comparten su dirección y el estado de su suscripción",
        ],
        is_true: |settings| stores(settings) && shares(settings),
    },
    Claim {
        path: "/help",
        words: [
            "when you confirmed",
            "wann Sie bestätigt haben",
            "celle de votre confirmation",
            "cuándo confirmó usted",
        ],
        is_true: |settings| settings.opt_in_ms.is_some(),
    },
    Claim {
        path: "/help",
        words: [
            "sent to nobody else, and not stored",
            "an niemanden weitergegeben und nicht gespeichert",
            "ne sont transmis à personne d’autre et ne sont pas conservés",
            "no se envían a nadie más y no se guardan",
        ],
        is_true: |settings| !settings.has_model && !stores_questions(settings),
    },
    Claim {
        path: "/help",
        words: [
            "sent to nobody else. Questions the chat can’t answer are stored for 30 days",
            "an niemanden weitergegeben. Fragen, die der Chat nicht beantworten kann, werden 30 Tage lang ohne \
             Angaben zu Ihrer Person gespeichert",
            "ne sont transmis à personne d’autre. Les questions auxquelles le chat ne sait pas répondre sont \
             conservées pendant 30 jours",
            "no se envían a nadie más. Las preguntas que el chat no sabe responder se guardan durante 30 días",
        ],
        is_true: stores_questions,
    },
    Claim {
        path: "/",
        words: [
            "Your messages aren’t stored",
            "Ihre Nachrichten werden nicht gespeichert",
            "Vos messages ne sont pas conservés",
            "Sus mensajes no se guardan",
        ],
        is_true: |settings| !settings.has_model && !stores_questions(settings),
    },
    Claim {
        path: "/",
        words: [
            "Questions it can’t answer are stored for 30 days",
            "Unbeantwortete Fragen werden 30 Tage lang gespeichert",
            "restées sans réponse sont conservées 30 jours",
            "Las preguntas sin respuesta se guardan durante 30 días",
        ],
        is_true: stores_questions,
    },
    Claim {
        path: "/help",
        words: [
            "they are sent to a language model",
            "aber an ein Sprachmodell gesendet",
            "ils sont envoyés à un modèle de langage",
            "se envían a un modelo de lenguaje",
        ],
        is_true: |settings| settings.has_model,
    },
    Claim {
        path: "/",
        words: [
            "are sent to that model",
            "werden an dieses Modell gesendet",
            "sont envoyés à ce modèle",
            "se envían a ese modelo",
        ],
        is_true: |settings| settings.has_model,
    },
    Claim {
        path: "/help",
        words: [
            "The only cookie comes from the chat",
            "Das einzige Cookie stammt vom Chat",
            "Le seul cookie est celui du chat",
            "La única cookie es la del chat",
        ],
        is_true: has_cookie,
    },
    Claim {
        path: "/help",
        words: [
            "No cookies are set",
            "Es werden keine Cookies gesetzt",
            "Le site ne dépose aucun cookie",
            "No se crean cookies",
        ],
        is_true: |settings| !has_cookie(settings),
    },
    Claim {
        path: "/help",
        words: [
            "Nobody can look up here",
            "Niemand kann hier nachsehen",
            "Personne ne peut vérifier ici",
            "Nadie puede comprobar aquí",
        ],
        is_true: |_settings| true,
    },
];

/// Those that the guide lacks.
const CLAIMS_OF_HELP: [Claim; 3] = [
    Claim {
        path: "/help",
        words: [
            "Your chat messages are not stored here.",
            "Ihre Chatnachrichten werden hier nicht gespeichert.",
            "Vos messages dans le chat ne sont pas conservés ici.",
            "Sus mensajes del chat no se guardan aquí.",
        ],
        is_true: |settings| !stores_questions(settings),
    },
    Claim {
        path: "/help",
        words: [
            "so there is nothing to delete",
            "und müssen deshalb nicht gelöscht werden",
            "il n’y a rien à supprimer",
            "no hay nada que borrar",
        ],
        is_true: |settings| !stores_questions(settings),
    },
    Claim {
        path: "/help",
        words: [
            "without a record of who asked, and deleted automatically after 30 days",
            "ohne Angaben zu Ihrer Person gespeichert und nach 30 Tagen automatisch gelöscht",
            "supprimées automatiquement au bout de 30 jours",
            "se borran automáticamente al cabo de 30 días",
        ],
        is_true: stores_questions,
    },
];

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
        of_way.filter(|settings| settings.opt_in_ms.is_none() || stores(settings))
    });
    ways.collect()
}

/// The text of the page at `path` in `language`.
fn page(site: &Site, path: &str, language: Language) -> String {
    let document = site
        .documents
        .iter()
        .find(|document| document.path == path)
        .unwrap();
    let mut forms = document
        .representations
        .iter()
        .filter(|form| form.media_type == HTML);
    let form = forms.find(|form| form.language.is_none_or(|own| own == language));
    text(form.unwrap()).to_owned()
}

#[test]
fn no_page_says_what_a_flag_makes_false() {
    for settings in combinations() {
        let facts = SiteFacts {
            settings,
            logo: None,
            picture: None,
        };
        let site = render(&facts);
        for language in Language::ALL {
            for claim in CLAIMS.iter().chain(&CLAIMS_OF_HELP) {
                let at = Language::ALL
                    .iter()
                    .position(|known| *known == language)
                    .unwrap();
                let words = claim.words[at];
                let is_told = page(&site, claim.path, language).contains(words);
                let is_true = (claim.is_true)(&facts.settings);
                assert_eq!(
                    is_told, is_true,
                    "{words} on {}: {:?}",
                    claim.path, facts.settings
                );
            }
        }
        // The guide makes the statements of the help page.
        let guide = page(&site, "/docs", Language::English);
        for claim in CLAIMS.iter().filter(|claim| claim.path == "/help") {
            let is_true = (claim.is_true)(&facts.settings);
            assert_eq!(
                guide.contains(claim.words[0]),
                is_true,
                "{}: {:?}",
                claim.words[0],
                facts.settings
            );
        }
    }
}
