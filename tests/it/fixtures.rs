//! What tests of several kinds start from: a store in a directory of its own, and requests to
//! count.

use std::cell::RefCell;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Once};
use std::thread;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt as _;
use landing_api::adapters::files::data_dir::DataDir;
use landing_api::adapters::files::{Files, OpenError, SystemFiles};
use landing_api::adapters::ledger::{LedgerRepair, LedgerStore, Tuning, repair_ledger};
use landing_api::adapters::limiter::SledRateLimiter;
use landing_api::domain::Failure;
use landing_api::domain::Registration;
use landing_api::domain::client::{LimitKey, Network, Subject};
use landing_api::domain::consent::{Consent, LeaveToken, SignUpWay, TextDigest};
use landing_api::domain::contact::{Contact, Origin, OriginHash, SignUp, Subscription};
use landing_api::domain::credential::{Fingerprint, KeyId, KeyRecord};
use landing_api::domain::decision::Decision;
use landing_api::domain::delivery::{Delivery, DeliveryId, Settled};
use landing_api::domain::email::EmailAddress;
use landing_api::domain::policy::{Policies, PolicyName, Quota};
use landing_api::domain::secret::{MacKey, Secret};
use landing_api::domain::text::Label;
use landing_api::domain::time::Timestamp;
use landing_api::ports::{
    Admission, BusyWindow, Charge, ContactStore, LimiterError, PageStream, RateLimiter, Receipt,
    StoreError, WindowSet,
};
use landing_api::usecases::subscribe::Evidence;
use rustix::fs::{CWD, Mode, mkfifoat};
use tempfile::TempDir;
use tokio::task::{JoinHandle, JoinSet, spawn_blocking, yield_now};

use crate::twins::SeededEntropy;

/// When most tests begin.
pub(crate) const START: Timestamp = Timestamp::from_ms(1_800_000_000_000);

// ---------------------------------------------------------------------------------------------
// The store
// ---------------------------------------------------------------------------------------------

/// A sign-up that waits for its answer.
pub(crate) type Waiting = JoinHandle<Result<Subscription, StoreError>>;

/// A data directory of its own for each test.
pub(crate) struct House {
    _root: TempDir,
    pub(crate) path: PathBuf,
}

pub(crate) struct Opened {
    pub(crate) store: Arc<LedgerStore>,
    pub(crate) _data_dir: DataDir,
}

impl House {
    pub(crate) fn new() -> Self {
        Self::within(tempfile::tempdir().unwrap())
    }

    pub(crate) fn within(root: TempDir) -> Self {
        let path = root.path().join("data");
        Self { _root: root, path }
    }

    /// The same directory, or one that was moved there.
    pub(crate) fn at(path: &Path) -> Self {
        Self {
            _root: tempfile::tempdir().unwrap(),
            path: path.to_path_buf(),
        }
    }

    pub(crate) fn opened() -> (Self, Opened) {
        let house = Self::new();
        let opened = house.open();
        (house, opened)
    }

    pub(crate) fn stopped() -> Self {
        let (house, opened) = Self::opened();
        opened.stop();
        house
    }

    pub(crate) async fn opened_with(names: impl IntoIterator<Item: AsRef<str>>) -> (Self, Opened) {
        let (house, opened) = Self::opened();
        opened.sign_up_all(names).await;
        (house, opened)
    }

    pub(crate) async fn stopped_with(names: impl IntoIterator<Item: AsRef<str>>) -> Self {
        let (house, opened) = Self::opened_with(names).await;
        opened.stop();
        house
    }

    pub(crate) fn open(&self) -> Opened {
        self.try_open(Tuning::default()).unwrap()
    }

    pub(crate) fn try_open(&self, tuning: Tuning) -> Result<Opened, OpenError> {
        let data_dir = DataDir::open_on(&tuning.files, &self.path, &SeededEntropy::default())?;
        let store = LedgerStore::open_with(&data_dir, &tuning)?;
        Ok(Opened {
            store: Arc::new(store),
            _data_dir: data_dir,
        })
    }

