//! The rules of the house that a machine can check: who may know whom.

use std::fs;
use std::path::{Path, PathBuf};

/// The layers, each with the layers of the crate it may import.
const LAYERS: [(&str, &[&str]); 10] = [
    ("domain", &["domain"]),
    ("ports", &["domain"]),
    ("usecases", &["domain", "ports", "usecases"]),
    ("app", &["domain", "ports", "usecases"]),
    ("site", &["domain", "site"]),
    ("config", &["domain", "config"]),
    ("telemetry", &[]),
    ("adapters", &["domain", "ports", "adapters"]),
    (
        "http",
        &["domain", "ports", "usecases", "app", "site", "http"],
    ),
    ("lib", &[]),
];

/// Crates that only some places may name.
const CRATES: [(&str, &[&str]); 13] = [
    ("sled::", &["adapters/"]),
    (
        "hyper::",
        &[
            "http/",
            "adapters/model/openai/",
            "adapters/outbound.rs",
            "adapters/webhook",
        ],
    ),
    ("rmcp::", &["http/mcp/"]),
    ("serde", &["http/", "adapters/", "site/", "config/"]),
    ("clap::", &["config/"]),
    ("tokio::", &["http/", "adapters/", "main/"]),
    ("SystemTime::now", &["adapters/system.rs"]),
    ("std::fs", &["adapters/"]),
    ("std::env", &["main/"]),
    ("std::thread", &["adapters/", "telemetry/"]),
    ("std::process", &["main/main.rs"]),
    ("TcpStream", &["http/"]),
    (
        "async_trait",
        &["ports/", "adapters/", "http/handlers/stream.rs"],
    ),
];

struct Source {
    /// Relative to `src`.
    path: String,
    /// Without comments.
    code: String,
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut sources = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
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
    sources
}

/// The layers that `code` names: by `crate::layer`, by a list after `crate::`, or by enough
/// `super::` to leave the folder it stands in, which is `depth` folders below `src`.
fn imports(code: &str, depth: usize) -> Vec<String> {
    let root = "super::".repeat(depth + 1);
    code.replace(&root, "crate::")
        .split("crate::")
        .skip(1)
        .flat_map(|rest| match rest.strip_prefix('{') {
            Some(list) => names_of_list(list),
            None => vec![leading_name(rest)],
        })
        // Test modules stand one deeper: what they name may be a neighbour.
        .filter(|name| LAYERS.iter().any(|(layer, _)| layer == name))
        .collect()
}

/// The first name of each item of a list that may hold lists; its opening brace has been read.
fn names_of_list(list: &str) -> Vec<String> {
    let mut names = Vec::new();
    let (mut depth, mut is_at_start) = (0, true);
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => is_at_start = true,
            _ if is_at_start && !c.is_whitespace() => {
                names.push(leading_name(&list[at..]));
                is_at_start = false;
            }
            _ => {}
        }
    }
    names
}

fn leading_name(path: &str) -> String {
    let is_name = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
    path.chars().take_while(is_name).collect()
}

#[test]
fn imports_run_one_way() {
    for source in sources() {
        let layer = source.path.split(['/', '.']).next().unwrap();
        if layer == "main" {
            continue;
        }
        let (_, allowed) = LAYERS
            .iter()
            .find(|(name, _)| *name == layer)
            .unwrap_or_else(|| panic!("{layer} is a layer nobody has thought of"));
        let is_layer_root = source.path.ends_with("mod.rs");
        let folders = source.path.matches('/').count() - usize::from(is_layer_root);
        for import in imports(&source.code, folders) {
            assert!(
                allowed.contains(&import.as_str()),
                "{} must not know {import}",
                source.path
            );
        }
    }
}

#[test]
fn technologies_stay_in_their_places() {
    for source in sources() {
        for (name, places) in CRATES {
            let is_named = source
                .code
                .match_indices(name)
                .any(|(at, _)| !source.code[..at].ends_with(|c: char| c.is_alphanumeric()));
            if is_named && !places.iter().any(|place| source.path.starts_with(place)) {
                panic!("{} must not know {name}", source.path);
            }
        }
    }
}

#[test]
fn the_wire_is_unknown_inside() {
    for source in sources() {
        let is_inside = ["domain", "ports", "usecases", "app"]
            .iter()
            .any(|layer| source.path.starts_with(layer));
        if !is_inside {
            continue;
        }
        for word in [
            "StatusCode",
            "HeaderName",
            "HeaderValue",
            "problem+json",
            "alreadyExists",
            "Retry-After",
            "RateLimit-",
        ] {
            assert!(!source.code.contains(word), "{}: {word}", source.path);
        }
    }
}

#[test]
fn only_the_problem_module_builds_error_bodies() {
    let builders: Vec<_> = sources()
        .into_iter()
        .filter(|source| source.code.contains("struct ProblemDetails"))
        .map(|source| source.path)
        .collect();
    assert_eq!(builders, ["http/problem/mod.rs"]);
}

#[test]
fn no_state_is_global() {
    for source in sources() {
        for word in [
            "static mut",
            "OnceLock",
            "LazyLock",
            "thread_local!",
            "lazy_static",
        ] {
            assert!(!source.code.contains(word), "{}: {word}", source.path);
        }
    }
}

#[test]
fn nothing_is_left_undone() {
    for source in sources() {
        for word in ["todo!", "unimplemented!", "FIXME", "TODO"] {
            assert!(!source.code.contains(word), "{}: {word}", source.path);
        }
    }
}

#[test]
fn the_reader_of_imports_reads_them() {
    let code = "use crate::domain::x;\nuse crate::{app, http::y};\ncrate::ports::z()";
    assert_eq!(imports(code, 0), ["domain", "app", "http", "ports"]);
    let nested = "use crate::{app::{self, App}, domain::{text::{A, B}, time}, http};";
    assert_eq!(imports(nested, 0), ["app", "domain", "http"]);
    // In src/http/handlers/keys.rs two folders lie below src.
    let upwards = "use super::super::super::adapters::memory; use super::super::problem;";
    assert_eq!(imports(upwards, 2), ["adapters"]);
}
