//! Emails sent by the service, and the fault behind a refused one: the recipient's, or the account's. A refusal
//! that leaves it open is judged by the relay's other responses.

use std::collections::HashMap;

use super::email::EmailAddress;
use super::macros::hidden;
use super::text::Text;
use super::time::Timestamp;

/// Maximum length of a sender's name, in characters.
const NAME_LENGTH_MAX: usize = 100;

/// The operator's account with a mail relay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relay {
    /// Host name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Protection of the connection.
    pub security: RelaySecurity,
    /// Account name, if the relay requires a login.
    pub user: Option<String>,
}

/// Protection of a connection to a relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelaySecurity {
    /// TLS from the first byte.
    Tls,
    /// TLS after `STARTTLS`; without it nothing is sent.
    StartTls,
    /// None: the relay is on this machine.
    Clear,
}

/// Sender of emails: an address, and optionally a display name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sender {
    /// Display name.
    pub name: Option<String>,
    /// The address.
    pub address: EmailAddress,
}

/// The fault of a sender.
const NO_SENDER: &str = "must be 'NAME <ADDRESS>' or an address such as news@example.com; the name has up to 100 \
     characters, none of them a control character";

impl Sender {
    /// Parses `NAME <ADDRESS>` or an address alone.
    ///
    /// # Errors
    /// The expected form, in words, when it is neither.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let (name, address) = match text.strip_suffix('>') {
            Some(text) => text.rsplit_once('<').ok_or(NO_SENDER)?,
            None => ("", text),
        };
        let name = name.trim().trim_matches('"');
        if name.contains(['<', '>']) {
            return Err(NO_SENDER);
        }
        if !name.is_empty() {
            let parsed = Text::<NAME_LENGTH_MAX>::parse_name(name.to_owned());
            parsed.map_err(|_wrong| NO_SENDER)?;
        }
        Ok(Self {
            name: (!name.is_empty()).then(|| name.to_owned()),
            address: EmailAddress::parse(address).map_err(|_wrong| NO_SENDER)?,
        })
    }
}

/// An email, before it is encoded.
#[derive(Clone, PartialEq, Eq)]
pub struct Letter {
    /// Recipient.
    pub to: EmailAddress,
    pub content: LetterContent,
    /// When it was written.
    pub at: Timestamp,
    /// Identifies the email, so that relays and mailboxes recognise a second copy.
    pub id: [u8; 16],
    /// One-click unsubscribe URL (RFC 8058).
    pub leave_url: Option<String>,
}

/// An email's content in one language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LetterContent {
    /// Subject, one line.
    pub subject: String,
    /// Plain text.
    pub text: String,
    /// The same as HTML.
    pub html: String,
}

impl LetterContent {
    /// Placeholder for the link in text and HTML.
    pub const LINK: &str = "https://link.invalid/";

    /// The content with its link, which has no character special to HTML.
    #[must_use]
    pub fn with_link(&self, link: &str) -> Self {
        Self {
            subject: self.subject.clone(),
            text: self.text.replace(Self::LINK, link),
            html: self.html.replace(Self::LINK, link),
        }
    }
}

hidden!(Letter);

/// This many different recipients refused in a row with the same code are the account's fault.
const ROW_MAX: usize = 3;

/// The same for an account code, when the account has just worked.
const DENIED_ROW_MAX: usize = 2;

/// Maximum number of refusals remembered. Past it the judge starts over.
const REFUSALS_MAX: usize = 1000;

/// Pauses of an account at fault, in minutes, and the one after these.
const ACCOUNT_WAITS_MIN: [u64; 3] = [1, 5, 15];
const ACCOUNT_WAIT_MIN_MAX: u64 = 60;

/// The fault behind a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// This email is refused for good.
    Recipient,
    /// Every email would be refused.
    Account,
    /// The next emails decide.
    Undecided,
    /// This email is refused for now.
    Moment,
}

