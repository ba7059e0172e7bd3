//! The folder that `--site-dir` names, and what is wrong with its files.

use super::{ABOUT, ICON, render};
use crate::prelude::*;

/// The name of a faulty file, its text and its error.
const FAULTY: &str = r"
about.md  | Hello | about.md, line 1: does not begin with a title, such as # Title
about.md  | | about.md, line 1: does not begin with a title, such as # Title
about.md  | # A\n\n{{ nothing }} | about.md, line 3: undefined value
about.md  | # A\n{{ base_url | about.md, line 2: syntax error: unexpected end of input, expected end of
about.md  | # A\n\n\n{% frob %} | about.md, line 4: syntax error: unknown statement frob
about.md  | # A\n{% include 'nowhere.md' %} | about.md, line 2: template not found: tried to include
about.md  | # A\n{% include 'about.md' %} | about.md, line 2:
about.md  | # A\n\n![A yard](yard.jpg) | about.md, line 3: the folder has no image yard.jpg
about.md  | # A\n\nB.\n\n## C\n\n![A][y]\n\n[y]: /images/Crane.jpg | about.md, line 9: the folder has no image /images/Crane.jpg
about.md  | # A\n\n![A](https://img.example/crane.jpg) | about.md, line 3: the folder has no image https://img.example/crane.jpg
about.md  | # A\n\n![A](data:image/png;base64,AA) | about.md, line 3: the folder has no image data:image/png;base64,AA
index.md  | # A\n\n[![A](a.webp)](/b) | index.md, line 3: the folder has no image a.webp
page.html | <title>{{ title }}</title> | page.html: has no {{ body }}
page.html | \n{{ boddy }} | page.html, line 2: undefined value
page.html | {{ body }}{% if lang == 'fr' %}\n{{ openapi.info.title }}{% endif %} | page.html, line 2: undefined value
llms.txt  | # L\n{{ own_pages[9].path }} | llms.txt, line 2: undefined value
api.md    | # A | api.md: /api is already a path of the service
images.md | # A | images.md: /images is already a path of the service
notes.txt | x | notes.txt: is neither a page
confirmation.md | Please\n\n{{ confirm_url }} | confirmation.md: must begin with the subject
confirmation.md | # \n\n{{ confirm_url }} | confirmation.md: must begin with the subject
confirmation.md | # Please\n\nNow. | confirmation.md: must contain the link
confirmation.fr.md | # S’il vous plaît\n\nOui. | confirmation.fr.md: must contain the link
confirmation.md | # A\n{{ 'long' * 999 }}{{ confirm_url }} | confirmation.md: is an email of more than 8,000 bytes
confirmation.md | # A\n{{ 'é' * 1400 }}{{ confirm_url }} | confirmation.md: is an email of more than 8,000 bytes
confirmation.md | # A\n{{ '=' * 1400 }}{{ confirm_url }} | confirmation.md: is an email of more than 8,000 bytes
confirmation.md | # A\n{{ (confirm_url ~ ' ') * 40 }} | confirmation.md: is an email of more than 8,000 bytes
";

#[test]
fn a_faulty_file_is_named_with_its_line() {
    let check = |name: &str, text: &str, expected: &str| {
        let error = render(&[("aaa.md", "# Good"), (name, text)]).unwrap_err();
        assert!(error.starts_with(expected), "{error} and not {expected}");
        assert!(!error.contains('\n'), "{error}");
    };
    for [name, text, expected] in rows(FAULTY) {
        check(name, &text.replace(r"\n", "\n"), expected);
    }
    let loops = "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}";
    let fuel = "about.md, line 2: engine ran out of fuel";
    check("about.md", &format!("# A\n{loops}"), fuel);
    let escaped = r"a\nb\u{1b}[31m.md: is neither a page";
    check("a\nb\u{1b}[31m.md", "# A", escaped);
    let names = "About.md: is neither a page, named by up to 64 lowercase letters, digits and inner \
        hyphens and .md, or .de.md for one in German, nor one of auth.md, confirmation.md, developers.md, guide.md, \
        help.md, home.html, index.md, llms.txt, page.html, problem.md, robots.txt, style.css";
    check("About.md", "# A", names);
}

#[test]
fn a_bad_folder_stops_the_start_with_one_line() {
    type Fill<'a> = &'a dyn Fn(&Path);
    let file =
        |name, bytes: &'static [u8]| move |dir: &Path| fs::write(dir.join(name), bytes).unwrap();
    let faults: [(Fill<'_>, &str); 5] = [
        (
            &file("a.md", b"# A\n{{ b }}"),
            "a.md, line 2: undefined value",
        ),
        (
            &file("a.jpg", ICON),
            "a.jpg: is not the kind of image that its extension says",
        ),
        (
            &file("a b.png", ICON),
            "a b.png: is an image whose name is not",
        ),
        (
            &|dir| make_fifo(&dir.join("a.md")),
            "a.md: is not a regular file",
        ),
        (
            &|dir| fs::remove_dir(dir).unwrap(),
            "No such file or directory",
        ),
    ];
    for (fill, expected) in faults {
        let parent = tempfile::tempdir().unwrap();
        let [site_dir, data_dir] = ["site", "data"].map(|name| parent.path().join(name));
        fs::create_dir(&site_dir).unwrap();
        fill(&site_dir);
        let told = format!("error: --site-dir: {}: {expected}", site_dir.display());
        let mut command = command(&data_dir);
        Ran::of(command.arg("--site-dir").arg(&site_dir)).refused_in_a_line(2, &told);
        assert!(!data_dir.exists(), "it is refused before anything is made");
    }
}

#[test]
fn the_program_serves_the_folder() {
    let parent = tempfile::tempdir().unwrap();
    let site_dir = parent.path().join("site");
    fs::create_dir(&site_dir).unwrap();
    fs::write(site_dir.join("about.md"), format!("{ABOUT}\n![A](a.png)\n")).unwrap();
    fs::write(site_dir.join("a.png"), ICON).unwrap();
    fs::write(site_dir.join(".about.md.swp"), "\0\u{1}").unwrap();
    let mut command = command(&parent.path().join("data"));
    let program = Program::start(command.env("LANDING_SITE_DIR", &site_dir));
    let (status, _) = program.send("GET", "/about", "", "");
    assert_eq!(status, 200);
    assert_eq!(program.send("HEAD", "/images/a.png", "", "").0, 200);
}
