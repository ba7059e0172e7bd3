//! Questions that the assistant could not answer: which ones are stored, for how long, and how they are shown.

use landing_api::adapters::files::questions::FileQuestionStore;
use landing_api::domain::Question;
use landing_api::ports::QuestionStore;

use crate::assistant_pages::model as learned;
use crate::commands::run;
use crate::fixtures::OneFile;
use crate::openai::conversation;
use crate::operator::ask;
use crate::prelude::*;

/// No page answers it.
const UNANSWERED: &str = "What is the capital of Mongolia?";
const HOUR: &str = "2026-11-21T12";

fn open(files: &OneFile, kept_days: u64) -> FileQuestionStore {
    FileQuestionStore::open(files.path.clone(), kept_days)
}

/// The newest of a conversation.
fn question(text: &str, now: Timestamp) -> Question {
    let earlier = [(Role::User, "earlier"), (Role::Assistant, "no")];
    let turns = [&earlier[..], &[(Role::User, text)]].concat();
    Question::new(&conversation(&turns), now)
}

fn texts(store: &FileQuestionStore) -> Vec<String> {
    let questions = store.list().into_iter();
    questions.map(|question| question.text).collect()
}

fn chat(text: &str) -> Call {
    Call::question(text).to("/api/v1/assistant/chat?lang=de")
}

/// The service with the search of its pages, which stores what that does not find.
fn app(questions: FileQuestionStore) -> TestApp {
    let setup = Setup {
        questions: Arc::new(questions),
        ..Setup::with_model(learned().0)
    };
    setup.start()
}

async fn rows(app: &TestApp) -> Value {
    ask(app, "questions list", json!({})).await.unwrap()
}

