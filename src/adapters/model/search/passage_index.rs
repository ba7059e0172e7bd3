//! The passages that readers of one language get, and how a question finds its passage.
//!
//! The service's own sections come with examples of questions: a classifier has learned from them, with the
//! sections as its classes, and classes of questions about other subjects. What is more like those has no answer
//! there. The operator's pages have no such examples, and are found by their terms; nothing answers if two of their
//! passages do so nearly as well. Where both the operator's pages and the service's answer, the operator's do.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::domain::{AssistantTexts, Courtesy, Passage};

use crate::adapters::model::search::features::{feature, features, folded, stem, words};
use crate::adapters::model::search::naive_bayes::{NaiveBayes, float, inverse_document_frequency};
use crate::adapters::model::search::quotation::cut;
use crate::adapters::model::search::terms::{Terms, Topic};

// The first three are natural logarithms. They were chosen by cross-validation over the examples of
// `data/assistant/`: higher ones refuse more questions about other subjects, and more of the right ones.
// `tests/it/assistant_visitors.rs` checks them.

/// The penalty of the sections against other subjects if none has a word of the question; less if they have
/// some of its words.
const UNKNOWN_PENALTY_MAX: f64 = 20.0;
/// Minimum log-odds of an answer against other subjects: no answer is better than a wrong one.
const LOG_ODDS_MIN: f64 = 0.7;
/// The same beside pages of the operator's: most of what their visitors ask is not about the service.
const LOG_ODDS_BESIDE_MIN: f64 = 5.0;
/// The weight of the question before, if the newest one is read with it.
const EARLIER_SHARE: f64 = 0.5;

// Chosen on the pages of invented companies. Higher minimums refuse more of what the pages do not tell, and of what
// they tell in other words.

/// A passage must cover this share of the subjects of a question to answer it.
const COVERAGE_MIN: f64 = 0.66;
/// The share that a statement gets for a subject that only the rest of its passage has.
const PASSAGE_SHARE: f64 = 0.9;
/// The passage that answers must be this much better than any other, even one that does not cover enough: no answer is
/// better than a wrong one.
const LEAD_MIN: f64 = 1.1;
/// A passage that covers this much has the question's own words: it comes before passages with synonyms, and answers
/// even if other passages do, too.
const WHOLE: f64 = 0.99;
/// Factor for a passage whose title the question names.
const NAMED_FACTOR: f64 = 1.3;
/// Bonus of a subject in title or hints, as a share of its weight.
const TITLE_BONUS: f64 = 0.8;
/// The same of a detail: the bouquet's price is told under "Bouquets" rather than under "Prices".
const DETAIL_BONUS: f64 = 0.4;
/// The share of its weight that a vague term keeps.
const VAGUE_SHARE: f64 = 0.15;

/// A question of at most this many words is read together with the one before.
const FOLLOW_UP_WORDS_MAX: usize = 5;
/// Topics that a refusal offers.
const TOPICS: usize = 3;

/// The passages and texts for readers of a language.
#[derive(Debug)]
pub(super) struct PassageIndex {
    pub(super) terms: Terms,
    /// The operator's, the introductions of pages first.
    own: Vec<OwnPassage>,
    /// The service's.
    sections: Vec<Arc<Passage>>,
    /// Its classes are the sections and, after them, the other subjects.
    classifier: NaiveBayes,
}

#[derive(Debug)]
struct OwnPassage {
    passage: Arc<Passage>,
    /// Of its title without the hints.
    heading: BTreeSet<Topic>,
    /// Of title and hints. The name of its page is no title: the introduction would answer for its sections.
    title: Topic,
    /// Of the title of its page.
    page: Topic,
    /// Of title, text and hints, and of the title of its page.
    all: Topic,
    /// Of each statement, read with title, hints and the title of its page: the price in the next sentence may be
    /// another product's.
    statements: Vec<Topic>,
    /// False for the introduction of the home page, and for imprint and privacy notice: they help nobody who asks for
    /// something else.
    is_offered: bool,
}

