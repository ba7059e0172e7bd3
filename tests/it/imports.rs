//! Reads which file of `src` imports which: through `use` and through paths in the code, to the file
//! that declares the item, past re-exports.

use std::collections::HashMap;

use crate::prelude::*;

/// A module's path below the crate, or an item's.
type Names = Vec<String>;

pub(crate) struct Source {
    /// Relative to `src`.
    pub(crate) path: String,
    /// Without lines that are comments.
    pub(crate) code: String,
}

pub(crate) fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut sources = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            // Beside them may be what they include.
            if path.extension().is_none_or(|extension| extension != "rs") {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let is_code = |line: &&str| !line.trim_start().starts_with("//");
            sources.push(Source {
                path: path.strip_prefix(&root).unwrap().display().to_string(),
                code: text.lines().filter(is_code).collect::<Vec<_>>().join("\n"),
            });
        }
    }
    assert!(sources.len() > 30, "the sources were not found");
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    sources
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Import {
    pub(crate) from: String,
    pub(crate) to: String,
    /// Only unit tests need it.
    pub(crate) is_for_tests: bool,
}

pub(crate) fn imports(sources: &[Source]) -> BTreeSet<Import> {
    let modules: Vec<_> = sources.iter().flat_map(modules_of).collect();
    let file = |module: &Module| (module.names.clone(), module.file.clone());
    let uses = modules.iter().flat_map(|module| {
        let of = |used: &Use| ((module.names.clone(), used.name.clone()), used.path.clone());
        module.uses.iter().map(of)
    });
    let tree = Tree {
        files: modules.iter().map(file).collect(),
        uses: uses.collect(),
    };
    let mut imports = BTreeSet::new();
    for module in &modules {
        // A re-export alone is no import: whoever imports it is taken to where the item is.
        let needs = |used: &&Use| !used.is_public || module.words.contains(&used.name);
        let used = module.uses.iter().filter(needs).map(|used| &used.path);
        for path in used.chain(&module.paths) {
            let Some(to) = tree.file_of(&module.names, path) else {
                continue;
            };
            if to != module.file {
                imports.insert(Import {
                    from: module.file.clone(),
                    to,
                    is_for_tests: module.is_test,
                });
            }
        }
    }
    imports
}

/// The groups of files that import each other in a circle, unit tests aside.
pub(crate) fn circles(imports: &BTreeSet<Import>) -> BTreeSet<Vec<String>> {
    let mut graph: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for import in imports.iter().filter(|import| !import.is_for_tests) {
        graph.entry(&import.from).or_default().insert(&import.to);
    }
    let reached: BTreeMap<&str, BTreeSet<&str>> = graph
        .keys()
        .map(|&from| {
            let mut reached = BTreeSet::new();
            let mut next: Vec<&str> = graph[from].iter().copied().collect();
            while let Some(file) = next.pop() {
                if reached.insert(file) {
                    next.extend(graph.get(file).into_iter().flatten());
                }
            }
            (from, reached)
        })
        .collect();
    let is_reached = |from: &str, to: &str| reached.get(from).is_some_and(|it| it.contains(to));
    reached
        .keys()
        .filter(|file| is_reached(file, file))
        .map(|&file| {
            let others = reached[file].iter().filter(|other| is_reached(other, file));
            others.map(ToString::to_string).collect()
        })
        .collect()
}

/// A module, or the unit tests at the end of one.
struct Module {
    file: String,
    names: Names,
    is_test: bool,
    uses: Vec<Use>,
    /// Paths of two names or more outside `use`.
    paths: Vec<Names>,
    /// Every name outside `use`.
    words: BTreeSet<String>,
}

struct Use {
    name: String,
    path: Names,
    is_public: bool,
}

