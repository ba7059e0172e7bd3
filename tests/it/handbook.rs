//! README and the handbook: they agree with the program, and what they link to is there.

use clap::error::ErrorKind;
use landing_api::config::{Invocation, TOPICS};
use landing_api::operator::contact_csv;
use landing_api::site::tools::Tool;

use crate::prelude::*;
use crate::program::{run, text};

/// The files, relative to the repository.
fn files() -> Vec<PathBuf> {
    let mut files = vec![PathBuf::from("README.md")];
    for entry in fs::read_dir(root().join("data/handbook")).unwrap() {
        let path = Path::new("data/handbook").join(entry.unwrap().file_name());
        if path.extension().is_some_and(|it| it == "md") {
            files.push(path);
        }
    }
    let advice = "name each in src/config/commands.rs";
    assert_eq!(files.len(), 1 + TOPICS.len(), "{files:?}: {advice}");
    files
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The cells of a file's table rows whose first cell is code, such as a flag or a policy.
fn rows(file: &str) -> Vec<Vec<String>> {
    let text = read(file);
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    let cell = |text: &str| text.trim().to_owned();
    let cells = rows.map(|line| line.trim_matches('|').split('|').map(cell).collect());
    cells.collect()
}

/// `text` without its code blocks.
fn prose(text: &str) -> String {
    text.split("```").step_by(2).collect()
}

/// The anchors of the headings of `text`, as GitHub makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let anchor = |heading: &str| {
        let kept = |c: &char| c.is_alphanumeric() || *c == ' ' || *c == '-';
        let words: String = heading.to_lowercase().chars().filter(kept).collect();
        words.trim().replace(' ', "-")
    };
    let prose = prose(text);
    let headings = prose.lines().filter(|line| line.starts_with('#'));
    let anchors = headings.map(|line| anchor(line.trim_start_matches('#')));
    anchors.collect()
}

#[test]
fn readme_is_short() {
    let lines = read("README.md").lines().count();
    assert!(lines <= 200, "{lines}");
}

#[test]
fn every_link_leads_somewhere() {
    let mut links = 0;
    for file in files() {
        let text = prose(&read(&file));
        for link in text.split("](").skip(1) {
            let link = link.split(')').next().unwrap();
            if link.starts_with("http") {
                continue;
            }
            links += 1;
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match path {
                "" => file.clone(),
                path => file.parent().unwrap().join(path),
            };
            let context = format!("{link} in {}", file.display());
            assert!(root().join(&target).exists(), "{context}");
            if !anchor.is_empty() {
                assert!(anchors(&read(&target)).contains(anchor), "{context}");
            }
        }
    }
    assert!(links > 20, "{links}");
}

#[test]
fn the_pictures_are_ones_that_a_page_can_show() {
    for (name, expected) in [("page.png", 1200), ("admin.png", 1280)] {
        let picture = fs::read(root().join("data/handbook").join(name)).unwrap();
        assert!(picture.len() < 200_000, "{name}: {}", picture.len());
        let (head, rest) = picture.split_at(16);
        assert_eq!(head, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "{name}");
        let width = u32::from_be_bytes(rest[..4].try_into().unwrap());
        assert_eq!(width, expected, "{name}");
        let is_whole = picture.ends_with(b"IEND\xae\x42\x60\x82");
        assert!(is_whole, "{name} is cut off");
    }
}

#[test]
fn every_policy_stands_there_with_its_default() {
    let rows = rows("data/handbook/limits.md");
    for policy in PolicyName::ALL {
        let name = format!("`{}`", policy.as_str());
        let row = rows.iter().find(|row| row[0] == name);
        let row = row.unwrap_or_else(|| panic!("{name} is not in data/handbook/limits.md"));
        assert_eq!(row[1], policy.default_quota().to_string(), "{name}");
    }
}

/// The service's own metrics that the handbook names.
pub(crate) fn metrics() -> BTreeSet<String> {
    let rows = rows("data/handbook/operate.md");
    let cells = rows.iter().flat_map(|row| row[0].split(", "));
    let names = cells.map(|name| name.trim_matches('`'));
    let names = names.filter(|name| name.starts_with("landing_api_"));
    names.map(str::to_owned).collect()
}

#[test]
fn every_tool_stands_there() {
    let rows = rows("data/handbook/agents.md");
    for tool in Tool::ALL {
        let name = format!("`{}`", tool.as_str());
        let is_there = rows.iter().any(|row| row[0] == name);
        assert!(is_there, "{name} is not in data/handbook/agents.md");
    }
}

#[test]
fn every_flag_of_the_help_stands_there_and_no_other() {
    let help = printed(&["--help"]);
    let rows = rows("data/handbook/operate.md");
    let sorted = |flags: Vec<&str>| {
        let names = flags
            .into_iter()
            .map(|flag| flag.split([' ', '`']).next().unwrap());
        let mut names: Vec<_> = names.map(str::to_owned).collect();
        names.sort_unstable();
        names
    };
    // Deeper ones are in a text.
    let of_help = help
        .lines()
        .filter_map(|line| line.strip_prefix("      --"));
    let of_handbook = rows.iter().filter_map(|row| row[0].strip_prefix("`--"));
    assert_eq!(
        sorted(of_help.collect()),
        sorted(of_handbook.collect()),
        "data/handbook/operate.md"
    );
}

#[test]
fn an_export_is_shown_with_all_its_columns() {
    let header = contact_csv::HEADER;
    for file in ["data/handbook/contacts.md", "data/handbook/install.md"] {
        let is_shown = read(file).lines().any(|line| line == header.trim_end());
        assert!(is_shown, "{header} is not in {file}");
    }
}

