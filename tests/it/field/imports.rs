//! Contact files as other programs export them.

use std::fmt::Write as _;

use crate::commands::{feed, run};
use crate::prelude::*;

/// Imports `file` into a directory of its own. Returns what the command said, and who is there with which status.
fn imported(flags: &str, file: impl AsRef<[u8]>) -> (Ran, String) {
    let dir = private_dir();
    let ran = feed(&format!("contacts import - {flags}"), dir.path(), file);
    let listed = run("contacts list --json", dir.path());
    let mut contacts = String::new();
    for contact in listed.out.lines() {
        let contact: Value = serde_json::from_str(contact).unwrap();
        let [email, status] = ["email", "status"].map(|name| contact[name].as_str().unwrap());
        let name = email.split('@').next().unwrap();
        write!(contacts, "{name}:{} ", &status[..1]).unwrap();
    }
    (ran, contacts.trim_end().to_owned())
}

/// A file whose ends of lines are written as in a string.
fn written(text: &str) -> String {
    let replace = |text: String, (written, end)| text.replace(written, end);
    let ends = [
        ("\\r", "\r"),
        ("\\n", "\n"),
        ("\\t", "\t"),
        ("\\u{feff}", "\u{feff}"),
    ];
    ends.into_iter().fold(text.to_owned(), replace)
}

/// Exports, made from the documentation of the programs: the program, who is `s`ubscribed and `u`nsubscribed by it,
/// nobody who is unconfirmed, and below that the file.
const EXPORTS: &str = r#"
# listmonk | ada:s bob:u cid:u
uuid,email,name,attributes,status,created_at,updated_at
1-2,ada@x.test,Ada,"{""city"":""Graz"",""mail"":""a@b.test""}",enabled,2024-01-01,2024-01-01
1-3,bob@x.test,Bob,{},blocklisted,2024-01-01,2024-01-01
1-4,cid@x.test,Cid,{},disabled,2024-01-01,2024-01-01
# Keila | ada:s bob:u cid:u
Email,First name,Last name,Data,Status,Double Opt-In at\r
ada@x.test,Ada,,"{}",active,\r
bob@x.test,Bob,,,unsubscribed,\r
cid@x.test,,,,unreachable,\r
# Mailchimp, subscribed | ada:s
"Email Address","First Name",MEMBER_RATING,OPTIN_TIME,OPTIN_IP,CONFIRM_TIME,CONFIRM_IP,LAST_CHANGED,LEID,TAGS
ada@x.test,Ada,2,,,"2023-05-06 07:08:09",192.0.2.1,"2023-05-06 07:08:09",1,"""vip"""
# Mailchimp, unsubscribed | ada:u
Email Address,UNSUB_TIME,UNSUB_CAMPAIGN_TITLE,UNSUB_CAMPAIGN_ID,UNSUB_REASON,UNSUB_REASON_OTHER
ada@x.test,2023-05-06 07:08:09,May,1,NORMAL,
# Mailchimp, cleaned | ada:u
Email Address,CLEAN_TIME,CLEAN_CAMPAIGN_TITLE,CLEAN_CAMPAIGN_ID
ada@x.test,2023-05-06 07:08:09,May,1
# Ghost | ada:s bob:u cid:u
id,email,name,note,subscribed_to_emails,complimentary_plan,stripe_customer_id,created_at,deleted_at,labels,tiers
1,ada@x.test,Ada,,true,false,,2024-01-01T00:00:00.000Z,,,
2,bob@x.test,,,false,false,,2024-01-01T00:00:00.000Z,,,
3,cid@x.test,,,true,false,,2024-01-01T00:00:00.000Z,2024-02-01T00:00:00.000Z,,
# phpList | ada:s bob:u dan:u eve:u
id,email,confirmed,blacklisted,bouncecount,entered,modified,htmlemail,disabled
1,ada@x.test,1,0,3,2020-01-01 00:00:00,2020-01-01 00:00:00,1,0
2,bob@x.test,1,1,0,2020,2020,1,0
3,cid@x.test,0,0,0,2020,2020,1,0
4,dan@x.test,0,1,0,2020,2020,1,0
5,eve@x.test,1,0,0,2020,2020,1,1
# Brevo | ada:s bob:u
\u{feff}CONTACT ID;EMAIL;FIRSTNAME;SMS;DOUBLE_OPT-IN;ADDED_TIME;BLOCKLISTED
1;ada@x.test;Ada;;1;01-01-2024;no
2;bob@x.test;Bob;;1;01-01-2024;yes
3;cid@x.test;;;2;01-01-2024;no
# Brevo, status | ada:s bob:u cid:u
EMAIL;EMAIL_MARKETING
ada@x.test;Subscribed
bob@x.test;Blocklisted
cid@x.test;Unsubscribed
# Buttondown | ada:s cid:u dan:u
email_address,notes,metadata,tags,type,creation_date,unsubscription_date
ada@x.test,,{},,regular,2024-01-01,
bob@x.test,,{},,unactivated,2024-01-01,
cid@x.test,,{},,unsubscribed,2024-01-01,2024-02-02
dan@x.test,,{},,premium,2024-01-01,2024-02-02
# Kit | ada:s bob:u cid:u dan:u eve:u
id,first_name,email,status,created_at,tags
1,Ada,ada@x.test,active,2024-01-01,
2,,bob@x.test,cancelled,,
3,,cid@x.test,bounced,,
4,,dan@x.test,complained,,
5,,eve@x.test,inactive,,
# Mailtrain | ada:s bob:u
email,status
ada@x.test,subscribed
bob@x.test,complained
# MailPoet | ada:s bob:u dan:u
Email\tFirst Name\tGlobal Status\tList Status
ada@x.test\tAda\tsubscribed\tsubscribed
bob@x.test\t\tsubscribed\tunsubscribed
cid@x.test\t\tunconfirmed\tsubscribed
dan@x.test\t\tbounced\tunconfirmed
# MailerLite | ada:s
Subscriber,Sent,Opens,Clicks,Subscribed,Location
ada@x.test,1,1,1,2024-01-01 10:00:00,
# Substack | ada:s bob:u
email,active_subscription,expiry,plan,email_disabled,created_at,first_payment_at
ada@x.test,false,,other,false,2024-01-01T00:00:00.000Z,
bob@x.test,true,,other,true,2024-01-01T00:00:00.000Z,
# Klaviyo | ada:s cid:u
Email,Email Marketing Consent
ada@x.test,SUBSCRIBED
bob@x.test,NEVER_SUBSCRIBED
cid@x.test,UNSUBSCRIBED
# Shopify | ada:s bob:u
First Name,Email,Accepts Email Marketing,Default Address Company
Ada,ada@x.test,yes,
Bob,bob@x.test,no,
# HubSpot | ada:s bob:u cid:s
Email,Unsubscribed from all email
ada@x.test,
bob@x.test,true
cid@x.test,false
# Excel, German | ada:s bob:u
sep=;\r
Name;E-Mail-Adresse;Abgemeldet am;Bestätigt\r
Ada;ada@x.test;;ja\r
Bob;bob@x.test;02.03.2024;ja\r
Cid;cid@x.test;;nein\r
# French | ada:s bob:u
courriel,désabonné
ada@x.test,non
bob@x.test,oui
# Spanish | ada:s bob:u cid:s
correo,estado,provincia
ada@x.test,suscrito,
bob@x.test,baja,
cid@x.test,Jalisco,
# several flags, the worst counts | ada:s bob:u cid:u
email,status,bounced_at,opt_out
ada@x.test,active,,0
bob@x.test,active,2024-01-01,0
cid@x.test,active,,x
"#;