fn modules_of(source: &Source) -> Vec<Module> {
    let stem = source.path.strip_suffix(".rs").unwrap();
    let mut names: Names = stem.split('/').map(str::to_owned).collect();
    let last = names.last().unwrap().as_str();
    let is_test = last == "tests";
    if matches!(last, "mod" | "lib") {
        names.pop();
    }
    let (code, tests) = match source.code.split_once("\nmod tests {") {
        Some((code, tests)) => (code, Some(tests)),
        None => (source.code.as_str(), None),
    };
    let mut modules = vec![read(source, names.clone(), code, is_test)];
    if let Some(tests) = tests {
        names.push("tests".to_owned());
        modules.push(read(source, names, tests, true));
    }
    modules
}

fn read(source: &Source, names: Names, code: &str, is_test: bool) -> Module {
    let mut module = Module {
        file: source.path.clone(),
        names,
        is_test,
        uses: Vec::new(),
        paths: Vec::new(),
        words: BTreeSet::new(),
    };
    let tokens = tokens(code);
    let mut at = 0;
    while at < tokens.len() {
        let token = &tokens[at];
        // `use<'a>` is a bound.
        if token == "use" && tokens[at + 1] != "<" {
            let before = at.checked_sub(1).map(|before| tokens[before].as_str());
            let is_public = matches!(before, Some("pub" | ")"));
            at = read_use(&tokens, at + 1, &[], is_public, &mut module.uses);
        } else if is_name(token) {
            let mut path = vec![token.clone()];
            while tokens.get(at + 1).is_some_and(|token| token == "::")
                && tokens.get(at + 2).is_some_and(|token| is_name(token))
            {
                at += 2;
                path.push(tokens[at].clone());
            }
            module.words.insert(path[0].clone());
            if path.len() > 1 {
                module.paths.push(path);
            }
        }
        at += 1;
    }
    module
}

/// Reads one tree of a `use` from `at` on; gives where the token after it is.
fn read_use(
    tokens: &[String],
    mut at: usize,
    prefix: &[String],
    is_public: bool,
    uses: &mut Vec<Use>,
) -> usize {
    let mut path = prefix.to_vec();
    loop {
        match tokens[at].as_str() {
            "{" => {
                at += 1;
                while tokens[at] != "}" {
                    at = read_use(tokens, at, &path, is_public, uses);
                    at += usize::from(tokens[at] == ",");
                }
                return at + 1;
            }
            "::" => at += 1,
            "as" | "," | ";" | "}" => {
                if path.len() > 1 && path.last().is_some_and(|name| name == "self") {
                    path.pop();
                }
                let is_renamed = tokens[at] == "as";
                let name = if is_renamed {
                    &tokens[at + 1]
                } else {
                    path.last().unwrap()
                };
                uses.push(Use {
                    name: name.clone(),
                    path,
                    is_public,
                });
                return at + 2 * usize::from(is_renamed);
            }
            name => {
                path.push(name.to_owned());
                at += 1;
            }
        }
    }
}

/// The modules of the crate.
struct Tree {
    files: HashMap<Names, String>,
    /// What a name in a module stands for there.
    uses: HashMap<(Names, String), Names>,
}

