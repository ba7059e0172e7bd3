//! How a server is reached: as an account of its own, with a password, over TLS.

use std::path::Path;

use landing_api::adapters::cluster::redis::{RedisAddress, RedisSettings};
use landing_api::adapters::files::pem::certificates_in;
use landing_api::adapters::outbound::Roots;
use landing_api::ports::LimiterError;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::engine::password_file;
use crate::fixtures::peek;
use crate::limits_away::now;
use crate::prelude::*;
use crate::redis::settings;
use crate::starts::turn_tls_on;

/// The handbook's words on the account.
const HANDBOOK: &str = include_str!("../../data/handbook/several-nodes.md");

/// Everything that a node and its operator do.
async fn exercise(limiter: &RedisRateLimiter) -> Result<(), LimiterError> {
    limiter.check()?;
    let charge = charge(PolicyName::Ip, "3/1h", 1);
    let admission = acquire(limiter, &[charge], now()).await;
    refund(limiter, admission.receipt, now()).await;
    acquire(limiter, &[charge], now()).await;
    assert_eq!(peek(limiter, charge, now()).await.0, 1);
    let busiest = limiter.busiest(charge.policy, charge.quota, 5, now());
    assert_eq!(busiest.await?.len(), 1);
    assert_eq!(limiter.reset(WindowSet::Window(charge.key)).await?, 1);
    assert_eq!(limiter.reset(WindowSet::All).await?, 0);
    let survey = limiter.survey().await?;
    assert!(survey.server.len() > "valkey ".len());
    assert_eq!(survey.eviction, None);
    limiter.check()
}

#[tokio::test]
async fn the_account_of_the_handbook_may_do_what_is_needed_and_no_more() {
    let redis = Redis::start().await;
    let (_, rest) = HANDBOOK.split_once("`~lw1:*").unwrap();
    let (rights, _) = rest.split_once('`').unwrap();
    let mut account = vec!["acl", "setuser", "limits", "on", ">s@cret", "~lw1:*"];
    account.extend(rights.split_whitespace());
    assert_eq!(redis.cli(&account), "OK");
    let url = |login: &str| format!("redis://{login}@127.0.0.1:{}", redis.port);
    let limiter = RedisRateLimiter::open(settings(&url("limits:s%40cret"))).await;
    exercise(&limiter.unwrap()).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let with_file = |login: &str| RedisSettings {
        password_file: Some(password_file(dir.path(), "s@cret")),
        ..settings(&url(login))
    };
    let limiter = RedisRateLimiter::open(with_file("limits")).await.unwrap();
    exercise(&limiter).await.unwrap();
    let replaced = ["acl", "setuser", "limits", "resetpass", ">0ther"];
    assert_eq!(redis.cli(&replaced), "OK");
    password_file(dir.path(), "0ther");
    redis.cli(&["client", "kill", "user", "limits"]);
    until("a log-in with the other password", async || {
        limiter.check().is_ok() && limiter.survey().await.is_ok()
    })
    .await;
    let restored = ["acl", "setuser", "limits", "resetpass", ">s@cret"];
    assert_eq!(redis.cli(&restored), "OK");
    let both = RedisRateLimiter::open(with_file("limits:other")).await;
    let two = "the password is in the URL and in a file: remove one of them";
    assert_eq!(both.err().as_deref(), Some(two));
    let neither = RedisRateLimiter::open(settings(&url("limits"))).await;
    let none = "the URL has a user but no password";
    assert_eq!(neither.err().as_deref(), Some(none));
    let wrong = RedisRateLimiter::open(settings(&url("limits:wrong"))).await;
    let error = wrong.unwrap().check().unwrap_err().to_string();
    for private in ["wrong", "limits:"] {
        assert!(!error.contains(private), "{error}");
    }
    // One that may read and not write cannot decide.
    assert_eq!(redis.cli(&["acl", "setuser", "limits", "-set"]), "OK");
    let reader = RedisRateLimiter::open(settings(&url("limits:s%40cret"))).await;
    reader.unwrap().check().unwrap_err();
}

