use proptest::prelude::*;

use super::*;

/// What is said in the end, of an answer that comes in these pieces.
fn spoken<'a>(pieces: impl IntoIterator<Item = &'a str>, is_trusted: bool) -> String {
    let mut filter = ThoughtFilter::default();
    let mut text = String::new();
    let mut add = |spoken: Spoken| {
        match spoken.before {
            Before::Said => {}
            Before::Doubtful => {
                assert!(!is_trusted);
                text.clear();
            }
            Before::Thought => text.clear(),
        }
        text.push_str(&spoken.text);
    };
    for piece in pieces {
        add(filter.push(piece, is_trusted));
    }
    add(filter.finish(is_trusted));
    text
}

/// Checks what is said of `text`, wherever it is split.
fn check(text: &str, is_trusted: bool, expected: &str) {
    let note = format!("{text:?}, trusted {is_trusted}");
    assert_eq!(spoken([text], is_trusted), expected, "{note}");
    let chars: Vec<_> = text.chars().map(String::from).collect();
    let pieces = chars.iter().map(String::as_str);
    assert_eq!(spoken(pieces, is_trusted), expected, "{note}");
    for (at, _) in text.char_indices() {
        let (one, two) = text.split_at(at);
        let said = spoken([one, two], is_trusted);
        assert_eq!(said, expected, "{note} at {at}");
    }
}

fn check_always(text: &str, expected: &str) {
    for is_trusted in [true, false] {
        check(text, is_trusted, expected);
    }
}

#[test]
fn thoughts_are_cut_wherever_the_text_is_split() {
    for (text, expected) in [
        ("plain", "plain"),
        ("<think>secret</think>Hello", "Hello"),
        ("<thinking>secret</thinking>Hello", "Hello"),
        ("<Think>secret</THINK>Hello", "Hello"),
        ("<thought>secret</thought>Hello", "Hello"),
        ("<reasoning>secret</reasoning>Hello", "Hello"),
        ("<seed:think>secret</seed:think>Hello", "Hello"),
        ("[THINK]secret[/THINK]Hello", "Hello"),
        ("◁think▷secret◁/think▷Hello", "Hello"),
        ("<reflection>secret</reflection>Hello", "Hello"),
        ("<|START_THINKING|>secret<|END_THINKING|>Hello", "Hello"),
        ("<|begin_of_thought|>secret<|end_of_thought|>Hello", "Hello"),
        ("<unused94>thought\nsecret<unused95>Hello", "Hello"),
        ("<|channel>thought\nsecret<channel|>Hello", "Hello"),
        ("<|think|>secret<|/think|>Hello", "Hello"),
        ("<|think|>secret", ""),
        ("<think >secret</think >Hello", "Hello"),
        ("<think type=\"x\">secret</THINK\t>Hello", "Hello"),
        ("<think\n>secret</think\n>Hello", "Hello"),
        (
            "<think />, <think <b>, <thinkx >",
            "<think />, <think <b>, <thinkx >",
        ),
        ("analysisThe secret.assistantfinalHello", "Hello"),
        (" \nanalysis\nsecret `a\nassistantfinalHello", " \nHello"),
        ("analysissecretassistantcommentary to=fsecret", ""),
        ("analysis用assistantassistantfinalHello", "Hello"),
        (
            "analysis of it: assistantfinal",
            "analysis of it: assistantfinal",
        ),
        ("analysis", "analysis"),
        ("analogy", "analogy"),
        ("An analysisThe", "An analysisThe"),
        (" \n<think>secret</think>Hello", " \nHello"),
        ("<think>never closed", ""),
        ("said\n<think>never closed </thin", "said\n"),
        ("<think>a <think> b</think>Hello", "Hello"),
        ("<think>a</thinking>b</think>Hello", "Hello"),
        ("<think>a</think> <think>b</think>Hello", " Hello"),
        ("<think></think>", ""),
        (
            "1 < 2, <b>bold</b>, <thinner>",
            "1 < 2, <b>bold</b>, <thinner>",
        ),
        ("[think](url), ◁ [1]", "[think](url), ◁ [1]"),
        ("ends with <thi", "ends with <thi"),
        ("é<", "é<"),
    ] {
        check_always(text, expected);
    }
}

#[test]
fn only_the_final_channel_of_harmony_is_said() {
    let thought = "<|channel|>analysis<|message|>secret<|end|>";
    let call = "<|start|>assistant<|channel|>commentary to=f<|message|>{}<|end|>";
    let answer = "<|start|>assistant<|channel|>final<|message|>Hello";
    for text in [
        format!("{thought}{answer}<|return|>"),
        format!("{thought}{answer}<|end|>more"),
        format!("{thought}{call}{answer}"),
        "<|channel|>final<|message|>Hello<|return|>".to_owned(),
        "<|channel|>final <|constrain|>json<|message|>Hello".to_owned(),
        "<|channel|>final<|constrain|>json<|message|>Hello<|end|>".to_owned(),
        // The server began the thought.
        format!("secret<|end|>{answer}"),
    ] {
        check(&text, false, "Hello");
    }
    check_always(thought, "");
}

#[test]
fn all_before_a_thought_that_the_server_began_is_thought() {
    for (text, expected) in [
        ("secret</think>Hello", "Hello"),
        ("secret[/THINK]Hello", "Hello"),
        ("</think>Hello", "Hello"),
        ("it says\n</think>\nHello", "\nHello"),
        // It speaks of marks, and of code that never ends.
        ("I could say `</think>` here.\n</think>Hello", "Hello"),
        ("use `foo</think>Hello", "Hello"),
        ("use `foo</think>Hello `bar`", "Hello `bar`"),
        ("```\nsecret</think>Hello\n```\n", "Hello\n```\n"),
        ("`foo`</think>`bar`", "`bar`"),
        ("a</think>b</think>Hello", "Hello"),
        ("<think>a</think>b</think>Hello", "Hello"),
    ] {
        check_always(text, expected);
    }
}

