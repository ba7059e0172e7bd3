//! The most lines of code in each room of `src`, without tests, comments and blank lines. The total only goes down;
//! a room grows only in plain sight.

use crate::prelude::*;

const TOTAL: usize = 30_500;

/// The most lines of a room. A file belongs to the longest of these paths that is a prefix of its own.
const ROOMS: [(&str, usize); 23] = [
    ("adapters", 560),
    ("adapters/cluster", 2_640),
    ("adapters/files", 1_440),
    ("adapters/ledger", 2_860),
    ("adapters/limiter", 860),
    ("adapters/model", 1_710),
    ("adapters/outbound", 730),
    ("adapters/tls", 570),
    ("app.rs", 98),
    ("cli", 2_580),
    ("config", 1_340),
    ("domain", 2_340),
    ("http", 5_400),
    ("lib.rs", 14),
    ("main.rs", 76),
    ("metrics", 385),
    ("operator", 1_785),
    ("operator/page", 860),
    ("ports", 420),
    ("site", 2_110),
    ("telemetry.rs", 222),
    ("usecases", 1_170),
    ("wiring", 566),
];

#[test]
fn no_room_has_more_lines_than_it_may() {
    let mut weights: BTreeMap<&str, usize> = BTreeMap::new();
    weigh(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        "",
        &mut weights,
    );
    for (room, most) in ROOMS {
        let lines = weights.get(room).copied().unwrap_or_default();
        assert!(lines > 0, "{room} is gone: remove its row");
        assert!(lines <= most, "{room} has {lines} lines of {most}");
    }
    let lines: usize = weights.values().sum();
    assert!(lines <= TOTAL, "src has {lines} lines of {TOTAL}");
}

/// Adds the lines of each file below `folder`, which is `path` in `src`, to its room.
fn weigh(folder: &Path, path: &str, weights: &mut BTreeMap<&str, usize>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap().path();
        let name = entry.file_name().unwrap().to_str().unwrap();
        let path = format!("{path}{name}");
        if entry.is_dir() && name != "tests" {
            weigh(&entry, &format!("{path}/"), weights);
        } else if name != "tests.rs"
            && [".rs", ".sql", ".lua"]
                .iter()
                .any(|end| name.ends_with(end))
        {
            let its = ROOMS.iter().map(|(room, _)| *room).filter(|room| {
                let rest = path.strip_prefix(room);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            });
            let room = its.max_by_key(|room| room.len());
            let room = room.unwrap_or_else(|| panic!("{path} has no room: add a row"));
            *weights.entry(room).or_default() +=
                lines_of_code(&fs::read_to_string(&entry).unwrap());
        }
    }
}

/// Lines that are neither blank nor a comment nor part of an item for tests.
fn lines_of_code(text: &str) -> usize {
    let mut count = 0;
    let mut lines = text.lines().map(str::trim);
    while let Some(line) = lines.next() {
        if line.starts_with("#[cfg(test)]") {
            let item = lines.by_ref().skip_while(|line| line.starts_with("#["));
            let mut depth = 0;
            for line in item {
                depth += line.matches('{').count();
                depth -= line.matches('}').count();
                if depth == 0 && line.ends_with([';', '}', ',']) {
                    break;
                }
            }
        } else if !line.is_empty() && !line.starts_with("//") {
            count += 1;
        }
    }
    count
}

#[test]
fn tests_comments_and_blank_lines_weigh_nothing() {
    let text = "//! A file.\n\nuse a;\n#[cfg(test)]\nmod tests;\n\n/// Does it.\nfn f() {\n    1 // one\n}\n\
                #[cfg(test)]\n#[allow(a)]\nmod tests {\n    fn g() {\n    }\n}\nfn h() {}\n";
    assert_eq!(lines_of_code(text), 5);
}