/// A passage compared with a question.
struct Ranked<'a> {
    score: f64,
    /// The share of the question's subjects that it covers, times [`NAMED_FACTOR`] if the question names it; 0 if no
    /// statement has a detail asked for, such as the price.
    coverage: f64,
    own: &'a OwnPassage,
}

impl PassageIndex {
    /// Those of `passages` that are for readers of the language of `texts`.
    pub(super) fn new(texts: AssistantTexts, passages: &[Arc<Passage>]) -> Self {
        let language = texts.language;
        let is_read = |passage: &&Arc<Passage>| passage.language.is_none_or(|own| own == language);
        let passages = passages.iter().filter(is_read).cloned();
        let (own, sections): (Vec<_>, Vec<_>) = passages.partition(|passage| passage.is_own);
        let example = |text: &str| features(language, text);
        let of_section = |section: &Arc<Passage>| {
            let sentences = section.prose().flat_map(|text| text.split_inclusive(". "));
            sentences.map(example).collect::<Vec<_>>()
        };
        let others = texts.other_subjects.iter();
        let others = others.map(|questions| questions.iter().copied().map(example).collect());
        let classes: Vec<_> = sections.iter().map(of_section).chain(others).collect();
        let terms = Terms::new(texts, own.iter().flat_map(|own| own.prose()));
        let indexed = |own| OwnPassage::new(own, &terms);
        let mut own: Vec<_> = own.into_iter().map(indexed).collect();
        let hours = terms.topics(["⌚"]);
        let has_times = |own: &&OwnPassage| !own.all.marked.is_disjoint(&hours.marked);
        let timed = own.iter().filter(has_times).count();
        // Of several passages with times, those without a word for opening hours tell when a course or a meal is.
        for own in own.iter_mut().filter(|_| timed > 1) {
            own.all.unmark(&hours);
            let statements = own.statements.iter_mut();
            statements.for_each(|one| one.marked = &one.marked & &own.all.marked);
        }
        own.sort_by_key(|own| (!own.is_offered, !own.passage.is_introduction()));
        Self {
            classifier: NaiveBayes::train(&classes),
            own,
            terms,
            sections,
        }
    }

    /// The number of words of `text` that are known in this language.
    pub(super) fn evidence(&self, text: &str) -> usize {
        let is_known = |word: &String| self.has_learned(word, usize::MAX) || self.terms.knows(word);
        words(text).filter(is_known).count()
    }

    /// The reply to thanks and the like, if `text` says nothing else.
    pub(super) fn courtesy(&self, text: &str) -> Option<String> {
        let said: Vec<_> = words(text).collect();
        let has = |list: &[&str], word: &String| list.contains(&word.as_str());
        let is_said = |courtesy: &&Courtesy| said.iter().any(|word| has(&courtesy.words, word));
        let courtesies = || self.terms.texts.courtesies.iter();
        let first = courtesies().find(is_said)?;
        let is_polite = |word: &String| {
            has(&self.terms.texts.fillers, word)
                || courtesies().any(|courtesy| has(&courtesy.words, word))
        };
        said.iter().all(is_polite).then(|| first.reply.clone())
    }

    /// The reply to a text that begins with thanks or praise and asks nothing.
    pub(super) fn closing(&self, text: &str) -> Option<String> {
        let asks = |word: String| self.terms.texts.question_words.contains(&&*word);
        let first = words(text).next()?;
        let closes = |closing: &&Courtesy| closing.is_closing && closing.words.contains(&&*first);
        let closing = self.terms.texts.courtesies.iter().find(closes)?;
        let is_question = text.contains('?') || words(text).any(asks);
        (!is_question).then(|| closing.reply.clone())
    }

