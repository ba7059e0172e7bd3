//! The columns of exports of other programs, and the words in them that say who may be written to.
//!
//! A column that may carry consent is never just not read: it is known, or the operator says what it means.

use crate::config::ColumnMeaning::{
    self, Confirmed, Email, Ignore, MaybeStatus, Status, Subscribed, SubscribedAt, Unsubscribed,
};
use crate::domain::quoted;

/// Names of columns in the exports of listmonk, Mailchimp, Ghost, Keila, phpList, Brevo, Buttondown, Mailtrain, Kit,
/// MailerLite, MailPoet, Substack, Klaviyo, HubSpot and Shopify, and of the service's own, as [`letters`] has them.
const NAMES: [(ColumnMeaning, &str); 8] = [
    (
        Email,
        "email emailaddress mail mailaddress subscriber emailadresse mailadresse adresseemail courriel correo \
         correoelectronico",
    ),
    (SubscribedAt, "subscribedat"),
    (
        Status,
        "status subscriptionstatus subscriberstatus subscribertype globalstatus liststatus emailstatus contactstatus \
         memberstatus emailmarketing emailmarketingconsent emailmarketingstatus statut stato estatus",
    ),
    (MaybeStatus, "type state estado etat"),
    (
        Unsubscribed,
        "unsubscribed isunsubscribed unsubscribedat unsubscribeat unsubscribedon unsubtime unsubscribetime \
         unsubscribedate unsubscriptiondate unsubscribedfromallemail cleantime cleaned deleted deletedat blacklisted \
         blocklisted blocked blacklist blocklist isblacklisted isblocklisted emailblacklisted emailblocklisted \
         isthisuserblacklisted isthissubscriberblacklisted blacklistedat blocklistedat blockedat bounced isbounced \
         bouncedat bouncetime hardbounced hardbounce complained complainedat complaintdate spam disabled isdisabled \
         emaildisabled isthisaccountdisabled optout optedout emailoptout hasoptedoutofemail optouttime donotemail \
         donotcontact suppressed issuppressed undeliverable undeliverableat undeliverabilitydate unreachable \
         abgemeldet abgemeldetam gesperrt geloscht geloescht desinscrit desabonne bloque supprime baja bloqueado",
    ),
    (
        Subscribed,
        "subscribed issubscribed subscribedtoemails active isactive enabled isenabled newsletter acceptsmarketing \
         acceptsemailmarketing aktiv actif activo abonniert abonne inscrit suscrito",
    ),
    (
        Confirmed,
        "confirmed isconfirmed isthisuserconfirmed isthissubscriberconfirmed doubleoptin optin optedin verified \
         didthissubscribermanuallyconfirm emailverified bestatigt bestaetigt confirme confirmado",
    ),
    (
        Ignore,
        "confirmedat acceptssmsmarketing confirmtime confirmip confirmedip confirmationtime confirmationip optintime optinip optindate \
         doubleoptinat consenttext unsubscribeurl unsubcampaigntitle unsubcampaignid unsubreason unsubreasonother \
         cleancampaigntitle cleancampaignid activesubscription bouncecount numberofbounces howmanybounces \
         subscribepage whichpagewasusedtosubscribe subscriberid",
    ),
];

/// Parts of names that speak of consent.
const SPEAKING: &str = "status statut stato consent optin optout opted subscri unsub inscri abonn suscri bounc rebot block \
    black bloqu suppress supprim complain spam abuse junk confirm verif activ aktiv actif enabl disabl delet remov clean \
    gdpr dsgvo rgpd permi marketing newsletter donot dont nomail noemail invalid undeliver reach mailable contactable \
    cancel stop reject refus rechaz declin denied deny banned revo withdr accept agree approv allow exclu archiv oppos \
    einwillig zustimm erlaub abmeld abgemeld anmeld angemeld austrag ausgetrag abbestell kundig kuendig widerr widerspr \
    sperr losch loesch bestatig bestaetig werb desab autoris autoriz baja borrad elimin";

const SUBSCRIBED_WORDS: &str = "subscribed active enabled confirmed activated regular premium gifted trialed churning pastdue \
    optin optedin subscriber abonniert aktiv angemeldet bestatigt abonne actif inscrit suscrito activo";
const UNCONFIRMED_WORDS: &str = "pending unconfirmed unactivated notconfirmed notsubscribed nonsubscribed neversubscribed \
    never waiting awaitingconfirmation validating optinpending doubleoptinpending unverified unbestatigt";
