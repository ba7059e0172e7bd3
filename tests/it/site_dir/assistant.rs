//! The assistant on the operator's own pages, which have no examples beside their sentences.

use landing_api::adapters::model::PassageModelClient;
use landing_api::site::Site;

use super::render;
use crate::assistant_pages::ask;
use crate::rows::rows;

const YARD: &str = "# Crane rental\n\n\
    We rent out tower cranes and mobile cranes for building sites in the north.\n\n\
    ## Prices\n\n\
    A tower crane costs 300 euros a day, a mobile crane 450. The deposit is 1,000 euros, and comes back \
    with the last invoice. From a month on there is a discount of ten percent.\n\n\
    ## Opening hours\n\n\
    The yard is open from Monday to Friday, 7 to 16 o'clock. We are closed on public holidays.\n\n\
    ## Delivery\n\n\
    We bring the crane to your site within two working days. Transport within 50 kilometres is included; \
    beyond, it is 2 euros a kilometre.\n\n\
    ## Operators and training\n\n\
    On request a crane comes with an operator. Whoever works it needs a licence; we hold courses every \
    month.\n\n\
    ## Repairs\n\n\
    If a crane breaks down, call our workshop: a mechanic is with you within four hours, at night, too.\n\n\
    ## Jobs\n\n\
    We are looking for mechanics and drivers. Send your application with a CV.\n";

/// The section that answers it, of the operator's pages or of the service's own, or none, and what a visitor
/// types.
const QUESTIONS: &str = "
crane-rental | what do you rent out?
crane-rental | do you have mobile cranes
prices | How much does a crane cost per day?
prices | How much is the deposit?
prices | what are your prices
prices | is there a discount for a month
prices | price of a tower crane
opening-hours | When are you open?
opening-hours | are you open on Monday
opening-hours | opening hours
opening-hours | is the yard closed on public holidays?
delivery | How much is delivery?
delivery | how long does delivery take
delivery | do you bring the crane to my site
delivery | Is transport included?
operators-and-training | do I need a licence
operators-and-training | can I get an operator with the crane
operators-and-training | do you hold courses
repairs | Is there a mechanic?
repairs | what if the crane breaks down at night
jobs | do you have any jobs?
jobs | Where do I send my application
how-do-i-unsubscribe | How do I get off the newsletter?
how-do-i-have-my-data-deleted | please delete my data
what-is-stored-about-me | What is stored about me?
how-often-does-the-newsletter-come | how often do you send mails per month
| What is this site?
| Do I need an account?
| do you use cookies
| How do I get an API key?
| am I talking to a robot?
| How much does a car cost?
| what is the weather on Monday
| who won the match on Friday
| can I get a loan
| how do I repair my bicycle
| opening hours of the swimming pool in town
| do I need a visa for Canada
| Where do I send my tax return
";