    /// Why the store does not start, in the operator's words.
    pub(crate) fn refusal(&self) -> String {
        match self.try_open(Tuning::default()) {
            Ok(_) => panic!("the store started"),
            Err(error) => {
                let text = error.to_string();
                let is_plain = !text.contains('\n') && !text.contains("example.com");
                assert!(is_plain, "{text}");
                text
            }
        }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub(crate) fn ledger(&self) -> Vec<u8> {
        fs::read(self.file("ledger.jsonl")).unwrap()
    }

    pub(crate) fn ledger_text(&self) -> String {
        String::from_utf8(self.ledger()).unwrap()
    }

    pub(crate) fn write_ledger(&self, bytes: &[u8]) {
        fs::write(self.file("ledger.jsonl"), bytes).unwrap();
    }

    /// Leaves this ledger as a power cut does, before anything else of the last process was on the disk.
    pub(crate) fn cut_power(&self, bytes: &[u8]) {
        self.write_ledger(bytes);
        fs::remove_file(self.file("mark")).unwrap();
    }

    /// Gives up what is damaged, as an operator would.
    pub(crate) fn repair(&self) -> LedgerRepair {
        let files = Arc::new(SystemFiles) as Arc<dyn Files>;
        repair_ledger(&files, &self.path).unwrap().unwrap()
    }

    /// The damaged ledger that a repair kept.
    pub(crate) fn kept(&self) -> Option<Vec<u8>> {
        fs::read(self.file("ledger.damaged")).ok()
    }

    /// Opens the store and hands out what it logged meanwhile.
    pub(crate) fn open_logged(&self) -> (Opened, String) {
        let (opened, text) = logged(|| self.open());
        assert!(!text.contains("example.com"), "{text}");
        (opened, text)
    }

    /// Opens the store, which warns of nothing.
    pub(crate) fn open_quietly(&self) -> Opened {
        let (opened, log) = self.open_logged();
        assert!(!log.contains("WARN"), "{log}");
        opened
    }
}

/// Waits until `is_so`, for half a minute, whatever a test's clock says.
pub(crate) async fn eventually(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..30_000 {
        if is_so() {
            return;
        }
        let pause = || thread::park_timeout(Duration::from_millis(1));
        spawn_blocking(pause).await.unwrap();
    }
    panic!("never happened: {what}");
}

impl Opened {
    /// Signs `name`@example.com up.
    pub(crate) async fn sign_up(&self, name: &str) -> Result<Subscription, StoreError> {
        sign_up(&self.store, name).await
    }

    pub(crate) async fn sign_up_all(&self, names: impl IntoIterator<Item: AsRef<str>>) {
        for name in names {
            self.sign_up(name.as_ref()).await.unwrap();
        }
    }

    pub(crate) fn spawn_sign_up(&self, name: &'static str) -> Waiting {
        let store = Arc::clone(&self.store);
        tokio::spawn(async move { sign_up(&store, name).await })
    }

    pub(crate) async fn forget(&self, name: &str) -> Result<bool, StoreError> {
        let erasure = self.store.forget(&[address(name)], START).await?;
        assert_eq!(erasure.was_known.len(), 1);
        Ok(erasure.was_known[0])
    }

    pub(crate) async fn find(&self, name: &str) -> Option<Contact> {
        let contact = ContactStore::find(&*self.store, &address(name)).await;
        contact.unwrap()
    }

    pub(crate) async fn has(&self, name: &str) -> bool {
        self.find(name).await.is_some()
    }

    pub(crate) async fn assert_has(&self, present: &[&str], absent: &[&str]) {
        self.assert_has_all(present).await;
        for name in absent {
            assert!(!self.has(name).await, "{name} is there");
        }
    }

    pub(crate) async fn assert_has_all(&self, names: impl IntoIterator<Item: AsRef<str>>) {
        for name in names {
            let name = name.as_ref();
            assert!(self.has(name).await, "{name} is missing");
        }
    }

    /// Waits until the store has found out that it takes writes.
    pub(crate) async fn recovers(&self) {
        eventually("the recovery", || ContactStore::check(&*self.store).is_ok()).await;
    }

    pub(crate) fn stop(self) {
        self.store.close().unwrap();
    }

    pub(crate) fn crash(self) {
        drop(self);
    }