#[test]
fn before_a_thought_in_the_middle_only_a_trusted_model_has_said_anything() {
    for (text, trusted, doubted) in [
        ("A<think>x</think>B<think>y</think>C", "ABC", "C"),
        ("A\n<think>x</think>B", "A\nB", "B"),
        ("A[THINK]x[/THINK]B", "AB", "B"),
        (
            "secret <think> secret</think>Hello",
            "secret Hello",
            "Hello",
        ),
        (
            "said\n<think>a</thinking>b</think>Hello",
            "said\nHello",
            "Hello",
        ),
    ] {
        check(text, true, trusted);
        check(text, false, doubted);
    }
}

#[test]
fn a_mark_that_is_spoken_of_is_text() {
    for text in [
        "Write `<think>` first.",
        "Write `<think>` and `</think>`.",
        "Between `<think>thoughts</think>` it thinks.",
        "``a ` <think>``",
        "`[THINK]` or `<|channel|>analysis<|message|>`",
        "```<think>``` is code, too.",
        "Like this:\n```xml\n<think>\nthoughts\n</think>\nanswer\n```\nDone.",
        "  ````\n```\n<think>\n````\nDone.",
        "`a` <b> `</think>`",
    ] {
        check_always(text, text);
    }
}

#[test]
fn a_mark_outside_code_hides_the_rest_whoever_speaks_of_it() {
    for (text, cut) in [
        ("Sure! <think>secret", "Sure! "),
        ("The tag <think> begins one.", "The tag "),
        ("- <think> begins one.\n- Others", "- "),
        ("A lone ` and <think>\nsay nothing.", "A lone ` and "),
    ] {
        check_always(text, cut);
    }
}

#[test]
fn code_that_does_not_end_hides_no_thought() {
    for (text, expected) in [
        ("```\n<think>secret</think>Hello", "```\nHello"),
        ("```\n<think>secret", "```\n"),
        ("`a\n<think>secret</think>Hello", "`a\nHello"),
        ("`a <think>secret</think>Hello", "`a Hello"),
        ("`a <think>\nsecret</think>Hello", "`a Hello"),
        ("``a` <think>secret</think>Hello", "``a` Hello"),
    ] {
        check(text, true, expected);
    }
    // In a thought the same holds.
    for (text, expected) in [
        ("<think>so `</think>` ends it</think>Hello", "Hello"),
        ("<think>`<think>x</think>` is one</think>Hello", "Hello"),
        ("<think>```\n<think>\n</think>Hello", "Hello"),
        ("<think>`a</think>Hello", "Hello"),
    ] {
        check_always(text, expected);
    }
}

#[test]
fn it_says_whether_a_thought_has_ended() {
    for (text, is_thinking, has_ended) in [
        ("plain", false, false),
        ("<think>a", true, false),
        ("<think>a</think>b", false, true),
        ("a</think>b", false, true),
        ("`</think>`", false, false),
    ] {
        let mut filter = ThoughtFilter::default();
        filter.push(text, false);
        filter.finish(false);
        assert_eq!(filter.is_thinking(), is_thinking, "{text}");
        assert_eq!(filter.has_ended_thought(), has_ended, "{text}");
    }
}

#[test]
fn what_is_held_back_is_counted_and_what_is_unread_stays_short() {
    let mut filter = ThoughtFilter::default();
    for piece in ["`", "<think ", "<|channel|>final "] {
        for _ in 0..10_000 {
            filter.push(piece, true);
            assert!(filter.unread.len() < 300, "{}", filter.unread.len());
        }
    }
    let mut filter = ThoughtFilter::default();
    let text = "x".repeat(1000);
    filter.push("```\n<think>", true);
    for pushed in 1..100 {
        assert_eq!(filter.push(&text, true).text, "");
        assert!(filter.held_bytes() >= pushed * text.len());
    }
    // What is thought is not kept.
    let mut filter = ThoughtFilter::default();
    filter.push("Sure <think>", true);
    filter.push(&text, true);
    assert_eq!(filter.held_bytes(), 0);
}

/// Whatever a model may think, marks of every kind among it.
fn thoughts() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "secret ",
        "<think>",
        "</think>",
        "<thinking>",
        "</THINKING>",
        "<think ",
        ">",
        "analysis",
        "assistantfinal",
        " <|constrain|>json<|message|>",
        "[THINK]",
        "[/THINK]",
        "<|end|>",
        "<|channel|>final<|message|>",
        "<",
        "`",
        "``",
        "```",
        "\n",
        " ",
    ]);
    prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn the_answer_does_not_depend_on_how_it_is_split(
        text in thoughts(),
        is_trusted: bool,
    ) {
        let expected = spoken([text.as_str()], is_trusted);
        let chars: Vec<_> = text.chars().map(String::from).collect();
        let pieces = chars.iter().map(String::as_str);
        prop_assert_eq!(spoken(pieces, is_trusted), expected);
    }

    #[test]
    fn nothing_before_the_closing_mark_is_said_until_the_model_is_trusted(
        thought in thoughts(),
    ) {
        for opening in ["", "<think>", "<think>\n"] {
            let text = format!("{opening}{thought}\n</think>\nHello");
            let said = spoken([text.as_str()], false);
            prop_assert!(!said.contains("secret"), "{said:?}");
        }
    }
}