#[test]
fn the_exports_of_other_programs_import_nobody_who_may_not_be_written_to() {
    for export in EXPORTS.split("\n# ").skip(1) {
        let (head, file) = export.split_once('\n').unwrap();
        let (program, expected) = head.split_once(" | ").unwrap();
        let file = written(file.trim_end_matches('\n')) + "\n";
        let (ran, contacts) = imported("", &file);
        assert_eq!(contacts, expected, "{program}: {ran:?}");
        let is_whole = file.matches("x.test").count() == expected.split(' ').count();
        let status = if is_whole { 0 } else { 3 };
        assert_eq!(ran.status, Some(status), "{program}: {ran:?}");
        let is_told = is_whole || ran.out.contains("unconfirmed");
        assert!(is_told, "{program}: {ran:?}");
    }
}

/// Columns that may carry consent.
const CONSENTS: &str = "
on_blacklist, GDPR, opt-in status, Mail permission, bounce type, was_suppressed, Complaints,
is_confirmed_by, activity, date_deleted, Werbeeinwilligung, gekündigt, Zustimmung, consentement,
bloquées, eliminado, newsletter_opt, do not disturb, rejected, left_at, no_send, paused,
Austritt, is_valid, On hold, dnc, suspended_on, can_email, iscritto, uitgeschreven, subscriber,
mail, email_address, odhlášen, Email рассылка, Отписан (x), Статус, 已退订
";