    /// The answer from these pages: the passage under its heading.
    pub(super) fn answer(&self, question: &str, previous: &str) -> Option<String> {
        let before = match words(question).count() {
            0 => return Some(self.propose(&self.terms.texts.question, question)),
            1..=FOLLOW_UP_WORDS_MAX => previous,
            _ => "",
        };
        let passage = self.best(question, before)?;
        let (page, url) = (&passage.page, &passage.url);
        let text = cut(&passage.text).to_owned();
        let mut blocks = vec![format!("**{}**", passage.title), text];
        if passage.is_own && passage.is_introduction() {
            let own = self.own.iter().map(|own| &*own.passage);
            let sections = own.filter(|own| own.page == *page && !own.is_introduction());
            blocks.push(choices(sections.collect()));
        }
        blocks.push(format!("{} [{page}]({url})", self.terms.texts.more));
        // A passage may be a picture.
        blocks.retain(|block| !block.is_empty());
        Some(blocks.join("\n\n"))
    }

    /// `text`, a few topics of the pages, and where else there are answers.
    pub(super) fn propose(&self, text: &str, question: &str) -> String {
        let texts = &self.terms.texts;
        let (sections, _) = self.ranked_sections(question, "");
        let sections = sections.into_iter().map(|(_, section)| section);
        let closest = |subject: &&str| self.closest_own(subject).into_iter().next();
        let common: Vec<_> = texts.common_subjects.iter().map(closest).collect();
        // The last subject is the contact: a person can answer the rest.
        let person = common.last().copied().flatten();
        let asked = self.closest_own(question).into_iter();
        let own: Vec<_> = asked.chain(common.into_iter().flatten()).collect();
        let first = own.iter().take(TOPICS - 1);
        let own = first.chain(&person).chain(&own).copied();
        let mut closest: Vec<&Passage> = Vec::new();
        for topic in own.chain(sections) {
            if closest.len() < TOPICS && !closest.contains(&topic) {
                closest.push(topic);
            }
        }
        let (topics, elsewhere) = (&texts.topics, &texts.elsewhere);
        if closest.is_empty() {
            return format!("{text} {elsewhere}");
        }
        format!("{text} {topics}\n\n{}\n\n{elsewhere}", choices(closest))
    }

    /// The operator's passages that have a subject of `question`, those that have most of them first.
    fn closest_own(&self, question: &str) -> Vec<&Passage> {
        let mut asked = self.terms.asked(question);
        asked.retain(|term| !term.is_vague);
        let ranked = self.ranked_own(&asked).into_iter();
        let closest = ranked.filter(|ranked| ranked.own.is_offered && ranked.score > 0.0);
        closest.map(|ranked| &*ranked.own.passage).collect()
    }

    /// True if an example of the first `classes` has the word.
    fn has_learned(&self, word: &str, classes: usize) -> bool {
        let stem = stem(self.terms.texts.language, word);
        self.classifier.knows(feature(("stem", &*stem)), classes)
    }

    /// The passage that answers `question`, which may be read with the one `before`. A title, as refusals
    /// offer them, is answered by its own passage.
    fn best(&self, question: &str, before: &str) -> Option<&Passage> {
        let plain = |text: &str| words(text).map(|word| folded(&word)).collect::<Vec<_>>();
        let is_titled_so = |passage: &&Arc<Passage>| plain(&passage.title) == plain(question);
        let own = self.own.iter().map(|own| &own.passage);
        if let Some(passage) = own.chain(&self.sections).find(is_titled_so) {
            return Some(passage);
        }
        let focus = self.terms.focus(question);
        let alone = self.terms.asked(question);
        let both = &alone | &self.terms.asked(before);
        let first = words(question).next().unwrap_or_default();
        let is_follow_up = self.terms.texts.follow_up_words.contains(&&*first);
        let mut attempts = vec![alone, both];
        attempts.dedup();
        attempts.rotate_left(usize::from(is_follow_up));
        let answer = |asked| self.best_own(asked, focus.as_ref());
        let mut own = attempts.iter().filter_map(answer).peekable();
        if own.peek().is_none() {
            return self.best_section(question, before);
        }
        own.find_map(|(passage, is_clear)| is_clear.then_some(passage))
    }

