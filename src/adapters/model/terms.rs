//! Texts as terms: what the embedded model compares.

use frostem::{Algorithm, Stemmer};

/// Longer words, in bytes, are no English: they are taken as they are.
const WORD_LEN_MAX: usize = 32;

/// Words that say how a question is asked, not what it is about.
const STOP_WORDS: &str = "\
    a able about after again all allowed also am an and any anybody anyone are as at be because been before \
    being but by can could d did do does doing done else ever every find finding for from get gets getting give \
    go going got had has have hello help hey hi how however i if in into is it its just know let \
    like ll long m make making many may maybe me mean means might more most much must my need needs no not now obtain of \
    off ok on once one only or other our ours out over own per please put possible question re s same \
    see set several shall she should so some somebody someone something still such t take taken tell than thank \
    thanks that the their them then there these they thing things this those through time times to too under \
    up us use used using ve very want wants was way we well were what when where whether which \
    while who whom whose why will with without work working works would yes you your yours";

/// Pairs of words that are one.
const PAIRS: [(&str, &str, &str); 19] = [
    ("sign", "up", "subscribe"),
    ("signing", "up", "subscribe"),
    ("sign", "ups", "subscribe"),
    ("e", "mail", "email"),
    ("e", "mails", "email"),
    ("sign", "in", "login"),
    ("log", "in", "login"),
    ("signed", "in", "login"),
    ("signed", "up", "subscribe"),
    ("back", "up", "backup"),
    ("backed", "up", "backup"),
    ("rate", "limit", "ratelimit"),
    ("rate", "limits", "ratelimit"),
    ("mailing", "list", "newsletter"),
    ("me", "off", "unsubscribe"),
    ("opt", "out", "unsubscribe"),
    ("too", "many", "throttle"),
    ("retry", "after", "retryafter"),
    ("already", "exists", "alreadyexists"),
];

/// Words that people use for one another. Each list is about one thing, by stem of any word in it.
const SYNONYMS: [&[&str]; 26] = [
    &["email", "mail"],
    &["subscribe", "newsletter", "join", "add"],
    &[
        "unsubscribe",
        "leave",
        "delete",
        "erase",
        "remove",
        "forget",
    ],
    &["assistant", "chat", "chatbot", "bot", "talk"],
    &["limit", "ratelimit", "quota"],
    &["key", "token", "credential"],
    &["free", "pay", "price", "cost"],
    &["account", "login", "registration"],
    &["error", "problem", "failure"],
    &["invalid", "wrong", "bad", "rejected", "refused"],
    &["member", "field", "parameter", "property"],
    &["health", "status", "uptime", "monitor", "alive"],
    &["sandbox", "test", "try", "echo"],
    &["store", "save", "keep", "remember"],
    &["privacy", "personal", "tracking", "gdpr"],
    &["openapi", "swagger", "sdk"],
    &["guide", "documentation", "docs", "manual"],
    &["expire", "lifetime", "valid", "last"],
    &["left", "remaining"],
    &["day", "hour", "minute", "window"],
    &["absent", "missing"],
    &["legacy", "former", "alias"],
    &["start", "run", "install", "launch", "deploy"],
    &["server", "binary"],
    &["proxy", "nginx", "caddy"],
    &["agent", "ai", "automation", "script"],
];

/// The terms of `text`: stems of its words in lowercase, without stop words, in their order.
pub(super) fn terms(text: &str) -> Vec<String> {
    let lowercase = text.to_lowercase();
    let mut words = lowercase
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .peekable();
    let mut terms = Vec::new();
    while let Some(word) = words.next() {
        let whole = words.peek().and_then(|next| one_of_two(word, next));
        if let Some(whole) = whole {
            words.next();
            terms.push(stem(whole));
        } else if !is_stop_word(word) {
            terms.push(stem(word));
        }
    }
    terms
}

/// Every list of words that mean the same, as terms.
pub(super) fn synonyms() -> Vec<Vec<String>> {
    SYNONYMS
        .iter()
        .map(|group| group.iter().map(|word| stem(word)).collect())
        .collect()
}

fn stem(word: &str) -> String {
    if word.len() > WORD_LEN_MAX {
        return word.to_owned();
    }
    Stemmer::new(Algorithm::English).stem(word).into_owned()
}

fn one_of_two(first: &str, second: &str) -> Option<&'static str> {
    PAIRS
        .iter()
        .find(|(one, two, _)| *one == first && *two == second)
        .map(|(_, _, whole)| *whole)
}

fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.split_ascii_whitespace().any(|stop| stop == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_stems_and_the_asking_is_left_out() {
        for (text, expected) in [
            ("How do I subscribe?", &["subscrib"][..]),
            ("Where can I sign up?", &["subscrib"]),
            ("e-mail E-Mails email", &["email", "email", "email"]),
            ("X-API-Key", &["x", "api", "key"]),
            ("HTTP 429: Retry-After", &["http", "429", "retryaft"]),
            ("the of and", &[]),
            ("東京の天気", &["東京の天気"]),
        ] {
            assert_eq!(terms(text), expected, "{text}");
        }
    }

    #[test]
    fn synonyms_are_terms() {
        for group in synonyms() {
            for synonym in &group {
                assert!(!synonym.is_empty(), "{group:?}");
            }
            assert!(group.len() > 1, "{group:?}");
        }
    }
}
