//! The units for systemd, made from those of the packages.

use std::net::SocketAddr;
use std::path::Path;

use crate::config::{Args, GivenFlag};
use crate::wiring;

use super::outcome::CommandError;

const SERVICE: &str = include_str!("../../data/deploy/landing-api.service");
const SOCKET: &str = include_str!("../../data/deploy/landing-api.socket");

const STATE: &str = "/var/lib/";
const PACKAGE_STATE: &str = "StateDirectory=landing-api\nStateDirectoryMode=0700\n";
/// What `ProtectHome=` hides.
const HOMES: [&str; 3] = ["/home/", "/root/", "/run/user/"];

/// The service and its socket, each after a line that tells its file.
///
/// # Errors
/// When a flag cannot stand in a unit: a path is not absolute.
pub(super) fn render(args: &Args, given: &[GivenFlag]) -> Result<String, CommandError> {
    let dir = args.data_dir.as_deref().and_then(Path::to_str);
    let dir = dir.filter(|dir| dir.starts_with('/'));
    let dir = dir.ok_or_else(|| {
        CommandError::Input("systemd needs the --data-dir as an absolute path".to_owned())
    })?;
    let is_relative = |value: &String| !value.starts_with('/');
    let mut paths = given.iter().filter(|flag| flag.is_path);
    if let Some(flag) = paths.find(|flag| flag.values.iter().any(is_relative)) {
        let name = &flag.name;
        return Err(CommandError::Input(format!(
            "systemd needs the {name} as an absolute path"
        )));
    }
    let (mut words, mut secret) = (vec![wiring::program()?], Vec::new());
    for flag in given {
        match flag.name.as_str() {
            // They stand elsewhere in the units.
            "--data-dir" | "--listen" | "--redirect-listen" => {}
            _ if flag.is_secret => secret.push(variable(flag)),
            _ => words.extend(words_of(flag)),
        }
    }
    let words = words.iter().map(|word| quoted(&word.replace('$', "$$")));
    let start = format!("ExecStart={}", words.collect::<Vec<_>>().join(" "));
    let data_dir = format!("LANDING_DATA_DIR={}", quoted(dir));
    let service = SERVICE
        .replace("ExecStart=/usr/bin/landing-api", &start)
        .replace("LANDING_DATA_DIR=/var/lib/landing-api", &data_dir)
        .replace(PACKAGE_STATE, &state_lines(dir));
    let service = if is_in_home(dir) {
        service.replace("ProtectHome=yes", "ProtectHome=tmpfs")
    } else {
        service
    };
    let listen = format!("\nListenStream={}\n", args.listen);
    let socket = SOCKET.replace("\nListenStream=127.0.0.1:8080\n", &listen);
    let (mut units, mut sockets) = (String::from("landing-api.socket"), socket);
    if let Some(address) = args.redirect_listen {
        units.push_str(" landing-api-redirect.socket");
        sockets.push_str(&redirect_socket(address));
    }
    let mut notes = format!(
        "# Once: adduser --system --group --no-create-home landing-api\n\
         # Then: systemctl enable --now {units} landing-api.service\n",
    );
    for variable in secret {
        notes.push_str(&format!(
            "# It may hold a secret, so it belongs into /etc/landing-api/landing-api.env: {variable}\n"
        ));
    }
    Ok(format!(
        "{notes}\n# /etc/systemd/system/landing-api.service\n{service}\n\
         # /etc/systemd/system/landing-api.socket\n{sockets}"
    ))
}

/// The unit of the socket that sends clients to `https`, after a line that tells its file.
fn redirect_socket(address: SocketAddr) -> String {
    format!(
        "\n# /etc/systemd/system/landing-api-redirect.socket\n[Unit]\n\
         Description=Address of the landing API that redirects to https\n\n[Socket]\n\
         ListenStream={address}\nFileDescriptorName=redirect\nService=landing-api.service\n\n\
         [Install]\nWantedBy=sockets.target\n"
    )
}

/// What gives the service its data directory, and nothing else.
fn state_lines(dir: &str) -> String {
    match dir.strip_prefix(STATE) {
        Some(name) if !name.is_empty() => {
            format!("StateDirectory={}\nStateDirectoryMode=0700\n", quoted(name))
        }
        _ if is_in_home(dir) => format!("BindPaths={}\n", quoted(dir)),
        _ => format!("ReadWritePaths={}\n", quoted(dir)),
    }
}

fn is_in_home(dir: &str) -> bool {
    HOMES.iter().any(|home| dir.starts_with(home))
}

fn words_of(flag: &GivenFlag) -> Vec<String> {
    if flag.values.is_empty() {
        return vec![flag.name.clone()];
    }
    let word = |value| format!("{}={value}", flag.name);
    flag.values.iter().map(word).collect()
}

fn variable(flag: &GivenFlag) -> String {
    let name = flag.name.trim_start_matches('-');
    format!("LANDING_{}", name.to_uppercase().replace('-', "_"))
}

/// A word as systemd reads it (systemd.syntax(7), "Quoting").
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@+".contains(c);
    if word.chars().all(is_plain) {
        return word.to_owned();
    }
    let mut quoted = String::from("\"");
    for c in word.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '%' => quoted.push_str("%%"),
            '\n' => quoted.push_str("\\n"),
            _ => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