    pub(crate) fn end(self, is_crash: bool) {
        if is_crash {
            self.crash();
        } else {
            self.stop();
        }
    }
}

pub(crate) async fn sign_up(
    store: &Arc<impl ContactStore>,
    name: &str,
) -> Result<Subscription, StoreError> {
    sign_up_by(store, name, origin(7, None)).await
}

pub(crate) async fn sign_up_by(
    store: &Arc<impl ContactStore>,
    name: &str,
    origin: Origin,
) -> Result<Subscription, StoreError> {
    sign_up_at(store, name, origin, START).await
}

pub(crate) async fn sign_up_at(
    store: &Arc<impl ContactStore>,
    name: &str,
    origin: Origin,
    at: Timestamp,
) -> Result<Subscription, StoreError> {
    store.sign_up(sign_up_of(address(name), origin, at)).await
}

/// Deliveries that ended, and no mail among them.
pub(crate) fn settled(made: Vec<DeliveryId>, failed: Vec<Delivery>) -> Settled {
    Settled {
        made,
        failed,
        mails: Vec::new(),
    }
}

/// A sign-up that shows nothing of its consent. Its token is of the address and the time.
pub(crate) fn sign_up_of(email: EmailAddress, origin: Origin, at: Timestamp) -> SignUp {
    let token = TextDigest::of(&format!("{} {}", email.as_str(), at.as_ms()));
    SignUp {
        email,
        origin,
        consent: bare_consent(at, SignUpWay::Form),
        consent_text: None,
        leave_token: LeaveToken::from_bytes(*token.as_bytes()),
        notice: None,
        is_to_be_confirmed: false,
    }
}

/// The consent and the token of such a sign-up, as fields of a contact.
pub(crate) fn of_sign_up(contact: &mut Contact, sign_up: SignUp) {
    contact.consent = Some(sign_up.consent);
    contact.leave_token = Some(sign_up.leave_token);
}

/// A consent without further details.
pub(crate) fn bare_consent(at: Timestamp, way: SignUpWay) -> Consent {
    Consent {
        at,
        way,
        language: None,
        text: None,
        source: None,
        ip: None,
    }
}

/// A sign-up of which nothing is known.
pub(crate) fn no_evidence() -> Evidence {
    Evidence {
        consent: bare_consent(START, SignUpWay::Api),
        text: None,
    }
}

/// A client that is told from others by these numbers.
pub(crate) fn origin(network: u8, credential: Option<u8>) -> Origin {
    let hash = |seed| OriginHash::from_bytes([seed; 8]);
    Origin {
        network: hash(network),
        credential: credential.map(hash),
    }
}

pub(crate) fn address(name: &str) -> EmailAddress {
    EmailAddress::parse(&format!("{name}@example.com")).unwrap()
}

pub(crate) fn imported(name: &str, subscribed_at: Timestamp) -> Contact {
    Contact::imported(address(name), subscribed_at, None, None)
}

pub(crate) async fn listed<T>(pages: Result<PageStream<T>, StoreError>) -> Vec<T> {
    let mut pages = pages.unwrap();
    let mut listed = Vec::new();
    while let Some(page) = pages.next().await {
        let page = page.unwrap();
        assert!(!page.is_empty());
        listed.extend(page);
    }
    listed
}

/// How many of racing calls are told that they were the first.
pub(crate) async fn count_firsts<F>(call: impl Fn() -> F) -> usize
where
    F: Future<Output = Result<bool, StoreError>> + Send + 'static,
{
    let racers: JoinSet<_> = (0..32).map(|_| call()).collect();
    let told = racers.join_all().await.into_iter();
    told.filter(|is_first| *is_first == Ok(true)).count()
}

/// A key that is valid for a thousand seconds after the epoch.
pub(crate) fn key_record(seed: u8, label: Option<&str>) -> KeyRecord {
    KeyRecord {
        fingerprint: Fingerprint::from_bytes([seed; 32]),
        id: KeyId::parse(&format!("Key{seed:05}")).unwrap(),
        label: label.map(|label| Label::parse(label.to_owned()).unwrap()),
        issued_at: Timestamp::from_ms(1_000),
        expires_at: Timestamp::from_ms(1_002_000),
        revoked_at: None,
    }
}

/// A registration that an agent made when most tests begin.
pub(crate) fn registration(seed: u8) -> Registration {
    Registration::new([seed; 16], START)
}

/// Copies a directory, whose files may come and go meanwhile, for the service alone.
pub(crate) fn copy_dir(from: &Path, to: &Path) {
    let mut private = DirBuilder::new();
    private.recursive(true).mode(0o700).create(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy_dir(&from, &to);
        } else {
            // It may be gone.
            let _ = fs::copy(from, to);
        }
    }
}

