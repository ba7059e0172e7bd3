//! The assistant on the operator's own pages, which have no examples beside their sentences: those of the folders in
//! `questions/`, each beside what their visitors ask, a line each behind what the answer tells.

use super::render;
use super::shops::shop;
use crate::assistant_pages::{ask, reply};
use crate::prelude::*;

/// What visitors ask a yard that rents cranes, behind the section that answers it, of the operator's pages or of the
/// service's own, or none.
const OF_YARD: &str = include_str!("../questions/yard.txt");

#[tokio::test]
async fn the_operators_pages_and_those_of_the_service_answer_side_by_side() {
    let site = shop("yard");
    let model = PassageModelClient::new(&site.passages, &site.assistant_texts);
    let mut wrong = Vec::new();
    for [section, question] in rows(OF_YARD) {
        let reply = ask(&model, question).await;
        let end = reply.lines().last().unwrap_or_default();
        let end = end.trim_end_matches(')');
        let anchor = end.split_once('#').map_or("", |(_, anchor)| anchor);
        let is_lead = section == "crane-rental" && end.ends_with("/rental");
        if anchor != section && !is_lead {
            wrong.push(format!("{section}: {question} -> {end}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn a_passage_without_words_is_quoted_by_its_title() {
    let page = "# Maps\n\n## Site plan\n\n![](crane.jpg)\n\n## \u{1f3d7}\n\nLook up.\n";
    let site = render(&[("maps.md", page)]).unwrap();
    let model = PassageModelClient::new(&site.passages, &site.assistant_texts);
    let reply = ask(&model, "site plan").await;
    assert!(reply.starts_with("**Site plan**\n\nMore: "), "{reply}");
    // A title without a word is not what is asked for.
    let reply = ask(&model, "what is the capital of the world").await;
    assert!(!reply.contains("Look up"), "{reply}");
}

#[tokio::test]
async fn a_question_for_the_place_finds_the_page_that_leads_there() {
    let page = "# So finden Sie uns\n\nDer Laden liegt in der Lindenstraße 12 in Lüneburg.\n";
    let site = render(&[("besuch.md", page)]).unwrap();
    let model = PassageModelClient::new(&site.passages, &site.assistant_texts);
    let reply = ask(&model, "Wo seid ihr?").await;
    assert!(reply.starts_with("**So finden Sie uns**"), "{reply}");
}

/// Pages, and questions behind what their answers tell; nothing where a refusal is right.
const FACTS: [(&str, &str); 6] = [
    // Visitors use other words than the pages.
    ("bakery", include_str!("../questions/bakery.txt")),
    // The address, number and hours appear without the words for them, with passages that are easily mistaken for
    // each other.
    ("nursery", include_str!("../questions/nursery.txt")),
    // A page in each language, of which none says how heavy a table is, or of what colour.
    ("inns", include_str!("../questions/inns.txt")),
    // Pages begin with a section, as most do, and two have the same number.
    ("studio", include_str!("../questions/studio.txt")),
    // Compounds; hours and prices that are a neighbour's or another product's.
    ("dairy", include_str!("../questions/dairy.txt")),
    // The same in Spanish.
    ("taller", include_str!("../questions/taller.txt")),
];

#[tokio::test]
async fn a_passage_answers_in_whatever_words_but_only_if_it_has_what_is_asked_for() {
    let mut wrong = String::new();
    for (name, questions) in FACTS {
        let site = shop(name);
        let model = PassageModelClient::new(&site.passages, &site.assistant_texts);
        for [fact, question] in rows(questions) {
            let reply = ask(&model, question).await;
            let mut texts = site.assistant_texts.iter();
            let is_refusal = texts.any(|it| reply.starts_with(&it.unanswered));
            if is_refusal != fact.is_empty() || !reply.contains(fact) {
                wrong += &format!("{question} -> {reply}\n");
            }
        }
    }
    assert_eq!(wrong, "");
}

#[tokio::test]
async fn a_refusal_offers_what_most_visitors_ask_and_no_imprint() {
    let site = shop("studio");
    let model = PassageModelClient::new(&site.passages, &site.assistant_texts);
    let refusal = ask(&model, "who won the match").await;
    let offered = "\n\n+ Opening hours\n+ Where we are\n+ Evenings\n\n";
    assert!(refusal.contains(offered), "{refusal}");
}

#[tokio::test]
async fn a_question_that_goes_on_is_read_with_the_one_before_even_if_it_has_an_answer_of_its_own() {
    let site = shop("studio");
    let model = PassageModelClient::new(&site.passages, &site.assistant_texts);
    for (newest, told) in [
        ("and on Sundays?", "10 am to 5 pm"),
        ("on Sundays?", "from 8"),
    ] {
        let turns = [
            (Role::User, "are you open on Fridays?"),
            (Role::User, newest),
        ];
        let reply = reply(&model, &turns).await;
        assert!(reply.contains(told), "{newest}: {reply}");
    }
}

#[tokio::test]
async fn of_two_pages_that_match_neither_answers_nor_the_services_own() {
    let page = "# Courses\n\n## Pottery\n\nTuesdays. Sign up at the desk.\n\n\
                ## Weaving\n\nFridays. Sign up at the desk.\n";
    let site = render(&[("courses.md", page)]).unwrap();
    let model = PassageModelClient::new(&site.passages, &site.assistant_texts);
    for (question, told) in [
        ("How do I sign up?", "+ Pottery\n+ Weaving\n"),
        ("where do I sign up?", "+ Pottery\n+ Weaving\n"),
        ("how do I join?", "+ Pottery\n+ Weaving\n"),
        ("How do I sign up for the newsletter?", "**How do I sign up"),
    ] {
        let reply = ask(&model, question).await;
        assert!(reply.contains(told), "{question}: {reply}");
    }
}

#[tokio::test]
async fn two_details_may_stand_in_two_sentences() {
    let page = "# Visit\n\n## Admission\n\nAdmission is €5. We are open from 9:00 to 18:00.\n";
    let site = render(&[("visit.md", page)]).unwrap();
    let model = PassageModelClient::new(&site.passages, &site.assistant_texts);
    for (question, is_answered) in [
        ("What does admission cost and when are you open?", true),
        (
            "What does admission cost and what is your phone number?",
            false,
        ),
    ] {
        let reply = ask(&model, question).await;
        assert_eq!(reply.contains("Admission is €5."), is_answered, "{reply}");
    }
}

#[tokio::test]
async fn a_title_is_found_without_its_accents() {
    let page = "# Estudio\n\n## Qué es\n\nVasijas.\n\n## Œuvre\n\nCien platos.\n";
    let site = render(&[("estudio.md", page)]).unwrap();
    let model = PassageModelClient::new(&site.passages, &site.assistant_texts);
    for (question, told) in [("que es", "Vasijas"), ("oeuvre", "Cien platos")] {
        let reply = ask(&model, question).await;
        assert!(reply.contains(told), "{question}: {reply}");
    }
}

#[tokio::test]
async fn of_a_thousand_terms_in_every_turn_the_first_40_are_read() {
    let site = shop("cycles");
    let words = |count| {
        ('一'..)
            .take(count)
            .map(|word| format!("{word} "))
            .collect()
    };
    let [text, question]: [String; 2] = [words(40), words(1000)];
    let mut passages = site.passages.clone();
    let own = passages.iter_mut().find(|passage| passage.is_own).unwrap();
    own.text.clone_from(&text);
    let model = PassageModelClient::new(&passages, &site.assistant_texts);
    let reply = reply(&model, &[(Role::User, question.as_str()); 12]).await;
    assert!(reply.contains(text.trim_end()), "{reply}");
}

#[test]
fn question_words_are_stop_words() {
    let site = render(&[]).unwrap();
    for texts in &site.assistant_texts {
        let language = texts.language;
        assert!(!texts.question_words.is_empty(), "{language:?}");
        for word in &texts.question_words {
            assert!(texts.stop_words.contains(word), "{language:?}: {word}");
        }
    }
}
