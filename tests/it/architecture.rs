//! Checks the architecture: layers, circular imports, and where each technology may be used.

use crate::imports::{circles, imports, sources};
use crate::prelude::*;

/// The layers, each with the layers that it may import.
const LAYERS: &str = "
domain    | domain
ports     | domain ports
usecases  | domain ports usecases metrics
app       | domain ports usecases metrics
site      | domain site
config    | domain config
telemetry | domain
metrics   | domain metrics
adapters  | domain ports adapters metrics
http      | domain ports usecases app site http metrics
operator  | domain ports usecases app metrics operator
wiring    | domain ports adapters config site app metrics wiring
cli       | domain ports adapters usecases site http operator app config metrics wiring cli
lib       |
";

/// Crates and items that only some files may use, by the beginning of their paths. The last three places of `std::env`
/// are for the working directory of the service, and the environment of a command. The styles of clap colour the output.
/// `telemetry.rs` uses tokio's queue.
const CRATES: &str = "
sled::            | adapters/
tokio_postgres::  | adapters/cluster/postgres/
redis::           | adapters/cluster/redis/
hyper::           | http/ operator/ adapters/model/openai/ adapters/outbound/ adapters/tls/acme/conversation.rs
serde             | http/ operator/ adapters/ site/ config/ cli/
clap::            | config/ cli/output.rs
tokio::           | http/ operator/ adapters/ cli/ metrics/workers.rs telemetry.rs
SystemTime::now   | adapters/system.rs
std::fs           | adapters/ metrics/process.rs
std::env          | main.rs wiring/ config/mod.rs cli/check.rs cli/serve.rs cli/settings.rs
std::thread       | adapters/ telemetry.rs
std::process      | main.rs cli/settings.rs
TcpStream         | http/ operator/ adapters/outbound/
async_trait       | ports/ adapters/ http/handlers/stream.rs
";

/// The layer of a file: its top folder, or its name.
fn layer(path: &str) -> &str {
    path.split(['/', '.']).next().unwrap()
}

#[test]
fn imports_run_one_way() {
    for import in imports(&sources()) {
        let (from, to) = (&import.from, &import.to);
        let mut layers = rows(LAYERS);
        let found = layers.find(|[name, _]| *name == layer(from));
        let [_, allowed] = found.unwrap_or_else(|| panic!("{from} is in an unknown layer"));
        let is_allowed = allowed.split(' ').any(|name| name == layer(to));
        // There is what all unit tests use.
        let is_help = import.is_for_tests && to == "lib.rs";
        assert!(is_allowed || is_help, "{from} must not import {to}");
    }
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    assert_eq!(circles(&imports(&sources())), BTreeSet::new());
}

#[test]
fn technologies_stay_in_their_places() {
    for source in sources() {
        for [name, places] in rows(CRATES) {
            let names = source.code.match_indices(name);
            // An adapter may have the name of its technology.
            let is_named = names.map(|(at, _)| &source.code[..at]).any(|before| {
                !before.ends_with(|c: char| c.is_alphanumeric())
                    && !before.ends_with("crate::adapters::cluster::")
            });
            let path = &source.path;
            let is_allowed = places.split(' ').any(|place| path.starts_with(place));
            assert!(is_allowed || !is_named, "{path} must not use {name}");
        }
    }
}

/// What is kept is written through the port `Files`: `ledger::durable` sees what is synced there.
#[test]
fn what_is_kept_is_written_where_a_test_sees_its_syncs() {
    // Windows and the commands' socket are not kept.
    let others = [
        "adapters/files/mod.rs",
        "adapters/limiter/persistence.rs",
        "adapters/admin_socket.rs",
        "adapters/ledger/tests.rs",
    ];
    for source in sources() {
        let code = source.code.split("#[cfg(test)]").next().unwrap();
        for word in ["fs::rename", "fs::write", "sync_all()", "sync_data()"] {
            let is_named = code.contains(word) && !others.contains(&source.path.as_str());
            let path = &source.path;
            assert!(!is_named, "{path}: write with adapters/files, not {word}");
        }
    }
}

#[test]
fn the_wire_is_unknown_inside() {
    const WIRE: &str = "StatusCode HeaderName HeaderValue problem+json alreadyExists Retry-After RateLimit- __Host- \
                        /.well-known";
    let inside = ["domain", "ports", "usecases", "app"];
    let is_inside = |path: &str| inside.iter().any(|layer| path.starts_with(layer));
    for source in sources().iter().filter(|source| is_inside(&source.path)) {
        for word in WIRE.split(' ') {
            assert!(!source.code.contains(word), "{}: {word}", source.path);
        }
    }
}

#[test]
fn only_the_problem_module_builds_error_bodies() {
    let sources = sources();
    let builders = sources
        .iter()
        .filter(|source| source.code.contains("struct ProblemDetails"));
    let builders: Vec<_> = builders.map(|source| &source.path).collect();
    assert_eq!(builders, ["http/answer/problem/mod.rs"]);
}

#[test]
fn no_state_is_global() {
    for source in sources() {
        for word in ["static mut", "LazyLock", "thread_local!", "lazy_static"] {
            assert!(!source.code.contains(word), "{}: {word}", source.path);
        }
        // Only as a member of something.
        let lines = source.code.lines();
        for line in lines.filter(|line| line.contains("static ")) {
            assert!(!line.contains("OnceLock"), "{}: {line}", source.path);
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
