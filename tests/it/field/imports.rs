//! Contact files as other programs export them.

use std::fmt::Write as _;

use crate::commands::{feed, run};
use crate::program::{Ran, private_dir};

/// Imports `file` into a directory of its own. Returns what the command said, and who is there with which status.
fn imported(flags: &str, file: impl AsRef<[u8]>) -> (Ran, String) {
    let dir = private_dir();
    let ran = feed(&format!("contacts import - {flags}"), dir.path(), file);
    let listed = run("contacts list --json", dir.path());
    let mut contacts = String::new();
    for contact in listed.out.lines() {
        let contact: serde_json::Value = serde_json::from_str(contact).unwrap();
        let [email, status] = ["email", "status"].map(|name| contact[name].as_str().unwrap());
        let name = email.split('@').next().unwrap();
        write!(contacts, "{name}:{} ", &status[..1]).unwrap();
    }
    (ran, contacts.trim_end().to_owned())
}

/// Exports, made from the documentation of the programs, and who is `s`ubscribed and `u`nsubscribed by them; nobody
/// who is unconfirmed.
const EXPORTS: [(&str, &str, &str); 22] = [
    (
        "listmonk",
        "uuid,email,name,attributes,status,created_at,updated_at\n\
         1-2,ada@x.test,Ada,\"{\"\"city\"\":\"\"Graz\"\",\"\"mail\"\":\"\"a@b.test\"\"}\",enabled,2024-01-01,2024-01-01\n\
         1-3,bob@x.test,Bob,{},blocklisted,2024-01-01,2024-01-01\n\
         1-4,cid@x.test,Cid,{},disabled,2024-01-01,2024-01-01\n",
        "ada:s bob:u cid:u",
    ),
    (
        "Keila",
        "Email,First name,Last name,Data,Status,Double Opt-In at\r\n\
         ada@x.test,Ada,,\"{}\",active,\r\nbob@x.test,Bob,,,unsubscribed,\r\ncid@x.test,,,,unreachable,\r\n",
        "ada:s bob:u cid:u",
    ),
    (
        "Mailchimp, subscribed",
        "\"Email Address\",\"First Name\",MEMBER_RATING,OPTIN_TIME,OPTIN_IP,CONFIRM_TIME,CONFIRM_IP,LAST_CHANGED,LEID,TAGS\n\
         ada@x.test,Ada,2,,,\"2023-05-06 07:08:09\",192.0.2.1,\"2023-05-06 07:08:09\",1,\"\"\"vip\"\"\"\n",
        "ada:s",
    ),
    (
        "Mailchimp, unsubscribed",
        "Email Address,UNSUB_TIME,UNSUB_CAMPAIGN_TITLE,UNSUB_CAMPAIGN_ID,UNSUB_REASON,UNSUB_REASON_OTHER\n\
         ada@x.test,2023-05-06 07:08:09,May,1,NORMAL,\n",
        "ada:u",
    ),
    (
        "Mailchimp, cleaned",
        "Email Address,CLEAN_TIME,CLEAN_CAMPAIGN_TITLE,CLEAN_CAMPAIGN_ID\nada@x.test,2023-05-06 07:08:09,May,1\n",
        "ada:u",
    ),
    (
        "Ghost",
        "id,email,name,note,subscribed_to_emails,complimentary_plan,stripe_customer_id,created_at,deleted_at,labels,tiers\n\
         1,ada@x.test,Ada,,true,false,,2024-01-01T00:00:00.000Z,,,\n2,bob@x.test,,,false,false,,2024-01-01T00:00:00.000Z,,,\n\
         3,cid@x.test,,,true,false,,2024-01-01T00:00:00.000Z,2024-02-01T00:00:00.000Z,,\n",
        "ada:s bob:u cid:u",
    ),
    (
        "phpList",
        "id,email,confirmed,blacklisted,bouncecount,entered,modified,htmlemail,disabled\n\
         1,ada@x.test,1,0,3,2020-01-01 00:00:00,2020-01-01 00:00:00,1,0\n2,bob@x.test,1,1,0,2020,2020,1,0\n\
         3,cid@x.test,0,0,0,2020,2020,1,0\n4,dan@x.test,0,1,0,2020,2020,1,0\n5,eve@x.test,1,0,0,2020,2020,1,1\n",
        "ada:s bob:u dan:u eve:u",
    ),
    (
        "Brevo",
        "\u{feff}CONTACT ID;EMAIL;FIRSTNAME;SMS;DOUBLE_OPT-IN;ADDED_TIME;BLOCKLISTED\n\
         1;ada@x.test;Ada;;1;01-01-2024;no\n2;bob@x.test;Bob;;1;01-01-2024;yes\n3;cid@x.test;;;2;01-01-2024;no\n",
        "ada:s bob:u",
    ),
    (
        "Brevo, status",
        "EMAIL;EMAIL_MARKETING\nada@x.test;Subscribed\nbob@x.test;Blocklisted\ncid@x.test;Unsubscribed\n",
        "ada:s bob:u cid:u",
    ),
    (
        "Buttondown",
        "email_address,notes,metadata,tags,type,creation_date,unsubscription_date\n\
         ada@x.test,,{},,regular,2024-01-01,\nbob@x.test,,{},,unactivated,2024-01-01,\n\
         cid@x.test,,{},,unsubscribed,2024-01-01,2024-02-02\ndan@x.test,,{},,premium,2024-01-01,2024-02-02\n",
        "ada:s cid:u dan:u",
    ),
    (
        "Kit",
        "id,first_name,email,status,created_at,tags\n1,Ada,ada@x.test,active,2024-01-01,\n2,,bob@x.test,cancelled,,\n\
         3,,cid@x.test,bounced,,\n4,,dan@x.test,complained,,\n5,,eve@x.test,inactive,,\n",
        "ada:s bob:u cid:u dan:u eve:u",
    ),
    (
        "Mailtrain",
        "email,status\nada@x.test,subscribed\nbob@x.test,complained\n",
        "ada:s bob:u",
    ),
    (
        "MailPoet",
        "Email\tFirst Name\tGlobal Status\tList Status\nada@x.test\tAda\tsubscribed\tsubscribed\n\
         bob@x.test\t\tsubscribed\tunsubscribed\ncid@x.test\t\tunconfirmed\tsubscribed\ndan@x.test\t\tbounced\tunconfirmed\n",
        "ada:s bob:u dan:u",
    ),
    (
        "MailerLite",
        "Subscriber,Sent,Opens,Clicks,Subscribed,Location\nada@x.test,1,1,1,2024-01-01 10:00:00,\n",
        "ada:s",
    ),
    (
        "Substack",
        "email,active_subscription,expiry,plan,email_disabled,created_at,first_payment_at\n\
         ada@x.test,false,,other,false,2024-01-01T00:00:00.000Z,\nbob@x.test,true,,other,true,2024-01-01T00:00:00.000Z,\n",
        "ada:s bob:u",
    ),
    (
        "Klaviyo",
        "Email,Email Marketing Consent\nada@x.test,SUBSCRIBED\nbob@x.test,NEVER_SUBSCRIBED\ncid@x.test,UNSUBSCRIBED\n",
        "ada:s cid:u",
    ),
    (
        "Shopify",
        "First Name,Email,Accepts Email Marketing,Default Address Company\nAda,ada@x.test,yes,\nBob,bob@x.test,no,\n",
        "ada:s bob:u",
    ),
    (
        "HubSpot",
        "Email,Unsubscribed from all email\nada@x.test,\nbob@x.test,true\ncid@x.test,false\n",
        "ada:s bob:u cid:s",
    ),
    (
        "Excel, German",
        "sep=;\r\nName;E-Mail-Adresse;Abgemeldet am;Best\u{e4}tigt\r\nAda;ada@x.test;;ja\r\nBob;bob@x.test;02.03.2024;ja\r\n\
         Cid;cid@x.test;;nein\r\n",
        "ada:s bob:u",
    ),
    (
        "French",
        "courriel,d\u{e9}sabonn\u{e9}\nada@x.test,non\nbob@x.test,oui\n",
        "ada:s bob:u",
    ),
    (
        "Spanish",
        "correo,estado,provincia\nada@x.test,suscrito,\nbob@x.test,baja,\ncid@x.test,Jalisco,\n",
        "ada:s bob:u cid:s",
    ),
    (
        "several flags, the worst counts",
        "email,status,bounced_at,opt_out\nada@x.test,active,,0\nbob@x.test,active,2024-01-01,0\ncid@x.test,active,,x\n",
        "ada:s bob:u cid:u",
    ),
];