    /// The passage that answers a question of these terms, if one does: one that covers all of it, or else the best, with
    /// false unless it leads all others by [`LEAD_MIN`]. If there is a `focus`, only passages that have it answer.
    fn best_own(&self, asked: &BTreeSet<Topic>, focus: Option<&Topic>) -> Option<(&Passage, bool)> {
        let has_focus = |own: &OwnPassage| {
            let means_it = |term: &&Topic| focus.is_some_and(|focus| term.has(focus));
            asked.iter().filter(means_it).all(|term| own.all.has(term))
        };
        let ranked = self.ranked_own(asked);
        let answers = |one: &&Ranked<'_>| one.coverage >= COVERAGE_MIN && has_focus(one.own);
        let mut answering = ranked.iter().filter(answers);
        let is_whole = |one: &&Ranked<'_>| one.coverage > WHOLE;
        let best = answering.clone().find(is_whole);
        let best = best.or_else(|| answering.next())?;
        // Of sections of a page with the same heading, the first answers.
        let Passage { page, title, .. } = &*best.own.passage;
        let is_headed_alike = |own: &Passage| own.page == *page && own.title == *title;
        let is_other = |own: &OwnPassage| own.is_offered && !is_headed_alike(&own.passage);
        let mut others = ranked.iter().filter(|other| is_other(other.own));
        let is_clear = is_whole(&best) || others.all(|other| best.score >= LEAD_MIN * other.score);
        Some((&*best.own.passage, is_clear))
    }

    /// The passages that have most of the asked terms first.
    fn ranked_own(&self, asked: &BTreeSet<Topic>) -> Vec<Ranked<'_>> {
        let mut asked: Vec<_> = asked.iter().map(|term| (term, self.weight(term))).collect();
        asked.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        let mut ranked: Vec<_> = self.own.iter().map(|own| own.ranked(&asked)).collect();
        ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
        ranked
    }

    /// A term of few passages weighs more.
    fn weight(&self, term: &Topic) -> f64 {
        let having = self.own.iter().filter(|own| own.all.has(term));
        let share = if term.is_vague { VAGUE_SHARE } else { 1.0 };
        share * inverse_document_frequency(self.own.len(), having.count())
    }

    /// The service's section that answers `question`, which may be read with the one `before`.
    fn best_section(&self, question: &str, before: &str) -> Option<&Passage> {
        let (ranked, other_subjects) = self.ranked_sections(question, before);
        let is_learned = |word: &String| self.has_learned(word, self.sections.len());
        let (known, unknown): (BTreeSet<_>, BTreeSet<_>) = words(question).partition(is_learned);
        let unknown_share = float(unknown.len()) / float(known.len() + unknown.len()).max(1.0);
        let (log_likelihood, section) = *ranked.first()?;
        let log_odds = log_likelihood - other_subjects - UNKNOWN_PENALTY_MAX * unknown_share;
        let is_alone = self.own.is_empty();
        let min = if is_alone {
            LOG_ODDS_MIN
        } else {
            LOG_ODDS_BESIDE_MIN
        };
        (log_odds > min).then_some(section)
    }

    /// The sections with their log-likelihoods, the likeliest first, and the log-likelihood of the likeliest other
    /// subject.
    fn ranked_sections(&self, question: &str, before: &str) -> (Vec<(f64, &Passage)>, f64) {
        let language = self.terms.texts.language;
        let of_text = |text| self.classifier.log_likelihoods(&features(language, text));
        let mut log_likelihoods = of_text(question);
        for (newest, before) in log_likelihoods.iter_mut().zip(of_text(before)) {
            *newest += EARLIER_SHARE * before;
        }
        let others = log_likelihoods.split_off(self.sections.len());
        let likeliest = others.into_iter().max_by(f64::total_cmp);
        let sections = self.sections.iter().map(Arc::as_ref);
        let mut sections: Vec<_> = log_likelihoods.into_iter().zip(sections).collect();
        sections.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        (sections, likeliest.unwrap_or_default())
    }
}