/// What the program says on this command line.
fn printed(line: &[&str]) -> String {
    let output = run(&mut landing_api(line));
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn the_program_prints_each_file() {
    let list = printed(&["handbook"]);
    let topics = list.lines().take_while(|line| !line.is_empty());
    let topics: BTreeSet<_> = topics.map(|line| line.split(' ').next().unwrap()).collect();
    let files = files();
    let names = files.iter().skip(1);
    let names: BTreeSet<_> = names
        .map(|file| file.file_stem().unwrap().to_str().unwrap())
        .collect();
    assert_eq!(topics, names);
    for topic in topics {
        let file = read(format!("data/handbook/{topic}.md"));
        assert!(printed(&["handbook", topic]) == file, "{topic}");
    }
    assert!(list.lines().all(|line| line.len() <= 80), "{list}");
}

#[test]
fn an_unknown_topic_is_told_of_the_nearest() {
    let refused = run(&mut landing_api(&["handbook", "instal"]));
    assert_eq!(refused.status.code(), Some(2));
    let words = text(&refused.stderr);
    assert!(words.starts_with("error: "), "{words}");
    let tip = "tip: a similar value exists: 'install'";
    assert!(words.contains("'instal'") && words.contains(tip), "{words}");
    assert!(refused.stdout.is_empty());
}

/// The words of a command line up to a pipe or a redirection, as a shell splits them.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for c in line.chars() {
        match (quote, c) {
            (None, '|' | '>' | '<' | ';' | '&' | '#') => break,
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            (None, ' ') => {
                words.extend(Some(std::mem::take(&mut word)).filter(|it| !it.is_empty()));
            }
            (_, c) => word.push(c),
        }
    }
    words.extend(Some(word).filter(|it| !it.is_empty()));
    words
}

/// The program's command lines in the code blocks of `text` and in its prose, without its name.
fn command_lines(text: &str) -> Vec<Vec<String>> {
    const PLACEHOLDERS: [(&str, &str); 3] = [
        ("TOPIC", "install"),
        ("ADDRESS", "ada@example.com"),
        ("COMMAND", "status"),
    ];
    let mut lines = Vec::new();
    for (index, piece) in text.split("```").enumerate() {
        if index % 2 == 1 {
            lines.extend(piece.replace("\\\n", " ").lines().map(str::to_owned));
        } else {
            let spans = piece.split('`').skip(1).step_by(2);
            lines.extend(spans.map(|span| span.replace('\n', " ")));
        }
    }
    let fill = |word: String| {
        let filled = PLACEHOLDERS.iter().find(|(name, _)| *name == word);
        filled.map_or(word, |(_, value)| (*value).to_owned())
    };
    let arguments = |line: &str| {
        let mut line = words(line.trim_start_matches([' ', '$', '#']));
        if line.first()? == "docker" {
            let mut words = line.iter();
            line.drain(..words.position(|word| word.ends_with("/landing-api"))?);
        }
        if ["sudo", "runuser"].contains(&line.first()?.as_str()) {
            line.drain(..line.iter().position(|word| word == "-u")? + 2);
            line.retain(|word| word != "--");
        }
        let is_command = line.remove(0).rsplit('/').next()? == "landing-api" && !line.is_empty();
        is_command.then(|| line.into_iter().map(fill).collect())
    };
    let pipes = lines.iter().flat_map(|line| line.split(['|', ';']));
    pipes.filter_map(arguments).collect()
}

#[test]
fn every_command_that_is_shown_is_one() {
    // A group's name alone, and a request for help.
    const NAMED: [ErrorKind; 3] = [
        ErrorKind::MissingSubcommand,
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand,
        ErrorKind::DisplayHelp,
    ];
    let (mut seen, mut wrong) = (0, Vec::new());
    for file in files() {
        for words in command_lines(&read(&file)) {
            seen += 1;
            let program = ["landing-api".to_owned()];
            let all = program.iter().chain(&words).cloned();
            // The texts leave it out where LANDING_DATA_DIR is set.
            let has_data_dir = words.iter().any(|word| word == "--data-dir");
            let data_dir = ["--data-dir", "./var"].map(str::to_owned);
            let data_dir = data_dir.into_iter().filter(|_| !has_data_dir);
            if let Err(error) = Invocation::load(all.chain(data_dir))
                && !NAMED.contains(&error.kind())
            {
                wrong.push(format!("{}: {words:?}: {error}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 10, "{seen}");
}

/// The text files in folders of the repository, without the tools that checks download.
pub(crate) fn texts_in(paths: &[&str]) -> Vec<(PathBuf, String)> {
    let mut left: Vec<_> = paths.iter().map(|path| root().join(path)).collect();
    let mut found = Vec::new();
    while let Some(path) = left.pop() {
        if path.is_dir() && !path.ends_with(".ci/tools") {
            let entries = fs::read_dir(&path).unwrap();
            left.extend(entries.map(|entry| entry.unwrap().path()));
        } else if let Ok(text) = fs::read_to_string(&path) {
            found.push((path, text));
        }
    }
    assert!(found.len() > 100, "{}", found.len());
    found
}

#[test]
fn no_text_refers_to_a_specification_that_is_not_here() {
    let texts = texts_in(&["README.md", "src", "data", "tests", "benches", ".ci"]);
    let this = Path::new(file!()).file_name();
    for (path, text) in texts.iter().filter(|(path, _)| path.file_name() != this) {
        for (at, line) in text.lines().enumerate() {
            let line = line.to_lowercase();
            let mut numbered = line.split("spec ").skip(1);
            let is_numbered = numbered.any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
            let is_named = line.contains("spec.md") || line.contains("the specification");
            let advice = "cite the RFC, or say the rule";
            let place = format!("{}:{}", path.display(), at + 1);
            assert!(!is_numbered && !is_named, "{place}: {advice}: {line}");
        }
    }
}