/// Judges refusals that could be the recipient's or the account's fault.
#[derive(Debug, Default)]
pub struct FaultJudge {
    /// Number of emails accepted by the relay.
    accepted: u64,
    /// Last refusal of each recipient.
    refused: HashMap<EmailAddress, Refusal>,
    /// Number of account faults since the relay last accepted an email.
    account_faults: usize,
}

#[derive(Clone, Copy, Debug)]
struct Refusal {
    code: Option<u16>,
    /// [`FaultJudge::accepted`] at that time.
    accepted: u64,
    /// The account was at fault soon after.
    is_doubtful: bool,
}

impl FaultJudge {
    /// The relay accepted an email, so the account works. A refused recipient doesn't prove that: it says nothing about
    /// later emails.
    pub fn note_accepted(&mut self) {
        self.accepted += 1;
        self.account_faults = 0;
    }

    /// Judges a refusal of an email to `to` with `code`; `None` stands for every account code. A recipient refused
    /// before is at fault if the relay has accepted others since, unless the account was at fault then: it may be
    /// again. An earlier temporary refusal (4xx), or one with an account code, doesn't make a permanent one the
    /// recipient's fault.
    pub fn judge(&mut self, to: &EmailAddress, code: Option<u16>) -> Fault {
        let is_final = code >= Some(500);
        if code.is_none() {
            return self.judge_denied(to);
        }
        if let Some(before) = self.refused.get(to).filter(|refusal| {
            refusal.accepted < self.accepted && (refusal.code >= Some(500) || !is_final)
        }) {
            return match before.is_doubtful {
                true => Fault::Undecided,
                false if is_final => Fault::Recipient,
                false => Fault::Moment,
            };
        }
        match self.remember(to, code) {
            ROW_MAX.. => Fault::Account,
            _ => Fault::Undecided,
        }
    }

    /// Judges a refusal of an email to `to` with an account code. If the account has just worked, another
    /// recipient decides. A recipient refused before is at fault alone if others were accepted since, or
    /// nobody else was refused: otherwise anybody could stop all email with an address the account may not
    /// write to.
    fn judge_denied(&mut self, to: &EmailAddress) -> Fault {
        let before = self.refused.get(to).map(|refusal| refusal.accepted);
        let works = self.accepted > 0 && self.account_faults == 0;
        let row = self.remember(to, None);
        match before {
            Some(accepted) if accepted < self.accepted || (row == 1 && accepted > 0) => {
                Fault::Moment
            }
            _ if works && row < DENIED_ROW_MAX => Fault::Undecided,
            _ => Fault::Account,
        }
    }

    /// Remembers a refusal. Returns the number of recipients refused with this code since the relay last
    /// accepted an email.
    fn remember(&mut self, to: &EmailAddress, code: Option<u16>) -> usize {
        if self.refused.len() >= REFUSALS_MAX {
            self.refused.clear();
        }
        let refusal = Refusal {
            code,
            accepted: self.accepted,
            is_doubtful: false,
        };
        self.refused.insert(to.clone(), refusal);
        let refusals = self.refused.values();
        refusals
            .filter(|refusal| (refusal.code, refusal.accepted) == (code, self.accepted))
            .count()
    }

