//! Invented shops, and what their visitors ask. The questions were written before the assistant was asked any of them,
//! and no synonym, hint or constant may follow from which of them fail. Since the first time, some synonyms have, from
//! those of the school of cooking and of the florist, whose visitors type as people do on a phone.

use landing_api::site::Site;

use super::render;
use crate::assistant_pages::ask;
use crate::prelude::*;

/// A folder of pages in `questions/`, its questions, each with what its answer tells, or nothing if no page does, and
/// how many were answered rightly, or rightly refused.
const SHOPS: [(&str, &str, usize); 4] = [
    ("cycles", include_str!("../questions/cycles.txt"), 15),
    ("roastery", include_str!("../questions/roastery.txt"), 12),
    (
        "kochschule",
        include_str!("../questions/kochschule.txt"),
        17,
    ),
    ("fleuriste", include_str!("../questions/fleuriste.txt"), 21),
];

/// The site with the pages of that folder.
pub(super) fn shop(name: &str) -> Site {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/questions");
    let files = fs::read_dir(folder.join(name)).unwrap().map(|entry| {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        (name, fs::read_to_string(entry.path()).unwrap())
    });
    let files: BTreeMap<_, _> = files.collect();
    let files: Vec<_> = files
        .iter()
        .map(|(name, text)| (&**name, &**text))
        .collect();
    render(&files).unwrap()
}

/// The topics that a refusal proposes; none if `reply` is no refusal.
fn proposed<'a>(site: &Site, reply: &'a str) -> Vec<&'a str> {
    let mut texts = site.assistant_texts.iter();
    if !texts.any(|it| reply.starts_with(&it.unanswered)) {
        return Vec::new();
    }
    let lines = reply.lines();
    lines.filter_map(|line| line.strip_prefix("+ ")).collect()
}

#[tokio::test]
async fn an_introduction_does_not_answer_for_its_sections() {
    let page = "# Rooms and prices\n\nWe have twelve rooms, all with a view of the lake.\n\n\
                ## Single room\n\nA single costs €70 with breakfast.\n\n\
                ## Double room\n\nA double costs €90 with breakfast.\n";
    let site = render(&[("rooms.md", page)]).unwrap();
    let model = PassageModelClient::new(&site.passages, &site.assistant_texts);
    let reply = ask(&model, "How much do rooms cost?").await;
    assert!(!reply.contains("We have twelve rooms"), "{reply}");
}

#[tokio::test]
async fn visitors_of_a_shop_are_answered_from_its_pages_or_shown_its_headings() {
    for (name, questions, right_min) in SHOPS {
        let site = shop(name);
        let model = PassageModelClient::new(&site.passages, &site.assistant_texts);
        let own = site.passages.iter().filter(|passage| passage.is_own);
        let own: Vec<_> = own.collect();
        let (mut right, mut wrong, mut refused) = (0, Vec::new(), Vec::new());
        for [fact, question] in rows(questions) {
            let reply = ask(&model, question).await;
            let proposed = proposed(&site, &reply);
            for topic in &proposed {
                let is_own = own.iter().any(|passage| passage.title == *topic);
                assert!(is_own, "{question}: {reply}");
            }
            let is_refused = proposed.len() == 3;
            let mut urls = own.iter().map(|passage| format!("({})", passage.url));
            let is_own = urls.any(|url| reply.ends_with(&url));
            assert!(is_refused || is_own, "{question}: {reply}");
            if is_refused == fact.is_empty() && reply.contains(fact) {
                right += 1;
            } else if is_refused {
                refused.push(question);
            } else {
                wrong.push(format!("{question}: {reply}"));
            }
        }
        let all = format!("{name}: {right} right, refused {refused:?}, wrong {wrong:#?}");
        assert!(wrong.len() <= 1 && right >= right_min, "{all}");
    }
}