/// An authority that issued a certificate for `localhost`, both in files.
pub(crate) fn issue(dir: &Path) -> Roots {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["localhost".to_owned()]).unwrap();
    let certificate = certificate.signed_by(&key, &authority).unwrap();
    fs::write(dir.join("key"), key.serialize_pem()).unwrap();
    fs::write(dir.join("certificate"), certificate.pem()).unwrap();
    fs::write(dir.join("authority"), authority.pem()).unwrap();
    Roots::of(certificates_in(&dir.join("authority")).unwrap())
}

/// A server that also listens with what `issue` left in `dir`, and the port where it does.
async fn start_with_tls(dir: &Path) -> (Redis, u16) {
    let file = |name: &str| dir.join(name).display().to_string();
    let tls_port = free_port();
    let arguments = [
        ["--tls-port", &tls_port.to_string()],
        ["--tls-cert-file", &file("certificate")],
        ["--tls-key-file", &file("key")],
        ["--tls-ca-cert-file", &file("authority")],
        ["--tls-auth-clients", "no"],
    ];
    let redis = Redis::start_with("redis-server", arguments.as_flattened()).await;
    (redis, tls_port)
}

#[tokio::test]
async fn tls_needs_a_certificate_of_an_authority_that_is_trusted() {
    let dir = tempfile::tempdir().unwrap();
    let roots = issue(dir.path());
    let (redis, tls_port) = start_with_tls(dir.path()).await;
    let open = async |url: String, roots: Roots| {
        let address = RedisAddress::parse(&url).unwrap();
        let settings = RedisSettings {
            address,
            password_file: None,
            roots,
            metrics: None,
        };
        RedisRateLimiter::open(settings).await.unwrap()
    };
    let trusted = open(format!("rediss://localhost:{tls_port}"), roots.clone()).await;
    exercise(&trusted).await.unwrap();
    for (url, roots) in [
        (format!("rediss://localhost:{tls_port}"), Roots::of([])),
        (format!("rediss://127.0.0.1:{tls_port}"), roots.clone()),
        (format!("rediss://localhost:{}", redis.port), roots.clone()),
        (format!("redis://localhost:{tls_port}"), roots),
    ] {
        open(url, roots).await.check().unwrap_err();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flag_names_the_authority_of_an_engines_provider() {
    let dir = tempfile::tempdir().unwrap();
    issue(dir.path());
    let (_redis, tls_port) = start_with_tls(dir.path()).await;
    let limits = format!("rediss://localhost:{tls_port}");
    let mut postgres = Postgres::start().await;
    turn_tls_on(&mut postgres).await;
    let store = postgres.url().replace("127.0.0.1", "localhost");
    let store = store.replace("sslmode=disable", "sslmode=require");
    let secret = dir.path().join("secret");
    write_secret(&secret, &[&"1".repeat(64)]);
    let doctor = |authorities: &Path| {
        let mut command = landing_api(&["doctor", "--store", &store, "--limits", &limits]);
        command.args(["--nodes", "1", "--secret-file"]).arg(&secret);
        let ran = Ran::of(command.arg("--store-ca").arg(authorities));
        ran.out + &ran.err
    };
    let (of_redis, of_postgres) = (
        dir.path().join("authority"),
        postgres.data().join("authority"),
    );
    let both = dir.path().join("both");
    let authorities = [&of_postgres, &of_redis].map(|path| fs::read(path).unwrap());
    fs::write(&both, authorities.concat()).unwrap();
    let trusted = doctor(&both);
    for words in ["landing-api migrate", "limits: redis "] {
        assert!(trusted.contains(words), "{trusted}");
    }
    assert!(doctor(&of_redis).contains("no TLS with the database"));
    assert!(doctor(&of_postgres).contains("the TLS handshake failed"));
    let unread = doctor(&secret);
    let told = format!("--store-ca: {}: holds no certificate", secret.display());
    assert!(unread.contains(&told), "{unread}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_warns_of_an_engine_that_forgets_windows() {
    let (_postgres, redis, urls) = engines().await;
    let evicting = ["config", "set", "maxmemory-policy", "allkeys-lru"];
    assert_eq!(redis.cli(&evicting), "OK");
    let nodes = Nodes::start(1, &urls, &[]);
    until("the warning", async || {
        nodes.log(0).contains("maxmemory-policy allkeys-lru")
    })
    .await;
}