    /// Records an account fault. Returns the pause, in milliseconds.
    pub fn pause_ms(&mut self) -> u64 {
        for refusal in self.refused.values_mut() {
            refusal.is_doubtful |= refusal.accepted == self.accepted;
        }
        let minutes = ACCOUNT_WAITS_MIN.get(self.account_faults);
        self.account_faults += 1;
        minutes.unwrap_or(&ACCOUNT_WAIT_MIN_MAX) * 60_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::rows;

    #[test]
    fn a_sender_is_an_address_with_or_without_a_name() {
        for (text, name, address) in [
            ("news@example.com", None, "news@example.com"),
            ("<news@example.com>", None, "news@example.com"),
            (
                "Ada & Co. <News@example.com>",
                Some("Ada & Co."),
                "news@example.com",
            ),
            ("\"Café, Köln\" <a@b.com>", Some("Café, Köln"), "a@b.com"),
        ] {
            let sender = Sender::parse(text).unwrap();
            assert_eq!(sender.name.as_deref(), name, "{text}");
            assert_eq!(sender.address.as_str(), address, "{text}");
        }
    }

    #[test]
    fn what_is_no_sender_is_refused() {
        assert!(NO_SENDER.contains(&format!("up to {NAME_LENGTH_MAX} characters")));
        let long = format!("{} <a@example.com>", "n".repeat(101));
        for text in [
            "",
            "Ada",
            "Ada <>",
            "Ada <a@example.com",
            "Ada a@example.com",
            "Ada <a@example.com>, Eve <e@example.com>",
            "<Ada> <a@example.com>",
            "Ada\r\nBcc: e@example.com <a@example.com>",
            "Ada\u{2028}x <a@example.com>",
            &long,
        ] {
            assert_eq!(Sender::parse(text), Err(NO_SENDER), "{text:?}");
        }
    }

    /// Emails by their recipient and the code of their refusal, 0 for none and 571 for an account code, and the faults
    /// of those that are refused.
    const JUDGED: &str = "
an account that never worked | a571 | Account
one that has worked, and does not any more | a0 b571 c571 d571 | Undecided Account Account
one recipient that it may not write to | a0 b571 c0 b571 b571 | Undecided Moment Moment
the same while no other mail is sent | a0 b571 b571 b571 | Undecided Moment Moment
one that it never may, among others | b571 a0 b571 c0 b571 | Account Moment Moment
two of them are taken for the account once | a0 b571 c571 d0 b571 c571 | Undecided Account Moment Moment
one alone | a550 | Undecided
the third in a row | a550 b550 c550 | Undecided Undecided Account
and all after it | a550 b550 c550 d550 a550 | Undecided Undecided Account Account Account
one recipient again and again | a550 a550 a550 | Undecided Undecided Undecided
different codes | a550 b554 c553 | Undecided Undecided Undecided
an accepted mail breaks the row | a550 b550 c0 d550 e550 | Undecided Undecided Undecided Undecided
refused again after others were accepted | a550 b0 a550 | Undecided Recipient
refused again after the account was at fault: it may be again | a550 b550 c550 d0 a550 | Undecided Undecided Account Undecided
refused for now, and then all are refused for good | a450 b0 a554 c554 d554 | Undecided Undecided Undecided Account
with a code of the account's, and then for good | a0 b571 c0 b554 d554 e554 | Undecided Undecided Undecided Account
refused in another way after others were accepted | a550 b0 a554 | Undecided Recipient
";

    #[test]
    fn refusals_are_judged_by_what_else_the_relay_says() {
        for [name, mails, expected] in rows(JUDGED) {
            let mut judge = FaultJudge::default();
            let mut faults = Vec::new();
            for mail in mails.split(' ') {
                let (to, code) = mail.split_at(1);
                let to = EmailAddress::parse(&format!("{to}@example.com")).unwrap();
                let fault = match code.parse().unwrap() {
                    0 => {
                        judge.note_accepted();
                        continue;
                    }
                    571 => judge.judge(&to, None),
                    code => judge.judge(&to, Some(code)),
                };
                if fault == Fault::Account {
                    judge.pause_ms();
                }
                faults.push(format!("{fault:?}"));
            }
            assert_eq!(faults.join(" "), expected, "{name}");
        }
    }

    #[test]
    fn an_account_is_left_alone_longer_each_time_until_it_works() {
        let mut judge = FaultJudge::default();
        let mut minutes = || [0; 5].map(|_| judge.pause_ms() / 60_000);
        assert_eq!(minutes(), [1, 5, 15, 60, 60]);
        judge.note_accepted();
        assert_eq!(judge.pause_ms(), 60_000);
    }

    #[test]
    fn what_is_remembered_of_refusals_is_bounded() {
        let mut judge = FaultJudge::default();
        for number in 0..5000 {
            let to = EmailAddress::parse(&format!("user{number}@example.com")).unwrap();
            judge.judge(&to, Some(550));
            judge.note_accepted();
        }
        assert!(judge.refused.len() <= REFUSALS_MAX);
    }
}
