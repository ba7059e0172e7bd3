//! What visitors ask that the embedded model has not learned from, in its four languages. These questions
//! were written apart from the examples in `data/assistant/`, and are NOT to be learned from: no example,
//! hint or constant may follow from which of them fail. A list that has been looked at is spent: move it to
//! the examples, and write another.

use std::collections::BTreeMap;

use landing_api::domain::language::Language;

use crate::assistant_pages::{ask, facts_with_erp, model};
use crate::site::render;

/// The sections of the help page in order, with sections of the English guide that answer as well.
const SECTIONS: [(&str, &[&str]); 19] = [
    ("site", &[]),
    ("sign-up", &[]),
    ("after", &[]),
    ("often", &[]),
    ("leave", &[]),
    ("delete", &[]),
    ("stored", &[]),
    ("cookies", &[]),
    ("cost", &[]),
    ("chat", &[]),
    ("quota", &[]),
    ("read", &[]),
    ("contact", &[]),
    ("safe", &[]),
    ("wrong", &[]),
    ("later", &[]),
    ("embed", &["put-a-sign-up-form-on-any-page"]),
    (
        "developers",
        &[
            "what-this-service-does",
            "make-your-first-request",
            "put-a-sign-up-form-on-any-page",
            "generate-a-client-from-the-openapi-description",
        ],
    ),
    (
        "key",
        &["decide-whether-you-need-a-key", "get-a-free-api-key"],
    ),
];

/// The questions of a language, and how they went when they were first asked.
struct List {
    language: Language,
    /// A line each: the sections that answer it, or `-` if none does.
    questions: &'static str,
    /// How many were answered right.
    right: usize,
    /// How many about other subjects got an answer.
    answered_off_topic: usize,
}

const LISTS: [List; 4] = [
    List {
        language: Language::English,
        questions: include_str!("questions/en.txt"),
        right: 57,
        answered_off_topic: 0,
    },
    List {
        language: Language::German,
        questions: include_str!("questions/de.txt"),
        right: 55,
        answered_off_topic: 1,
    },
    List {
        language: Language::French,
        questions: include_str!("questions/fr.txt"),
        right: 57,
        answered_off_topic: 1,
    },
    List {
        language: Language::Spanish,
        questions: include_str!("questions/es.txt"),
        right: 59,
        answered_off_topic: 0,
    },
];

/// How a list of questions went.
#[derive(Debug, Default)]
struct Score {
    asked: usize,
    right: usize,
    /// Questions about other subjects that got an answer.
    answered_off_topic: usize,
}

async fn score(list: &List) -> Score {
    let (model, site) = model();
    let is_help = |url: &str| url.contains("/help#") || url.contains("/help?");
    let passages = site.passages.iter();
    let help = passages.filter(|it| it.language == Some(list.language) && is_help(&it.url));
    let help: Vec<_> = help.map(|passage| passage.url.as_str()).collect();
    assert_eq!(help.len(), SECTIONS.len());
    let help: BTreeMap<_, _> = SECTIONS
        .iter()
        .zip(help)
        .map(|((name, guide), url)| (*name, (url, *guide)))
        .collect();
    let mut score = Score::default();
    for row in list.questions.lines() {
        let (expected, question) = row.split_once(": ").unwrap();
        let reply = ask(&model, question).await;
        let end = reply.lines().last().unwrap_or_default();
        let url = end
            .rsplit_once("](")
            .map(|(_, url)| url.trim_end_matches(')'));
        let url = url.filter(|url| site.passages.iter().any(|passage| passage.url == *url));
        let is_right = match (expected, url) {
            ("-", url) => url.is_none(),
            (sections, Some(url)) => sections.split('|').any(|section| {
                let (of_help, of_guide) = help[section];
                let anchor = url.split_once("/docs#").map_or("", |(_, anchor)| anchor);
                url == of_help || of_guide.contains(&anchor)
            }),
            (_, None) => false,
        };
        score.asked += 1;
        score.right += usize::from(is_right);
        score.answered_off_topic += usize::from(expected == "-" && url.is_some());
    }
    score
}

#[tokio::test]
async fn visitors_are_answered_as_well_as_when_they_first_asked() {
    for list in LISTS {
        let Score {
            asked,
            right,
            answered_off_topic,
        } = score(&list).await;
        let language = list.language;
        assert_eq!(asked, 60, "{language:?}");
        assert!(right >= list.right, "{language:?}: {right}");
        assert!(
            answered_off_topic <= list.answered_off_topic,
            "{language:?}: {answered_off_topic}"
        );
    }
}

/// The examples of `data/assistant/`, by heading.
fn examples(file: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut examples: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let mut heading = "";
    for line in file.lines().filter(|line| !line.is_empty()) {
        match line.strip_prefix("# ") {
            Some(title) => heading = title,
            None => examples.entry(heading).or_default().push(line),
        }
    }
    examples
}

/// The words of a question, whatever its case and marks.
fn words(question: &str) -> Vec<String> {
    let words = question.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

#[test]
fn the_examples_are_of_sections_that_there_are_and_are_none_of_these_questions() {
    let files = [
        include_str!("../../data/assistant/questions.en.txt"),
        include_str!("../../data/assistant/questions.de.txt"),
        include_str!("../../data/assistant/questions.fr.txt"),
        include_str!("../../data/assistant/questions.es.txt"),
    ];
    let site = render(&facts_with_erp());
    for (list, file) in LISTS.into_iter().zip(files) {
        let examples = examples(file);
        let passages = site.passages.iter();
        let passages = passages.filter(|it| it.language.is_none_or(|it| it == list.language));
        let titles: Vec<_> = passages.map(|it| it.title.as_str()).collect();
        for (heading, examples) in &examples {
            let is_other = *heading == "-" || heading.starts_with("- ");
            assert!(is_other || titles.contains(heading), "{heading}");
            assert!(examples.len() > 5, "{heading}");
        }
        let all = titles.iter().chain([&"-"]);
        let missing: Vec<_> = all.filter(|it| !examples.contains_key(*it)).collect();
        assert!(missing.is_empty(), "{:?}: {missing:?}", list.language);
        for row in list.questions.lines() {
            let (_, question) = row.split_once(": ").unwrap();
            let mut all = examples.values().flatten();
            let is_example = all.any(|it| words(it) == words(question));
            assert!(!is_example, "{question}");
        }
    }
}
