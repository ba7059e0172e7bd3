//! The topics of the handbook.

use clap::ValueEnum;

/// A file of the handbook.
// A variant's doc comment is its line in the list of topics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Topic {
    /// Packages, systemd, containers, proxies, the first contact
    Install,
    /// Flags, status, log, metrics, admin page, backup, upgrades
    Operate,
    /// List, export, import, erase, pass on
    Contacts,
    /// Every rate limit, who is counted, and how to look and reset
    Limits,
    /// A language model of your own, streaming
    Model,
    /// Documents, pages of your own, calls from other sites
    Site,
    /// Keys, registration, the MCP server
    Agents,
    /// PostgreSQL and Redis, what is promised, moving there
    SeveralNodes,
    /// What several nodes carry, and where that ends
    Scale,
    /// What was measured, and how
    Benchmarks,
    /// The source, and its checks
    Architecture,
    /// An endpoint, an error code, a policy, a flag, a command
    HowToAdd,
}

impl Topic {
    /// Every topic's name, and what it is about.
    pub fn list() -> impl Iterator<Item = (String, String)> {
        let values = Self::value_variants().iter();
        values
            .filter_map(ValueEnum::to_possible_value)
            .map(|value| {
                let about = value.get_help().map(ToString::to_string);
                (value.get_name().to_owned(), about.unwrap_or_default())
            })
    }
}