/// Every file under `path` with its content, in order.
pub(crate) fn contents(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(path).unwrap() {
        let entry = entry.unwrap().path();
        if entry.is_dir() {
            found.extend(contents(&entry));
        } else {
            found.push((entry.clone(), fs::read(&entry).unwrap()));
        }
    }
    found.sort();
    found
}

/// Makes a FIFO, which whoever opens it for reading waits at.
pub(crate) fn make_fifo(path: &Path) {
    mkfifoat(CWD, path, Mode::RUSR | Mode::WUSR).unwrap();
}

thread_local! {
    /// What this thread has logged, while somebody wants to know.
    static LOG: RefCell<Option<Vec<u8>>> = const { RefCell::new(None) };
}

/// Does `work` and hands out what this thread logged meanwhile.
///
/// One subscriber serves all threads. With one each, tracing now and then switches a line off for
/// everybody: when a thread that has none is the first to log it.
pub(crate) fn logged<T>(work: impl FnOnce() -> T) -> (T, String) {
    start_log();
    (work(), end_log())
}

/// Awaits `work`, which must stay in this thread, and hands out what it logged meanwhile.
pub(crate) async fn logged_async<T>(work: impl Future<Output = T>) -> (T, String) {
    start_log();
    (work.await, end_log())
}

fn start_log() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(|| LogOfThread)
            .init();
        // A line may have been logged for the first time while that happened.
        tracing::callsite::rebuild_interest_cache();
    });
    LOG.set(Some(Vec::new()));
}

fn end_log() -> String {
    let log = String::from_utf8(LOG.take().unwrap()).unwrap();
    crate::program::assert_impersonal(&log);
    log
}

struct LogOfThread;

impl io::Write for LogOfThread {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOG.with_borrow_mut(|log| {
            if let Some(log) = log {
                log.extend_from_slice(bytes);
            }
        });
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

// ---------------------------------------------------------------------------------------------
// The limiter
// ---------------------------------------------------------------------------------------------

pub(crate) fn mac_key() -> &'static MacKey {
    static KEY: LazyLock<MacKey> = LazyLock::new(|| Secret::new([9; 32]).keys().limiter);
    &KEY
}

pub(crate) fn policies(quota: &str) -> Policies {
    let mut policies = Policies::default();
    for policy in PolicyName::ALL {
        policies.set(policy, Some(quota.parse().unwrap()));
    }
    policies
}

pub(crate) struct OneFile {
    pub(crate) root: TempDir,
    pub(crate) path: PathBuf,
}

impl OneFile {
    pub(crate) fn named(name: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join(name);
        Self { root, path }
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.root).unwrap();
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let names = entries.map(|entry| name(entry).into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }

    pub(crate) fn text(&self) -> String {
        fs::read_to_string(&self.path).unwrap()
    }
}

/// One for the host `host` of 10.0.0.0/8.
pub(crate) fn charge(policy: PolicyName, quota: &str, host: u32) -> Charge<'static> {
    let [_, b, c, d] = host.to_be_bytes();
    let network = Network::V4([10, b, c, d]);
    let subject = Subject::Network(network.hashed(mac_key()));
    Charge {
        policy,
        quota: quota.parse::<Quota>().unwrap(),
        key: LimitKey::new(mac_key(), policy, subject),
        group: Some((network, mac_key())),
    }
}

