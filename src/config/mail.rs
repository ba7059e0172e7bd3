//! The flags of the email account.

use std::path::PathBuf;

use percent_encoding::percent_decode_str;
use url::Url;

use crate::domain::{Relay, RelaySecurity, Sender, is_this_machine};

/// The email account. Without `--smtp-url`, giving any of the others is an error.
// A field's doc comment is the flag's help.
#[derive(Clone, Debug, PartialEq, clap::Args)]
#[group(requires_all = ["smtp_url", "mail_from"])]
pub struct MailArgs {
    /// Mail relay, such as smtps://USER@HOST
    ///
    /// smtps uses TLS on port 465, and smtp STARTTLS on port 587
    #[arg(
        long,
        hide_env_values = true,
        value_name = "URL",
        required = false,
        value_parser = relay
    )]
    pub smtp_url: Relay,

    /// File with the relay password; read at each login
    #[arg(long, value_name = "FILE")]
    pub smtp_password_file: Option<PathBuf>,

    /// Sender, such as 'Example Ltd <news@example.com>'
    #[arg(long, value_name = "SENDER", required = false, value_parser = Sender::parse)]
    pub mail_from: Sender,
}

impl MailArgs {
    /// Checks that a password is given with a user, and only then.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        match (&self.smtp_url.user, &self.smtp_password_file) {
            (Some(_user), None) => {
                Err("--smtp-url has a user: set the password with --smtp-password-file")
            }
            (None, Some(_file)) => {
                Err("--smtp-password-file needs a user in --smtp-url, such as smtps://USER@HOST")
            }
            (Some(_), Some(_)) | (None, None) => Ok(()),
        }
    }
}

fn relay(text: &str) -> Result<Relay, &'static str> {
    const FORM: &str = "must be smtps://USER@HOST or smtp://USER@HOST, optionally with a port";
    let url = Url::parse(text).map_err(|_no_url| FORM)?;
    let host = url.host_str().ok_or(FORM)?;
    let (security, port) = match url.scheme() {
        "smtps" => (RelaySecurity::Tls, 465),
        "smtp" if is_this_machine(host) => (RelaySecurity::Clear, 587),
        "smtp" => (RelaySecurity::StartTls, 587),
        _ => return Err(FORM),
    };
    if url.password().is_some() {
        return Err("must not contain the password: put it into --smtp-password-file");
    }
    if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
        return Err("must end with the host or the port");
    }
    let user = percent_decode_str(url.username()).decode_utf8();
    let user = user.map_err(|_not_utf8| FORM)?;
    Ok(Relay {
        host: host.trim_matches(['[', ']']).to_owned(),
        port: url.port().unwrap_or(port),
        security,
        user: (!user.is_empty()).then(|| user.into_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_relay_has_a_port_and_its_protection() {
        let relays = "
smtps://ada@mx.example.com => Tls mx.example.com 465 ada
smtp://ada@mx.example.com => StartTls mx.example.com 587 ada
smtp://a%40b.example@mx.example.com:25/ => StartTls mx.example.com 25 a@b.example
smtp://a@b.example@mx.example.com => StartTls mx.example.com 587 a@b.example
smtp://localhost:2525 => Clear localhost 2525 -
smtp://127.0.0.1 => Clear 127.0.0.1 587 -
smtp://[::1]:25 => Clear ::1 25 -
smtps://localhost => Tls localhost 465 -
smtp://localhost. => StartTls localhost. 587 -
smtp://10.0.0.1 => StartTls 10.0.0.1 587 -
smtp://localhost.example.com => StartTls localhost.example.com 587 -
";
        for row in relays.trim().lines() {
            let (text, expected) = row.split_once(" => ").unwrap();
            let Relay {
                host,
                port,
                security,
                user,
            } = relay(text).unwrap();
            let user = user.as_deref().unwrap_or("-");
            assert_eq!(
                format!("{security:?} {host} {port} {user}"),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_relay_is_refused() {
        let others = " mx.example.com https://ada@mx.example.com smtps:// smtps:ada@mx.example.com \
                      smtps://ada:hunter2@mx.example.com smtps://ada@mx.example.com/path \
                      smtps://ada@mx.example.com?tls=opportunistic smtps://ada@mx.example.com#x \
                      smtps://ada@mx.example.com:99999 smtps://%FF@mx.example.com";
        for text in others.split(' ') {
            assert!(relay(text).is_err(), "{text}");
        }
    }
}