#[tokio::test]
async fn what_the_search_does_not_find_is_stored_without_who_asked() {
    let files = OneFile::named("questions.jsonl");
    let app = app(open(&files, 30));
    let answered = ["How do I unsubscribe?", "thanks", "..."];
    for text in answered.into_iter().chain([UNANSWERED; 2]) {
        app.expect("200", chat(text)).await;
    }
    let asked_at = "2026-11-21T12:00:00.000Z";
    let question = json!({"asked_at": asked_at, "language": "de", "text": UNANSWERED});
    assert_eq!(rows(&app).await, json!([question]));
    // The same words on a page in another language, in the same hour.
    let french = Call::question(UNANSWERED).to("/api/v1/assistant/chat?lang=fr");
    app.expect("200", french).await;
    assert_eq!(rows(&app).await, json!([question]));
    // Nothing waits for the disk.
    assert!(files.names().is_empty());
    app.app.questions.save(NOW).await.unwrap();
    let line = json!({"hour": HOUR, "language": "de", "text": UNANSWERED});
    assert_eq!(files.text(), format!("{line}\n"));
    let mode = fs::metadata(&files.path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // The next hour it is another question.
    app.clock.advance_ms(3_600_000);
    app.send(chat(UNANSWERED)).await;
    assert_eq!(rows(&app).await.as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn nothing_is_stored_by_default_or_of_a_model() {
    let off = app(FileQuestionStore::default());
    off.expect("200", chat(UNANSWERED)).await;
    assert_eq!(rows(&off).await, json!([]));
    let files = OneFile::named("questions.jsonl");
    let (_, site) = learned();
    let search = PassageModelClient::new(&site.passages[..8], &site.assistant_texts);
    let failed = ModelError::NotStarted("away".to_owned());
    let model = ScriptedModelClient::new([Ok("Ulan Bator".to_owned()), Err(failed)]);
    let setup = Setup {
        questions: Arc::new(open(&files, 30)),
        model_fallback: Some(Arc::new(search.as_fallback())),
        ..Setup::with_model(Arc::new(model))
    };
    let of_model = setup.start();
    for _ in 0..2 {
        of_model.expect("200", chat(UNANSWERED)).await;
    }
    assert_eq!(rows(&of_model).await, json!([]));
}

#[tokio::test]
async fn addresses_and_numbers_are_masked_before_anything_is_stored() {
    let files = OneFile::named("questions.jsonl");
    let store = open(&files, 30);
    let text = "I am ada@example.com,\n+49 170 1234567: \u{1b}[31m?";
    store.add(question(text, NOW));
    store.save(NOW).await.unwrap();
    assert_eq!(texts(&store), ["I am [email] +[number]: \u{1b}[31m?"]);
    assert!(files.text().contains("\\u001b[31m?") && !files.text().contains("ada"));
}

#[tokio::test]
async fn a_restart_finds_them_and_each_is_erased_when_it_expires() {
    let files = OneFile::named("questions.jsonl");
    let store = open(&files, 30);
    store.add(question("old", NOW));
    store.add(question("new", NOW.plus_ms(DAY_MS)));
    store.save(NOW).await.unwrap();
    let (store, log) = logged(|| open(&files, 30));
    assert_eq!((texts(&store).len(), &*log), (2, ""));
    let last = NOW.plus_ms(30 * DAY_MS - 1);
    store.save(last).await.unwrap();
    assert_eq!(texts(&store), ["old", "new"]);
    store.save(last.plus_ms(1)).await.unwrap();
    assert_eq!(texts(&store), ["new"]);
    assert_eq!(files.text().lines().count(), 1);
    store.save(last.plus_ms(DAY_MS + 1)).await.unwrap();
    assert!(files.names().is_empty());
}

#[tokio::test]
async fn without_the_flag_all_are_erased() {
    let files = OneFile::named("questions.jsonl");
    let store = open(&files, 30);
    store.add(question("stored", NOW));
    store.save(NOW).await.unwrap();
    fs::copy(&files.path, files.path.with_extension("new")).unwrap();
    let off = open(&files, 0);
    off.add(question("not stored", NOW));
    // A command reads the directory and changes nothing.
    assert_eq!(texts(&off), ["stored"]);
    off.save(NOW).await.unwrap();
    assert!(files.names().is_empty() && texts(&off).is_empty());
    off.save(NOW).await.unwrap();
}

#[tokio::test]
async fn the_oldest_go_when_there_are_too_many() {
    let files = OneFile::named("questions.jsonl");
    let store = open(&files, 30);
    let long = "ä".repeat(1990);
    for number in 0..1001 {
        store.add(question(&format!("{number} {long}"), NOW));
    }
    let stored = texts(&store);
    assert_eq!(stored.len(), 1000);
    assert!(stored[0].starts_with("1 ") && stored[999].starts_with("1000 "));
    assert!(stored.iter().all(|text| text.chars().count() == 300));
    store.save(NOW).await.unwrap();
    assert_eq!(texts(&open(&files, 30)), stored);
    // The largest file that can come of it is read again.
    let widest = json!({"hour": HOUR, "language": "de", "text": "\u{1b}".repeat(300)});
    fs::write(&files.path, format!("{widest}\n").repeat(1000)).unwrap();
    assert_eq!(texts(&open(&files, 30)).len(), 1000);
}

#[tokio::test]
async fn a_file_that_cannot_be_read_is_one_line_and_is_left_alone() {
    let good = json!({"hour": HOUR, "language": "de", "text": "good"});
    for bad in [
        "\n",
        "{}\n",
        "nonsense\n",
        "{\"hour\":\"2026-11-21T25\",\"language\":\"de\",\"text\":\"?\"}\n",
        "{\"hour\":\"2026-11-21T12\",\"language\":\"xx\",\"text\":\"?\"}\n",
        "{\"hour\":\"2026-11-21T12\",\"language\":\"de\",\"text\":7}\n",
        "{\"hour\":\"2026-11-21T12\",\"language\":\"de\",\"te",
    ] {
        let files = OneFile::named("questions.jsonl");
        let damaged = format!("{good}\n{bad}");
        fs::write(&files.path, &damaged).unwrap();
        let (store, log) = logged(|| open(&files, 30));
        assert_eq!(log.lines().count(), 1, "{log}");
        let told = "line 2 is not a question: correct or remove it";
        assert!(log.contains("WARN") && log.contains(told), "{log}");
        assert!(log.contains(files.path.to_str().unwrap()), "{log}");
        store.add(question("lost", NOW));
        store.save(NOW).await.unwrap();
        assert_eq!((files.text(), texts(&store)), (damaged, Vec::new()));
        // The operator wants none of them any more.
        open(&files, 0).save(NOW).await.unwrap();
        assert!(files.names().is_empty());
    }
    let makes: [fn(&Path); 4] = [
        |path| {
            let line = b"{\"hour\":\"2026-11-21T12\",\"language\":\"de\",\"text\":\"\xff\"}\n";
            fs::write(path, line).unwrap();
        },
        |path| fs::write(path, "\n".repeat(5_000_000)).unwrap(),
        |path| fs::create_dir(path).unwrap(),
        make_fifo,
    ];
    for make in makes {
        let files = OneFile::named("questions.jsonl");
        make(&files.path);
        let (store, log) = logged(|| open(&files, 30));
        assert_eq!(log.lines().count(), 1, "{log}");
        store.save(NOW).await.unwrap();
        assert!(files.path.exists());
    }
}

#[tokio::test]
async fn a_disk_that_takes_nothing_costs_the_visitor_nothing() {
    let files = OneFile::named("questions.jsonl");
    let moved = files.root.path().join("data");
    let path = moved.join("questions.jsonl");
    let app = app(FileQuestionStore::open(path.clone(), 30));
    app.expect("200", chat(UNANSWERED)).await;
    assert!(app.app.questions.save(NOW).await.is_err() && !moved.exists());
    app.expect("200", chat("Who was Napoleon?")).await;
    fs::create_dir(&moved).unwrap();
    app.app.questions.save(NOW).await.unwrap();
    assert_eq!(texts(&FileQuestionStore::open(path, 30)).len(), 2);
}

#[tokio::test]
async fn a_clock_that_is_set_back_erases_nothing() {
    let files = OneFile::named("questions.jsonl");
    let store = open(&files, 30);
    store.add(question("later", NOW));
    store.save(Timestamp::from_ms(1)).await.unwrap();
    assert_eq!(texts(&store), ["later"]);
}

#[test]
fn the_program_lists_them_running_and_stopped_and_erases_them_without_the_flag() {
    let (dir, service) = Program::fresh(&["--keep-questions=30"]);
    let (path, hostile) = (dir.path().join("questions.jsonl"), "Mongolia \u{1b}[31m?");
    let body = json!({"messages": [{"role": "user", "content": hostile}]}).to_string();
    let (status, answer) = service.post("/api/v1/assistant/chat", &body);
    assert_eq!(status, 200, "{answer}");
    let list = || run("questions list", dir.path()).done();
    let running = list();
    let log = service.stopped();
    assert!(!log.contains("Mongolia") && !log.contains("WARN"), "{log}");
    assert_eq!(running, list());
    assert!(running.out.contains("  en        Mongolia ") && !running.out.contains('\u{1b}'));
    let row = run("questions list --json", dir.path()).json();
    assert_eq!(row["text"], json!(hostile));
    assert!(row["asked_at"].as_str().unwrap().ends_with(":00:00.000Z"));
    // A stop that comes at once finds them erased, too.
    Program::on(dir.path()).stopped();
    assert!(!path.exists());
    assert_eq!(list().out.lines().count(), 1);
    let mut on = command(dir.path());
    Program::start(on.arg("--keep-questions=30")).stopped();
    assert!(!path.exists());
}