pub(crate) async fn acquire(
    limiter: &dyn RateLimiter,
    charges: &[Charge<'_>],
    now: Timestamp,
) -> Admission {
    limiter.acquire(charges, now).await.unwrap()
}

pub(crate) async fn is_admitted(
    limiter: &dyn RateLimiter,
    charges: &[Charge<'_>],
    now: Timestamp,
) -> bool {
    let admission = acquire(limiter, charges, now).await;
    !admission.decision.is_refused()
}

/// Has `limiter` admit one request of each host under [`PolicyName::Ip`].
pub(crate) async fn admit_each(
    limiter: &dyn RateLimiter,
    quota: &str,
    hosts: impl IntoIterator<Item = u32>,
) {
    for host in hosts {
        let by_ip = charge(PolicyName::Ip, quota, host);
        assert!(is_admitted(limiter, &[by_ip], START).await, "{host}");
    }
}

/// The number of `tries` that are admitted.
pub(crate) async fn admitted(
    limiter: &dyn RateLimiter,
    charges: &[Charge<'_>],
    now: Timestamp,
    tries: usize,
) -> usize {
    let mut admitted = 0;
    for _ in 0..tries {
        admitted += usize::from(is_admitted(limiter, charges, now).await);
    }
    admitted
}

pub(crate) async fn peek(limiter: &dyn RateLimiter, charge: Charge<'_>, now: Timestamp) -> Usage {
    let decision = limiter.peek(&[charge], now).await.unwrap();
    usage(&decision, charge.policy)
}

pub(crate) async fn refund(
    limiter: &dyn RateLimiter,
    receipt: Receipt,
    now: Timestamp,
) -> Decision {
    limiter.refund(receipt, now).await.unwrap()
}

/// A limiter that a restart makes forget its windows.
pub(crate) fn limiter_in_memory() -> SledRateLimiter {
    SledRateLimiter::in_memory(&Policies::default(), START)
}

type Fault = dyn Fn(&str) -> Result<(), LimiterError> + Send + Sync;

/// A limiter in memory. Before it does what it is asked, `fault` may fail or panic, which is told the name of
/// the call.
pub(crate) struct FaultyRateLimiter {
    inner: SledRateLimiter,
    fault: Box<Fault>,
    /// As if on a network: every call waits before and after it takes effect, and none is answered at once.
    is_distant: bool,
}

impl FaultyRateLimiter {
    pub(crate) fn new(
        fault: impl Fn(&str) -> Result<(), LimiterError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            inner: limiter_in_memory(),
            fault: Box::new(fault),
            is_distant: false,
        }
    }

    /// One on a network, without a fault.
    pub(crate) fn distant() -> Self {
        let limiter = Self::new(|_call| Ok(()));
        Self {
            is_distant: true,
            ..limiter
        }
    }

    async fn on<T>(
        &self,
        name: &str,
        call: impl Future<Output = Result<T, LimiterError>>,
    ) -> Result<T, LimiterError> {
        (self.fault)(name)?;
        if !self.is_distant {
            return call.await;
        }
        yield_now().await;
        let result = call.await;
        yield_now().await;
        result
    }
}

#[async_trait]
impl RateLimiter for FaultyRateLimiter {
    async fn acquire(
        &self,
        charges: &[Charge<'_>],
        now: Timestamp,
    ) -> Result<Admission, LimiterError> {
        self.on("acquire", self.inner.acquire(charges, now)).await
    }

    fn acquire_now(
        &self,
        charges: &[Charge<'_>],
        now: Timestamp,
        admission: &mut Admission,
    ) -> bool {
        !self.is_distant
            && (self.fault)("acquire").is_ok()
            && self.inner.acquire_now(charges, now, admission)
    }

    async fn peek(&self, charges: &[Charge<'_>], now: Timestamp) -> Result<Decision, LimiterError> {
        self.on("peek", self.inner.peek(charges, now)).await
    }

    async fn refund(&self, receipt: Receipt, now: Timestamp) -> Result<Decision, LimiterError> {
        self.on("refund", self.inner.refund(receipt, now)).await
    }

    async fn busiest(
        &self,
        policy: PolicyName,
        quota: Quota,
        most: usize,
        now: Timestamp,
    ) -> Result<Vec<BusyWindow>, LimiterError> {
        let busiest = self.inner.busiest(policy, quota, most, now);
        self.on("busiest", busiest).await
    }

    async fn reset(&self, which: WindowSet) -> Result<usize, LimiterError> {
        self.on("reset", self.inner.reset(which)).await
    }

    fn check(&self) -> Result<(), LimiterError> {
        (self.fault)("check")
    }
}

/// What is counted and the milliseconds until one more place.
pub(crate) type Usage = (u32, u64);

pub(crate) fn usage(decision: &Decision, policy: PolicyName) -> Usage {
    let usage = decision.standing(policy).unwrap().usage;
    (usage.counted, usage.reset_ms)
}

/// The failure of a provider.
pub(crate) fn failed(error: &str) -> Failure {
    Failure::Later {
        error: error.to_owned(),
        wait_ms: None,
    }
}