#[test]
fn the_exports_of_other_programs_import_nobody_who_may_not_be_written_to() {
    for (program, file, expected) in EXPORTS {
        let (ran, contacts) = imported("", file);
        assert_eq!(contacts, expected, "{program}: {ran:?}");
        let is_whole = file.matches("x.test").count() == expected.split(' ').count();
        let status = if is_whole { 0 } else { 3 };
        assert_eq!(ran.status, Some(status), "{program}: {ran:?}");
        assert!(
            is_whole || ran.out.contains("unconfirmed"),
            "{program}: {ran:?}"
        );
    }
}

#[test]
fn a_column_that_may_carry_consent_is_not_read_until_the_operator_says_what_it_means() {
    for name in [
        "on_blacklist",
        "GDPR",
        "opt-in status",
        "Mail permission",
        "bounce type",
        "was_suppressed",
        "Complaints",
        "is_confirmed_by",
        "activity",
        "date_deleted",
        "Werbeeinwilligung",
        "gek\u{fc}ndigt",
        "Zustimmung",
        "consentement",
        "bloqu\u{e9}es",
        "eliminado",
        "newsletter_opt",
        "do not disturb",
        "rejected",
        "left_at",
        "no_send",
        "paused",
        "Austritt",
        "is_valid",
        "On hold",
        "dnc",
        "suspended_on",
        "can_email",
        "iscritto",
        "uitgeschreven",
        "subscriber",
        "mail",
        "email_address",
        "odhl\u{e1}\u{161}en",
        "Email \u{440}\u{430}\u{441}\u{441}\u{44b}\u{43b}\u{43a}\u{430}",
        "\u{41e}\u{442}\u{43f}\u{438}\u{441}\u{430}\u{43d} (x)",
        "\u{421}\u{442}\u{430}\u{442}\u{443}\u{441}",
        "\u{5df2}\u{9000}\u{8ba2}",
    ] {
        let file = format!("email,\"{name}\"\nada@x.test,1\n");
        let (ran, contacts) = imported("", file);
        assert_eq!((ran.status, &*contacts), (Some(2), ""), "{name}: {ran:?}");
        assert!(
            ran.err.contains("--column NAME=unsubscribed"),
            "{name}: {ran:?}"
        );
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
    imported("--column blaklisted=ignore", file)
        .0
        .refused(2, "no column blaklisted");
    imported("--column blacklisted=what", file)
        .0
        .refused(2, "must be NAME=MEANING");
    imported("--column kontakt=email", "kontakt\nada@x.test\n")
        .0
        .done();
}

#[test]
fn a_second_address_may_be_a_flag_for_the_first_one() {
    let file = "email,mail_address\nada@x.test,bob@x.test\n";
    imported("", file)
        .0
        .refused(2, "the meaning of mail_address is unknown");
    assert_eq!(imported("--column mail_address=ignore", file).1, "ada:s");
}

#[test]
fn cells_that_are_missing_or_say_never_are_no_consent() {
    for (file, expected) in [
        ("email,confirmed\nada@x.test\nbob@x.test,1\n", "bob:s"),
        (
            "email,subscribed\nada@x.test\nbob@x.test,yes\n",
            "ada:u bob:s",
        ),
        (
            "email,optin\nada@x.test,0000-00-00 00:00:00\nbob@x.test,2024-01-01\n",
            "bob:s",
        ),
        (
            "email,unsubscribed_at\nada@x.test,0000-00-00\nbob@x.test\n",
            "ada:s bob:s",
        ),
        (
            "email,deleted_at\nada@x.test,0001-01-01T00:00:00Z\nbob@x.test,0000-00-00T00:00:00+00:00\n\
             cid@x.test,1970-01-01 00:00:00\ndan@x.test,2024-01-01T00:00:00Z\n",
            "ada:s bob:s cid:s dan:u",
        ),
        (
            "email,confirmed\nada@x.test,0001-01-01T00:00:00Z\nbob@x.test,2024-01-01 10:00:00 UTC\n",
            "bob:s",
        ),
        (
            "email,subscribed\nada@x.test,2024-01-01 (unsubscribed 2024-05-01)\nbob@x.test,12 May 2024\n",
            "ada:u bob:s",
        ),
        (
            "email;blacklisted\nada@x.test;FALSCH\nbob@x.test;WAHR\ncid@x.test;#N/A\ndan@x.test;\u{43d}\u{435}\u{442}\n",
            "ada:s bob:u cid:s dan:s",
        ),
        (
            "email,opt_out\nada@x.test,enabled\nbob@x.test,opted in\ncid@x.test,active\ndan@x.test,subscribed\n",
            "ada:u bob:s cid:u dan:s",
        ),
        (
            "email,state\nada@x.test,soft bounce\nbob@x.test,Ohio\ncid@x.test,unsubscribed by user\n",
            "bob:s",
        ),
        // A time that cannot be read says nothing against it.
        (
            "email,subscribed_at,status\nada@x.test,01/02/2024 10:00,unsubscribed\n",
            "ada:u",
        ),
    ] {
        let (ran, contacts) = imported("", file);
        assert_eq!(contacts, expected, "{file}: {ran:?}");
    }
}

#[test]
fn whoever_left_elsewhere_leaves_here_and_nobody_is_signed_up_again() {
    let file = "email,status\nada@x.test,enabled\nada@x.test,blocklisted\nbob@x.test,blocklisted\nbob@x.test,enabled\n";
    let (ran, contacts) = imported("", file);
    assert_eq!(
        (ran.status, &*contacts),
        (Some(0), "ada:u bob:u"),
        "{ran:?}"
    );
    let dir = private_dir();
    for (file, told) in [
        ("email\nada@x.test\nbob@x.test\n", "Unsubscribed      0"),
        (
            "email,status\nada@x.test,unsubscribed\nbob@x.test,subscribed\n",
            "Unsubscribed      1",
        ),
        (
            "email,status\nada@x.test,unsubscribed\n",
            "Unsubscribed      0",
        ),
        (
            "email,status\nada@x.test,subscribed\n",
            "Unsubscribed      0",
        ),
    ] {
        let ran = feed("contacts import -", dir.path(), file).done();
        assert!(ran.out.contains(told), "{file}: {ran:?}");
    }
    // Whoever left keeps the time of the sign-up.
    let file = "email,subscribed_at,status\ncid@x.test,2024-01-31T00:00:00Z,unsubscribed\n";
    feed("contacts import -", dir.path(), file).done();
    let exported = run("contacts export --status all", dir.path()).done().out;
    assert!(
        exported.contains("cid@x.test,2024-01-31T00:00:00"),
        "{exported}"
    );
    let left = run("contacts export --status unsubscribed --json", dir.path());
    assert!(
        left.out.contains("ada@x.test") && !left.out.contains("bob"),
        "{left:?}"
    );
}

#[test]
fn a_word_for_a_status_that_is_unknown_is_named_with_its_line() {
    let (ran, contacts) = imported(
        "",
        "email,status\nada@x.test,VIP\nbob@x.test,4\ncid@x.test,subscribed\n",
    );
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
    let rows = |from: u32, to: u32| {
        let rows = (from..to).map(|number| format!("n{number}@x.test,N\n"));
        rows.collect::<String>()
    };
    for (file, told, created) in [
        // Never closed.
        (
            format!(
                "email,name\n{}a@x.test,\"Ada\n{}",
                rows(0, 3),
                rows(10, 1010)
            ),
            "line 5: a quote opened in this row turns 1001 lines (up to line 1005) into one cell",
            3,
        ),
        // Closed by the next one.
        (
            format!(
                "email,name\na@x.test,\"Ada\nb@x.test,B\nc@x.test,\"C\"\n{}",
                rows(0, 4)
            ),
            "line 2: a quote opened in this row turns 3 lines (up to line 4) into one cell",
            4,
        ),
        // It takes the address of the next line.
        (
            "email,note\na@x.test,\"Ada\n\"b@x.test\",B,\nc@x.test,C\n".to_owned(),
            "line 2: a quote opened in this row turns 2 lines (up to line 3) into one cell",
            1,
        ),
        (
            "email\n\"a@x.test\nb@x.test\n".to_owned(),
            "line 2: a quote opened in this row turns 2 lines (up to line 3) into one cell",
            0,
        ),
    ] {
        let (ran, contacts) = imported("", &file);
        assert!(ran.out.contains(told), "{told}: {ran:?}");
        assert_eq!(contacts.split_whitespace().count(), created, "{told}");
        assert_eq!(ran.status, Some(3));
    }
    let notes = "email,note\na@x.test,\"two\nlines, \"\"quoted\"\", see ada@x.test for more\"\n";
    assert_eq!(imported("", notes).1, "a:s");
}
