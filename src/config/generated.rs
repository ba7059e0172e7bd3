//! Completions and the man page, generated from the definitions of flags and commands.

use std::io;

use clap::Id;
use clap_mangen::Man;

pub use clap_complete::Shell;

const PROGRAM: &str = "landing-api";

/// The completions of `shell`.
pub(super) fn completions(shell: Shell, mut command: clap::Command) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, PROGRAM, &mut script);
    // Bash's completions read the hyphen in the program's name as a blank when they look words up.
    let script = String::from_utf8_lossy(&script);
    script
        .replace("landing__subcmd__api", "landing__api")
        .into_bytes()
}

/// The man page, with a section for each command.
pub(super) fn man_page(mut command: clap::Command) -> io::Result<Vec<u8>> {
    command.build();
    let mut page = Vec::new();
    let top = Man::new(command.clone())
        .section("1")
        .manual("User Commands");
    top.render_title(&mut page)?;
    top.render_name_section(&mut page)?;
    top.render_synopsis_section(&mut page)?;
    top.render_description_section(&mut page)?;
    top.render_options_section(&mut page)?;
    let flags: Vec<_> = command.get_arguments().map(clap::Arg::get_id).collect();
    add_commands(&command, &flags, &mut page)?;
    Ok(page)
}

/// Adds the leaf commands under `parent`, without the `flags` described before.
fn add_commands(parent: &clap::Command, flags: &[&Id], page: &mut Vec<u8>) -> io::Result<()> {
    for command in parent.get_subcommands() {
        if command.get_name() == "help" || command.is_hide_set() {
            continue;
        }
        if command.has_subcommands() {
            add_commands(command, flags, page)?;
            continue;
        }
        let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
        page.extend_from_slice(format!(".SH \"{}\"\n", name.to_uppercase()).as_bytes());
        let hide_known = |arg: clap::Arg| {
            let is_known = arg.is_hide_set() || flags.contains(&arg.get_id());
            arg.hide(is_known)
        };
        let man = Man::new(command.clone().mut_args(hide_known));
        let mut sections = Vec::new();
        man.render_description_section(&mut sections)?;
        man.render_synopsis_section(&mut sections)?;
        man.render_options_section(&mut sections)?;
        let sections = String::from_utf8_lossy(&sections).replace(".SH ", ".SS ");
        page.extend_from_slice(sections.as_bytes());
    }
    Ok(())
}