#[test]
fn a_column_that_may_carry_consent_is_not_read_until_the_operator_says_what_it_means() {
    for names in CONSENTS.trim().lines() {
        let names = names.trim_end_matches(',');
        let (ran, contacts) = imported("", format!("email,{names}\nada@x.test\n"));
        let unclear = format!("the meaning of {names} is unknown");
        for told in [&unclear, "--column NAME=unsubscribed"] {
            assert!(ran.err.contains(told), "{told}: {ran:?}");
        }
        assert_eq!((ran.status, &*contacts), (Some(2), ""), "{names}");
    }
    let file = "email,on_blacklist\nada@x.test,1\nbob@x.test,\n";
    for (flags, expected) in [
        ("--column on_blacklist=ignore", "ada:s bob:s"),
        ("--column ON_BLACKLIST=unsubscribed", "ada:u bob:s"),
        ("--column on_blacklist=subscribed", "ada:s bob:u"),
        ("--column on_blacklist=confirmed", "ada:s"),
    ] {
        assert_eq!(imported(flags, file).1, expected, "{flags}");
    }
    // What is known can be said otherwise, too.
    let file = "email,blacklisted\nada@x.test,1\n";
    assert_eq!(imported("", file).1, "ada:u");
    assert_eq!(imported("--column blacklisted=ignore", file).1, "ada:s");
    let refused = |flags, told| imported(flags, file).0.refused(2, told);
    refused("--column blaklisted=ignore", "no column blaklisted");
    refused("--column blacklisted=what", "must be NAME=MEANING");
    let column = imported("--column kontakt=email", "kontakt\nada@x.test\n");
    column.0.done();
}

#[test]
fn a_second_address_may_be_a_flag_for_the_first_one() {
    let file = "email,mail_address\nada@x.test,bob@x.test\n";
    let refused = imported("", file).0;
    refused.refused(2, "the meaning of mail_address is unknown");
    assert_eq!(imported("--column mail_address=ignore", file).1, "ada:s");
}

/// Files, and who is there by them. A time that cannot be read says nothing against it.
const CELLS: &str = "
bob:s | email,confirmed\\nada@x.test\\nbob@x.test,1\\n
ada:u bob:s | email,subscribed\\nada@x.test\\nbob@x.test,yes\\n
bob:s | email,optin\\nada@x.test,0000-00-00 00:00:00\\nbob@x.test,2024-01-01\\n
ada:s bob:s | email,unsubscribed_at\\nada@x.test,0000-00-00\\nbob@x.test\\n
ada:s bob:s | email,deleted_at\\nada@x.test,0001-01-01T00:00:00Z\\nbob@x.test,0000-00-00T00:00:00+00:00\\n
ada:s bob:u | email,deleted_at\\nada@x.test,1970-01-01 00:00:00\\nbob@x.test,2024-01-01T00:00:00Z\\n
bob:s | email,confirmed\\nada@x.test,0001-01-01T00:00:00Z\\nbob@x.test,2024-01-01 10:00:00 UTC\\n
ada:u bob:s | email,subscribed\\nada@x.test,2024-01-01 (unsubscribed 2024-05-01)\\nbob@x.test,12 May 2024\\n
ada:s bob:u | email;blacklisted\\nada@x.test;FALSCH\\nbob@x.test;WAHR\\n
ada:s bob:s | email;blacklisted\\nada@x.test;#N/A\\nbob@x.test;нет\\n
ada:u bob:s | email,opt_out\\nada@x.test,enabled\\nbob@x.test,opted in\\n
ada:u bob:s | email,opt_out\\nada@x.test,active\\nbob@x.test,subscribed\\n
bob:s | email,state\\nada@x.test,soft bounce\\nbob@x.test,Ohio\\ncid@x.test,unsubscribed by user\\n
ada:u | email,subscribed_at,status\\nada@x.test,01/02/2024 10:00,unsubscribed\\n
";

#[test]
fn cells_that_are_missing_or_say_never_are_no_consent() {
    for [expected, file] in rows(CELLS) {
        let (ran, contacts) = imported("", written(file));
        assert_eq!(contacts, expected, "{file}: {ran:?}");
    }
}

