//! The flags of the email account.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;

use percent_encoding::percent_decode_str;
use url::{Host, Url};

use crate::domain::{Relay, RelaySecurity, Sender};

/// The email account. Without `--smtp-url`, giving any of the others is an error.
// A field's doc comment is the flag's help.
#[derive(Clone, Debug, PartialEq, clap::Args)]
pub struct MailArgs {
    /// Mail relay: smtps://USER@HOST (TLS, port 465) or smtp://USER@HOST (STARTTLS, port 587); without TLS only
    /// on this machine [default: none, no email is sent]
    #[arg(
        long = "smtp-url",
        hide_env_values = true,
        value_name = "URL",
        required = false,
        requires = "mail_from",
        value_parser = relay
    )]
    pub smtp_url: Relay,

    /// File with the relay password, not readable by other users; read at each login
    #[arg(
        long = "smtp-password-file",
        value_name = "FILE",
        requires = "smtp_url"
    )]
    pub smtp_password_file: Option<PathBuf>,

    /// Sender of all emails, such as 'Example Ltd <news@example.com>'; without a name, --service-name
    #[arg(
        long = "mail-from",
        value_name = "NAME <ADDRESS>",
        required = false,
        requires = "smtp_url",
        value_parser = Sender::parse
    )]
    pub mail_from: Sender,

    /// Host name or address in the greeting to the relay (EHLO), such as mail.example.com or [192.0.2.1]
    /// [default: the sender's domain]
    #[arg(long = "smtp-hello", value_name = "NAME", requires = "smtp_url", value_parser = hello)]
    pub smtp_hello: Option<String>,
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
    let host = url.host().ok_or(FORM)?;
    let (security, port) = match url.scheme() {
        "smtps" => (RelaySecurity::Tls, 465),
        "smtp" if is_this_machine(&host) => (RelaySecurity::Clear, 587),
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
        host: host.to_string().trim_matches(['[', ']']).to_owned(),
        port: url.port().unwrap_or(port),
        security,
        user: (!user.is_empty()).then(|| user.into_owned()),
    })
}

/// A host name, in ASCII, or an address literal (RFC 5321, section 4.1.3).
fn hello(text: &str) -> Result<String, &'static str> {
    const FORM: &str = "must be a host name such as mail.example.com, or an address such as [192.0.2.1] or \
                        [IPv6:2001:db8::1]";
    let literal = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    let is_address = literal.map(|literal| match literal.strip_prefix("IPv6:") {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => literal.parse::<Ipv4Addr>().is_ok(),
    });
    match is_address.unwrap_or_else(|| text.parse::<IpAddr>().is_err()) {
        true if literal.is_some() => Ok(text.to_owned()),
        true => idna::domain_to_ascii_strict(text).map_err(|_wrong| FORM),
        false => Err(FORM),
    }
}

/// True if traffic to `host` stays on this machine.
fn is_this_machine(host: &Host<&str>) -> bool {
    // The parser knows none of this scheme's addresses.
    let text = host.to_string();
    let address = text.trim_matches(['[', ']']).parse::<IpAddr>();
    text == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_relay_has_a_port_and_its_protection() {
        use RelaySecurity::{Clear, StartTls, Tls};
        for (text, host, port, security, user) in [
            (
                "smtps://ada@mx.example.com",
                "mx.example.com",
                465,
                Tls,
                Some("ada"),
            ),
            (
                "smtp://ada@mx.example.com",
                "mx.example.com",
                587,
                StartTls,
                Some("ada"),
            ),
            (
                "smtp://a%40b.example@mx.example.com:25/",
                "mx.example.com",
                25,
                StartTls,
                Some("a@b.example"),
            ),
            (
                "smtp://a@b.example@mx.example.com",
                "mx.example.com",
                587,
                StartTls,
                Some("a@b.example"),
            ),
            ("smtp://localhost:2525", "localhost", 2525, Clear, None),
            ("smtp://127.0.0.1", "127.0.0.1", 587, Clear, None),
            ("smtp://[::1]:25", "::1", 25, Clear, None),
            ("smtps://localhost", "localhost", 465, Tls, None),
            ("smtp://10.0.0.1", "10.0.0.1", 587, StartTls, None),
            (
                "smtp://localhost.example.com",
                "localhost.example.com",
                587,
                StartTls,
                None,
            ),
        ] {
            let user = user.map(str::to_owned);
            let expected = Relay {
                host: host.to_owned(),
                port,
                security,
                user,
            };
            assert_eq!(relay(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn the_service_calls_itself_by_a_name_or_an_address() {
        for (text, name) in [
            ("mail.example.com", Some("mail.example.com")),
            ("Mail.Example.com", Some("mail.example.com")),
            ("bücher.example", Some("xn--bcher-kva.example")),
            ("localhost", Some("localhost")),
            ("[192.0.2.1]", Some("[192.0.2.1]")),
            ("[IPv6:2001:db8::1]", Some("[IPv6:2001:db8::1]")),
            ("[IPv6:::1]", Some("[IPv6:::1]")),
            ("", None),
            ("192.0.2.1", None),
            ("2001:db8::1", None),
            ("[2001:db8::1]", None),
            ("[192.0.2.256]", None),
            ("[]", None),
            ("[mail.example.com]", None),
            ("mail.example.com.", None),
            ("mail..example.com", None),
            ("-mail.example.com", None),
            ("mail_1.example.com", None),
            ("mail example", None),
            ("mail.example.com:25", None),
            ("a.example\r\nMAIL FROM:<a@b.example>", None),
            ("ada@example.com", None),
        ] {
            assert_eq!(hello(text).ok().as_deref(), name, "{text:?}");
        }
        assert!(hello(&"a".repeat(64)).is_err());
        assert!(hello(&["a"; 128].join(".")).is_err());
    }

    #[test]
    fn what_is_no_relay_is_refused() {
        for text in [
            "",
            "mx.example.com",
            "https://ada@mx.example.com",
            "smtps://",
            "smtps:ada@mx.example.com",
            "smtps://ada:hunter2@mx.example.com",
            "smtps://ada@mx.example.com/path",
            "smtps://ada@mx.example.com?tls=opportunistic",
            "smtps://ada@mx.example.com#x",
            "smtps://ada@mx.example.com:99999",
            "smtps://%FF@mx.example.com",
        ] {
            assert!(relay(text).is_err(), "{text}");
        }
    }
}