impl Tree {
    /// The file that declares what `path` names in the module `here`; nothing if it is of another
    /// crate or a module itself.
    fn file_of(&self, here: &Names, path: &[String]) -> Option<String> {
        let mut module = here.clone();
        let mut rest = path.to_vec();
        // Every step shortens the path or follows a `use`; circular ones end here.
        for step in 0..100 {
            if rest.is_empty() {
                return None;
            }
            let name = rest.remove(0);
            match name.as_str() {
                "crate" => module.clear(),
                "self" => {}
                "super" => drop(module.pop()),
                "*" => return self.files.get(&module).cloned(),
                _ => {
                    let used = self.uses.get(&(module.clone(), name.clone()));
                    let child = [module.as_slice(), std::slice::from_ref(&name)].concat();
                    let is_module = self.files.contains_key(&child);
                    match used {
                        // Its own first name is that of a crate, not of this `use` again.
                        Some(used) if (!is_module || rest.is_empty()) && used[0] != name => {
                            rest.splice(0..0, used.iter().cloned());
                        }
                        _ if is_module => module = child,
                        // The first name of all: a type here, or another crate.
                        _ if step == 0 => return None,
                        _ => return self.files.get(&module).cloned(),
                    }
                }
            }
        }
        panic!("{path:?} in {here:?} leads nowhere");
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Names and signs of `code`, without strings, characters and comments.
fn tokens(code: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(length) = raw_string(rest) {
            length
        } else if first == '"' {
            string(rest)
        } else if first == '\'' {
            character(rest)
        } else {
            let is_part = |c: char| c.is_alphanumeric() || c == '_';
            let length = match rest.find(|c| !is_part(c)) {
                _ if rest.starts_with("::") => 2,
                Some(0) => first.len_utf8(),
                Some(length) => length,
                None => rest.len(),
            };
            if !first.is_whitespace() {
                tokens.push(rest[..length].to_owned());
            }
            length
        };
        rest = &rest[length..];
    }
    tokens
}

fn raw_string(text: &str) -> Option<usize> {
    let after = text.strip_prefix('r').or_else(|| text.strip_prefix("br"))?;
    let quoted = after.trim_start_matches('#');
    let hashes = after.len() - quoted.len();
    let quoted = quoted.strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    Some(text.len() - quoted.len() + quoted.find(&end)? + end.len())
}

fn string(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of a character, or of a lifetime's quote.
fn character(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => 2 + text[2..].find('\'').map_or(0, |at| at + 1).max(2),
        Some(_) => match chars.next() {
            Some((at, '\'')) => at + 1,
            _ => 1,
        },
        None => 1,
    }
}

/// Made-up files: a line each is a path and its code.
fn made_up(files: &str) -> Vec<Source> {
    let files = files.trim().lines().map(|line| {
        let (path, code) = line.split_once(": ").unwrap();
        let [path, code] = [path, code].map(|text| text.replace("\\n", "\n"));
        Source { path, code }
    });
    files.collect()
}

/// Their imports, as `from -> to`.
fn check_imports(files: &str, expected: &str) {
    let shown = |import: &Import| format!("{} -> {}", import.from, import.to);
    let found: Vec<_> = imports(&made_up(files)).iter().map(shown).collect();
    assert_eq!(found.join(", "), expected);
}

#[test]
fn lists_paths_and_aliases_are_read() {
    let files = r#"
lib.rs: mod a; mod b;
a/mod.rs: pub mod c; pub mod d; pub struct A;
a/c.rs: pub struct C; const TEXT: &str = "crate::b::B"; const QUOTE: char = '"';
a/d.rs: use super::{c::{self, C}, A as Renamed}; fn f() { c::g(); crate::b::B::new() }
b.rs: use std::fmt; use crate::a; fn f() { a::c::C; fmt::Debug::fmt() }
"#;
    let expected = "a/d.rs -> a/c.rs, a/d.rs -> a/mod.rs, a/d.rs -> b.rs, b.rs -> a/c.rs";
    check_imports(files, expected);
}

#[test]
fn a_re_export_leads_to_the_file_that_declares() {
    let files = "
lib.rs: pub mod a; mod b;
a/mod.rs: mod c; mod d; pub use c::C; pub(crate) use d::D; fn f(_: D) {}
a/c.rs: pub struct C;
a/d.rs: use super::C; pub struct D;
b.rs: use crate::a::{C, D};
";
    let expected = "a/d.rs -> a/c.rs, a/mod.rs -> a/d.rs, b.rs -> a/c.rs, b.rs -> a/d.rs";
    check_imports(files, expected);
}

#[test]
fn circles_are_found_and_unit_tests_make_none() {
    let sources = made_up(
        r"
lib.rs: mod a; mod b; mod c;
a.rs: use crate::b::B; pub struct A;\nmod tests {\nuse crate::c::C;\n}
b.rs: pub struct B; fn f() { crate::c::g() }
c.rs: pub struct C; use crate::a::A;
",
    );
    let of = |count: usize| circles(&imports(&sources[..count]));
    assert_eq!(of(3), BTreeSet::new());
    let circle = ["a.rs", "b.rs", "c.rs"].map(str::to_owned).to_vec();
    assert_eq!(of(4), BTreeSet::from([circle]));
}
