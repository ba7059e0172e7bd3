//! Prints the handbook, which is part of the program.

use comfy_table::TableComponent;
use textwrap::{Options, WordSplitter, termwidth};

use crate::config::Topic;

use super::outcome::{CommandError, Done};
use super::output::{self, table_of};

const fn text(topic: Topic) -> &'static str {
    match topic {
        Topic::Install => include_str!("../../data/handbook/install.md"),
        Topic::Operate => include_str!("../../data/handbook/operate.md"),
        Topic::Contacts => include_str!("../../data/handbook/contacts.md"),
        Topic::Consent => include_str!("../../data/handbook/consent.md"),
        Topic::Limits => include_str!("../../data/handbook/limits.md"),
        Topic::Abuse => include_str!("../../data/handbook/abuse.md"),
        Topic::Model => include_str!("../../data/handbook/model.md"),
        Topic::Site => include_str!("../../data/handbook/site.md"),
        Topic::Agents => include_str!("../../data/handbook/agents.md"),
        Topic::SeveralNodes => include_str!("../../data/handbook/several-nodes.md"),
        Topic::Scale => include_str!("../../data/handbook/scale.md"),
        Topic::Benchmarks => include_str!("../../data/handbook/benchmarks.md"),
        Topic::Architecture => include_str!("../../data/handbook/architecture.md"),
        Topic::Changes => include_str!("../../data/handbook/changes.md"),
        Topic::HowToAdd => include_str!("../../data/handbook/how-to-add.md"),
    }
}

/// Prints the file of `topic`, or the list of topics.
pub(super) fn print(topic: Option<Topic>) -> Result<Done, CommandError> {
    let text = topic.map_or_else(contents, |topic| laid_out(text(topic), termwidth()));
    output::print(text.as_bytes())
}

/// Markdown for `width` columns: paragraphs are folded, tables drawn, pictures left out. Code stays as it is.
fn laid_out(markdown: &str, width: usize) -> String {
    let mut text = String::new();
    let lines = markdown.lines();
    let mut lines = lines
        .map(|line| line.strip_prefix("> ").unwrap_or(line))
        .peekable();
    while let Some(line) = lines.next() {
        if line.starts_with("```") {
            for line in lines.by_ref().take_while(|line| !line.starts_with("```")) {
                text.push_str(format!("    {line}").trim_end());
                text.push('\n');
            }
        } else if line.starts_with('|') {
            let more = std::iter::from_fn(|| lines.next_if(|line| line.starts_with('|')));
            // The first one is a rule.
            let rows = more.skip(1).map(cells);
            let mut table = table_of(cells(line), rows, Some(width));
            table.set_style(TableComponent::HeaderLines, '-');
            text.extend([&*table.trim_fmt(), "\n"]);
        } else if line.is_empty() || line.starts_with('#') {
            text.extend([line, "\n"]);
        } else if !line.starts_with("![") {
            let more = std::iter::from_fn(|| lines.next_if(|line| is_continued(line)));
            let words: Vec<_> = std::iter::once(line).chain(more.map(str::trim)).collect();
            let indent = " ".repeat(line.len() - item(line).len());
            let options = Options::new(width).subsequent_indent(&indent);
            let options = options.word_splitter(WordSplitter::NoHyphenation);
            let folded = textwrap::fill(&unlinked(&words.join(" ")), options);
            text.extend([&*folded, "\n"]);
        }
    }
    text
}

/// `line` without the mark of an item of a list, if it has one.
fn item(line: &str) -> &str {
    let bullet = line.strip_prefix("- ");
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let number = number.strip_prefix(". ").filter(|_| number != line);
    bullet.or(number).unwrap_or(line)
}

/// Whether `line` belongs to the paragraph or item before it, if there is one.
fn is_continued(line: &str) -> bool {
    let begins = ["|", "```", "#"].iter().any(|mark| line.starts_with(mark));
    !line.is_empty() && !begins && item(line) == line
}

fn cells(row: &str) -> Vec<String> {
    let row = row.trim_matches('|').replace("\\|", "\0");
    let cells = row.split('|');
    cells
        .map(|cell| unlinked(cell.trim()).replace('\0', "|"))
        .collect()
}

/// `text` with the topic that a link leads to in parentheses; of a link to elsewhere, the URL.
fn unlinked(text: &str) -> String {
    let (mut plain, mut rest) = (String::new(), text);
    while let Some((before, link)) = rest.split_once('[')
        && let Some((words, link)) = link.split_once("](")
        && let Some((target, after)) = link.split_once(')')
    {
        plain.extend([before, words]);
        let topic = target.split_once(".md").map_or(target, |(topic, _)| topic);
        if !topic.starts_with('#') {
            plain.extend([" (", topic, ")"]);
        }
        rest = after;
    }
    plain + rest
}

fn contents() -> String {
    let topics: Vec<_> = Topic::list().collect();
    let width = topics.iter().map(|(name, _)| name.len()).max();
    let width = width.unwrap_or_default();
    let rows = topics.iter();
    let rows = rows.map(|(name, about)| format!("{name:width$}  {about}\n"));
    rows.chain(["\nlanding-api handbook TOPIC prints one.\n".to_owned()])
        .collect()
}