#[tokio::test]
async fn the_operators_pages_and_those_of_the_service_answer_side_by_side() {
    let site = render(&[("rental.md", YARD)]).unwrap();
    let model = PassageModelClient::new(&site.passages, &site.assistant_texts);
    let mut wrong = Vec::new();
    for [section, question] in rows(QUESTIONS) {
        let reply = ask(&model, question).await;
        let end = reply.lines().last().unwrap_or_default();
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
    assert!(reply.starts_with("Site plan\n\nMore: "), "{reply}");
    // A title without a word is not what is asked for.
    let reply = ask(&model, "what is the capital of the world").await;
    assert!(!reply.contains("Look up"), "{reply}");
}

/// The pages of a bakery.
const BAKERY: [(&str, &str); 3] = [
    ("bakery.md", include_str!("bakery/bakery.md")),
    ("orders.md", include_str!("bakery/orders.md")),
    ("visit.md", include_str!("bakery/visit.md")),
];

/// What visitors ask in other words than its pages have, and what the answer tells.
const IN_OTHER_WORDS: &str = "
opening times | 6:30 to 14:00
where are you located | 3 Quay Street
what's your address | 3 Quay Street
what's your phone number | 01632 960222
telephone number | 01632 960222
can I sit down and eat something | Twelve seats
how much is old bread | half price
do you make birthday cakes | Birthday and wedding
do you deliver | It costs £3
can I cancel what I ordered | before noon
do you take credit cards | all usual cards
can I bring my dog | wait outside
any vacancies? | night shift
where can I leave my car | harbour
";

#[tokio::test]
async fn the_operators_pages_answer_in_other_words_than_theirs_without_a_hint() {
    let site = render(&BAKERY).unwrap();
    assert_eq!(wrongly_answered(&site, IN_OTHER_WORDS).await, "");
}

/// A page whose address, number and hours appear without the words for them, and with passages that are easily
/// mistaken for each other.
const NURSERY: &str = "# Harrow Nursery\n\n\
    We raise herbs and trees.\n\n\
    ## Over the bridge\n\n\
    Chapel Road 31, Lower Harrow.\n\n\
    ## Maud Ferris\n\n\
    0555 620 118, or at the gate.\n\n\
    ## In the season\n\n\
    From 9 to 18, then the gate is locked.\n\n\
    ## Bringing plants to you\n\n\
    The lorry with the plants comes on Thursdays.\n\n\
    ## Planting\n\n\
    Our people dig the hole for the plants.\n\n\
    ## Shears\n\n\
    Bring blunt ones in autumn.\n\n\
    ## Knives\n\n\
    Bring blunt ones in spring.\n\n\
    ## The first tree\n\n\
    Maud planted it in 1931.\n\n\
    ## Abroad\n\n\
    To Spain, France and Italy there is no lorry: foreign countries are too far.\n\n\
    ## Advice\n\n\
    Without an appointment, whenever the gate stands wide.\n";

/// What is asked, and what the answer tells; nothing where a refusal is right.
const OF_NURSERY: &str = "
what's your address? | Chapel Road 31
what's your telephone number? | 0555 620 118
opening hours | From 9 to 18
could you plant it for me? | dig the hole
when were you founded? | in 1931
do you do sharpening? |
how can I book? |
do I need no appointment? | Without an appointment
do you sell trees for my cat? |
is there a student discount? |
do you raise trees in Spain? |
how deep do your people dig the hole for the plants? |
";

#[tokio::test]
async fn what_is_not_clear_is_refused_and_numbers_are_recognised_by_their_form() {
    let site = render(&[("nursery.md", NURSERY)]).unwrap();
    assert_eq!(wrongly_answered(&site, OF_NURSERY).await, "");
}

/// The questions that are not answered by what their row tells, or not refused where that is nothing.
async fn wrongly_answered(site: &Site, questions: &str) -> String {
    let model = PassageModelClient::new(&site.passages, &site.assistant_texts);
    let mut wrong = String::new();
    for [question, fact] in rows(questions) {
        let reply = ask(&model, question).await;
        let mut texts = site.assistant_texts.iter();
        let is_refusal = texts.any(|it| reply.starts_with(&it.unanswered));
        if is_refusal != fact.is_empty() || !reply.contains(fact) {
            wrong += &format!("{question} -> {reply}\n");
        }
    }
    wrong
}

/// A page in each language. No page says how heavy a table is, or of what colour.
const INNS: [(&str, &str); 4] = [
    (
        "inn.md",
        "# The inn\n\n## Dogs\n\nDogs are welcome on the ground floor.\n\n## Table\n\nThe oak table seats six.\n",
    ),
    (
        "gasthof.md",
        "# Der Gasthof\n\n## Hunde\n\nHunde sind im Erdgeschoss willkommen.\n\n## Tisch\n\nAm Tisch aus Eiche \
         sitzen sechs.\n",
    ),
    (
        "auberge.md",
        "# L'auberge\n\n## Chiens\n\nLes chiens sont admis au rez-de-chaussée.\n\n## Table\n\nSix s'assoient à la \
         table en chêne.\n",
    ),
    (
        "posada.md",
        "# La posada\n\n## Perros\n\nSe admiten perros en la planta baja.\n\n## Mesa\n\nEn la mesa de roble se \
         sientan seis.\n",
    ),
];

/// What is asked, and what the answer tells; nothing where no page has what is asked for.
const ASKED_FOR: &str = "
are dogs welcome on the ground floor? | ground floor
What a nice picture! Are dogs welcome on the ground floor? | ground floor
Are dogs welcome on the ground floor? What a nice picture! | ground floor
A friend who cycles asks: are dogs welcome on the ground floor? | ground floor
Are dogs which are on a lead welcome on the ground floor? | ground floor
Was für ein Wetter! Sind Hunde im Erdgeschoss willkommen? | Erdgeschoss
Wieviele Hunde sind im Erdgeschoss willkommen? | Erdgeschoss
Les chiens que j'ai sont-ils admis au rez-de-chaussée ? | chaussée
¿Se admiten los perros que tengo en la planta baja? | planta baja
how heavy is the oak table? |
and what colour is the oak table? |
Wie schwer ist der Tisch aus Eiche? |
In welcher Farbe ist der Tisch aus Eiche? |
Combien pèse la table en chêne ? |
De quelle couleur est la table en chêne ? |
¿Cuánto pesa la mesa de roble? |
¿De qué color es la mesa de roble? |
";

#[tokio::test]
async fn a_passage_answers_only_if_it_has_what_is_asked_for() {
    let site = render(&INNS).unwrap();
    assert_eq!(wrongly_answered(&site, ASKED_FOR).await, "");
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
