//! The script of the pages: modules while it is written and tested, one file when it is served.
//!
//! One file is one request, and the only form in which a script in the head runs before the page is
//! painted: a module always waits. So the modules are joined when the service starts.

/// The name of the file.
pub(super) const NAME: &str = "site.js";

/// The modules; what another imports comes first.
const MODULES: [&str; 8] = [
    include_str!("../../data/script/time.js"),
    include_str!("../../data/script/events.js"),
    include_str!("../../data/script/request.js"),
    include_str!("../../data/script/page.js"),
    include_str!("../../data/script/form.js"),
    include_str!("../../data/script/forms.js"),
    include_str!("../../data/script/assistant.js"),
    include_str!("../../data/script/start.js"),
];

/// What the file begins with.
const HEAD: &str = "\
// What the forms of the pages do. Where this script does not run they are not shown, and the page
// tells in their place how to do the same from a terminal.
//
// Whatever comes from outside is put into the page as text. The policy of the page (Trusted Types)
// would stop it otherwise.
\"use strict\";

(() => {
";

/// The whole script. In one scope nothing needs to be imported or exported; both stand on lines of
/// their own beginning.
pub(super) fn joined() -> String {
    let lines = MODULES
        .iter()
        .flat_map(|module| module.lines())
        .filter(|line| !line.starts_with("import "))
        .map(|line| line.strip_prefix("export ").unwrap_or(line));
    let mut script = HEAD.to_owned();
    for line in lines {
        script.extend([line, "\n"]);
    }
    script.push_str("})();\n");
    script
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// The names that a module has at its top.
    fn names(module: &str) -> impl Iterator<Item = &str> {
        module.lines().filter_map(|line| {
            let line = line.strip_prefix("export ").unwrap_or(line);
            let rest = line
                .strip_prefix("const ")
                .or_else(|| line.strip_prefix("class "))?;
            rest.split(|c: char| !c.is_alphanumeric() && c != '_')
                .next()
        })
    }

    #[test]
    fn what_a_module_imports_stands_before_it_and_every_name_once() {
        let mut known = HashSet::new();
        for module in MODULES {
            let imports = module.lines().filter(|line| line.starts_with("import "));
            for import in imports {
                let (list, _) = import
                    .strip_prefix("import { ")
                    .and_then(|rest| rest.split_once(" } from \"./"))
                    .unwrap();
                for name in list.split(", ") {
                    assert!(known.contains(name), "{name}");
                }
            }
            for name in names(module) {
                assert!(known.insert(name), "{name} twice");
            }
        }
        assert!(known.len() > 30, "{known:?}");
    }

    #[test]
    fn the_file_is_one_script_without_what_only_modules_may_say() {
        let script = joined();
        for line in script.lines() {
            let words = line.trim_start();
            assert!(!words.starts_with("import"), "{line}");
            assert!(!words.starts_with("export"), "{line}");
        }
        assert!(script.contains("\nconst duration = "));
        assert!(script.contains("\nclass EventReader {"));
        // Nobody has to know a selector that not all browsers do: with it all else would fail.
        assert!(!script.contains(":has("));
    }
}