const UNSUBSCRIBED_WORDS: &str = "unsubscribed unsubscribe cleaned bounced bounce hardbounced hardbounce softbounced blocklisted \
    blacklisted blocked complained complaint complainer disabled deleted removed unreachable undeliverable cancelled \
    canceled inactive deactivated spam spammy malicious abuse junk suppressed optout optedout paused archived invalid \
    refused revoked withdrawn abgemeldet inaktiv gesperrt geloscht geloescht desabonne desinscrit inactif supprime \
    bloque baja inactivo bloqueado eliminado";

const YES: &str = "1 true yes y t on ja oui si x";
const NO: &str =
    "0 false no n f off nein non null none nil nan - \\n 0000-00-00 0000-00-00T00:00:00";

/// Whether a contact may be written to. Of several columns the last of these counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    Subscribed,
    Unconfirmed,
    Unsubscribed,
}

fn holds(words: &str, word: &str) -> bool {
    words.split_ascii_whitespace().any(|known| known == word)
}

/// The letters of a name, small and without accents.
fn letters(name: &str) -> String {
    let plain = |letter: char| match letter {
        'à' | 'á' | 'â' | 'ã' | 'ä' => 'a',
        'è' | 'é' | 'ê' | 'ë' => 'e',
        'ì' | 'í' | 'î' | 'ï' => 'i',
        'ò' | 'ó' | 'ô' | 'õ' | 'ö' => 'o',
        'ù' | 'ú' | 'û' | 'ü' => 'u',
        'ñ' => 'n',
        'ç' => 'c',
        other => other,
    };
    let letters = name.chars().flat_map(char::to_lowercase).map(plain);
    letters.filter(char::is_ascii_lowercase).collect()
}

/// What the column `name` means: as the operator has `given` it, or as it is known. `None` if it may carry consent.
pub(super) fn meaning_of(name: &str, given: &[(String, ColumnMeaning)]) -> Option<ColumnMeaning> {
    let is_given = |(column, _): &&(String, _)| column.trim().eq_ignore_ascii_case(name.trim());
    if let Some((_, meaning)) = given.iter().find(is_given) {
        return Some(*meaning);
    }
    let name = letters(name);
    let known = NAMES.iter().find(|(_, names)| holds(names, &name));
    let mut speaking = SPEAKING.split_ascii_whitespace();
    match known {
        Some((meaning, _)) => Some(*meaning),
        None => (!speaking.any(|part| name.contains(part))).then_some(Ignore),
    }
}

/// What a cell says of a contact, in a column of this meaning and name.
///
/// # Errors
/// When it cannot be known, in words.
pub(super) fn standing(
    (meaning, name): (ColumnMeaning, &str),
    cell: &str,
) -> Result<Standing, String> {
    use Standing::{Subscribed as Granted, Unconfirmed, Unsubscribed as Refused};
    let (flag, word) = (cell.trim().to_lowercase().replace(' ', "T"), letters(cell));
    let flag = flag.split('.').next().unwrap_or_default();
    let is_time = flag.len() >= 8 && flag.starts_with(|first: char| first.is_ascii_digit());
    let (is_no, is_yes) = (
        flag.is_empty() || holds(NO, flag),
        holds(YES, flag) || is_time,
    );
    let of_word = match &*word {
        _ if holds(UNSUBSCRIBED_WORDS, &word) => Some(Refused),
        _ if holds(UNCONFIRMED_WORDS, &word) => Some(Unconfirmed),
        _ if holds(SUBSCRIBED_WORDS, &word) => Some(Granted),
        _ => None,
    };
    let found = match meaning {
        Email | SubscribedAt | Ignore => Some(Granted),
        Status if flag.is_empty() => Some(Granted),
        Status => of_word,
        MaybeStatus => Some(of_word.unwrap_or(Granted)),
        Unsubscribed if is_no => Some(Granted),
        Unsubscribed => Some(of_word.unwrap_or(Refused)),
        Subscribed | Confirmed if is_yes => Some(Granted),
        Subscribed if is_no => Some(Refused),
        Subscribed => of_word,
        Confirmed => Some(of_word.unwrap_or(Unconfirmed)),
    };
    found.ok_or_else(|| unusable(name, cell, "unknown"))
}

/// Why a contact is left out, for the cell that says so.
pub(super) fn unusable(name: &str, cell: &str, why: &str) -> String {
    let [name, cell] = [name, cell].map(|text| quoted(text.as_bytes(), None));
    format!("the status must be subscribed or unsubscribed, but \"{cell}\" in {name} is {why}")
}