#[test]
fn whoever_left_elsewhere_leaves_here_and_nobody_is_signed_up_again() {
    let file = "email,status\nada@x.test,enabled\nada@x.test,blocklisted\nbob@x.test,blocklisted\nbob@x.test,enabled\n";
    let (ran, contacts) = imported("", file);
    assert_eq!(contacts, "ada:u bob:u", "{ran:?}");
    ran.done();
    let dir = private_dir();
    let one_leaves = "email,status\nada@x.test,unsubscribed\nbob@x.test,subscribed\n";
    for (file, left) in [
        ("email\nada@x.test\nbob@x.test\n", 0),
        (one_leaves, 1),
        ("email,status\nada@x.test,unsubscribed\n", 0),
        ("email,status\nada@x.test,subscribed\n", 0),
    ] {
        let ran = feed("contacts import -", dir.path(), file).done();
        let told = format!("Unsubscribed      {left}");
        assert!(ran.out.contains(&told), "{file}: {ran:?}");
    }
    // Whoever left keeps the time of the sign-up.
    let file = "email,subscribed_at,status\ncid@x.test,2024-01-31T00:00:00Z,unsubscribed\n";
    feed("contacts import -", dir.path(), file).done();
    let exported = run("contacts export --status all", dir.path()).done().out;
    let row = "cid@x.test,2024-01-31T00:00:00";
    assert!(exported.contains(row), "{exported}");
    let left = run("contacts export --status unsubscribed --json", dir.path());
    assert!(left.out.contains("ada@x.test"), "{left:?}");
    assert!(!left.out.contains("bob"), "{left:?}");
}

#[test]
fn a_word_for_a_status_that_is_unknown_is_named_with_its_line() {
    let file = "email,status\nada@x.test,VIP\nbob@x.test,4\ncid@x.test,subscribed\n";
    let (ran, contacts) = imported("", file);
    assert_eq!((ran.status, &*contacts), (Some(3), "cid:s"));
    for told in [
        "line 2: the status must be",
        "\"VIP\" in status is unknown",
        "line 3: the status must be",
    ] {
        assert!(ran.out.contains(told), "{ran:?}");
    }
}

#[test]
fn a_cell_that_nobody_reads_may_have_any_bytes_and_an_encoding_is_named() {
    let latin = b"email,city\nada@x.test,M\xfcnchen\nbob@x.test,Z\xfcrich\n";
    assert_eq!(imported("", latin).1, "ada:s bob:s");
    let utf16 = |text: &str, mark: &[u8]| {
        let units = text.encode_utf16().flat_map(u16::to_le_bytes);
        [mark, &units.collect::<Vec<_>>()].concat()
    };
    for file in [
        b"email,stra\xdfe\nada@x.test,\n".to_vec(),
        utf16("email\r\nada@x.test\r\n", b"\xff\xfe"),
        utf16("email\r\nada@x.test\r\n", b""),
        [b"\xfe\xff".as_slice(), b"\0e\0m\0a\0i\0l\0\n"].concat(),
    ] {
        let (ran, contacts) = imported("", &file);
        ran.refused(2, "line 1: the file is not UTF-8: save it as CSV UTF-8");
        assert_eq!(contacts, "");
    }
}

#[test]
fn a_stray_quote_is_told_with_its_line_and_how_many_lines_it_took() {
    let people = |from: u32, to: u32| {
        let rows = (from..to).map(|number| format!("n{number}@x.test,N\n"));
        rows.collect::<String>()
    };
    let many = format!("{}a@x.test,\"Ada\n{}", people(0, 3), people(10, 1010));
    let closed = "a@x.test,\"Ada\nb@x.test,B\nc@x.test,\"C\"\n".to_owned() + &people(0, 4);
    let address = "a@x.test,\"Ada\n\"b@x.test\",B,\nc@x.test,C\n".to_owned();
    for (file, line, lines, last, created) in [
        // Never closed, closed by the next one, and with the address of the next line.
        (format!("email,name\n{many}"), 5, 1001, 1005, 3),
        (format!("email,name\n{closed}"), 2, 3, 4, 4),
        (format!("email,note\n{address}"), 2, 2, 3, 1),
        ("email\n\"a@x.test\nb@x.test\n".to_owned(), 2, 2, 3, 0),
    ] {
        let told = format!(
            "line {line}: a quote opened in this row turns {lines} lines (up to line {last}) into one cell"
        );
        let (ran, contacts) = imported("", &file);
        assert!(ran.out.contains(&told), "{told}: {ran:?}");
        assert_eq!(contacts.split_whitespace().count(), created, "{told}");
        assert_eq!(ran.status, Some(3));
    }
    let notes = "email,note\na@x.test,\"two\nlines, \"\"quoted\"\", see ada@x.test for more\"\n";
    assert_eq!(imported("", notes).1, "a:s");
}