/// A list of topics: the chat makes buttons of one with `+`.
fn choices(topics: Vec<&Passage>) -> String {
    let lines = topics.iter().map(|topic| format!("+ {}", topic.title));
    lines.collect::<Vec<_>>().join("\n")
}

impl OwnPassage {
    fn new(passage: Arc<Passage>, terms: &Terms) -> Self {
        let legal = terms.asked(&terms.texts.legal_subjects.join(". "));
        let [page, title] = [&passage.page, &passage.title].map(|title| terms.topics([&**title]));
        let is_legal = legal.iter().any(|term| page.has(term) || title.has(term));
        let is_home = passage.is_introduction() && passage.url.ends_with('/');
        let context = || passage.topics().chain([&*passage.page]);
        let statements = passage.prose().flat_map(|text| text.split_inclusive(". "));
        let statements = statements.map(|own| terms.topics(context().chain([own])));
        Self {
            is_offered: !is_legal && !is_home,
            page,
            heading: terms.asked(&passage.title),
            title: terms.topics(passage.topics().filter(|topic| *topic != passage.page)),
            all: terms.topics(passage.prose().chain([&*passage.page])),
            statements: statements.collect(),
            passage,
        }
    }

    /// Compares it with terms and their weights, the heaviest first.
    fn ranked(&self, asked: &[(&Topic, f64)]) -> Ranked<'_> {
        let of_statements = self.statements.iter().map(|own| self.compared(asked, own));
        let most = |(a, b): (f64, f64), (score, coverage)| (a.max(score), b.max(coverage));
        let (score, coverage) = of_statements.fold((0.0, 0.0), most);
        let is_stated =
            |detail: &Topic| (self.statements.iter()).any(|own| self.states(asked, own, detail));
        let mut details = asked.iter().filter(|(term, _)| term.is_detail);
        let has_details = !asked.is_empty() && details.all(|(detail, _)| is_stated(detail));
        let is_asked = |term: &Topic| asked.iter().any(|(asked, _)| asked.has(term));
        let is_named =
            self.heading.iter().any(|term| !term.is_detail) && self.heading.iter().all(is_asked);
        let factor = if is_named { NAMED_FACTOR } else { 1.0 };
        Ranked {
            score: factor * score,
            coverage: if has_details { factor * coverage } else { 0.0 },
            own: self,
        }
    }

    /// Score and coverage of one of its statements, which has at least one of the details asked for: another one may have
    /// the others.
    fn compared(&self, asked: &[(&Topic, f64)], statement: &Topic) -> (f64, f64) {
        let (mut whole, mut covered, mut score) = (0.0, 0.0, 0.0);
        let mut has_detail = !asked.iter().any(|(term, _)| term.is_detail);
        for (term, weight) in asked {
            let (mut share, is_titled) = (statement.share(term), self.title.has(term));
            let bonus = if term.is_detail {
                has_detail |= self.states(asked, statement, term);
                DETAIL_BONUS
            } else {
                share = share.max(PASSAGE_SHARE * self.all.share(term));
                whole += weight;
                covered += weight * share;
                TITLE_BONUS
            };
            score += weight * (share + if is_titled { bonus } else { 0.0 });
        }
        // Nothing, if only details are asked for: the price of what?
        let coverage = if whole > 0.0 { covered / whole } else { WHOLE };
        (score, if has_detail { coverage } else { 0.0 })
    }

    /// True if a statement has the `detail` of what is asked for first.
    fn states(&self, asked: &[(&Topic, f64)], statement: &Topic, detail: &Topic) -> bool {
        let is_titled = self.title.has(detail);
        // The price of another subject is not enough, unless the title says that prices follow.
        let subject = asked.iter().find(|(term, _)| !term.is_detail);
        let is_meant = subject.is_none_or(|(own, _)| statement.has(own) || !self.all.has(own));
        let has_figure = statement.is_numeric && (is_titled || self.page.has(detail));
        // A word that means the same is not enough: a car park that is not free has no price yet.
        let is_stated = has_figure || statement.share(detail) >= 1.0;
        is_stated && (is_titled || is_meant)
    }
}
