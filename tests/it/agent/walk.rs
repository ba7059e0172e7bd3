//! What an agent does that knows nothing but the base URL: every address it asks, it was told.

use crate::prelude::*;

/// An agent, and where it may go: paths of the one origin it knows.
struct Agent<'a> {
    app: &'a TestApp,
}

impl Agent<'_> {
    /// The path of an address, which has to be of that origin.
    fn path(&self, address: &Value) -> String {
        let address = address.as_str().unwrap();
        let path = address.strip_prefix(self.app.base_url);
        path.unwrap_or_else(|| panic!("{address} leads elsewhere"))
            .to_owned()
    }

    async fn read(&self, path: &str) -> Reply {
        self.app.expect("200", Call::get(path)).await
    }

    async fn read_json(&self, address: &Value) -> Value {
        self.read(&self.path(address)).await.json()
    }
}

/// The target of the link with that relation in a `Link` header (RFC 8288).
fn linked(reply: &Reply, relation: &str) -> String {
    let links = reply.header("link").unwrap();
    let relation = format!("rel=\"{relation}\"");
    let link = links.split(", ").find(|link| link.contains(&relation));
    let (target, _) = link.unwrap().split_once('>').unwrap();
    target.strip_prefix('<').unwrap().to_owned()
}

/// The quoted address in a challenge (RFC 9728, section 5.1).
fn metadata_address(reply: &Reply) -> Value {
    let challenge = reply.header("www-authenticate").unwrap();
    let (_, rest) = challenge.split_once("resource_metadata=\"").unwrap();
    Value::from(rest.split('"').next().unwrap())
}

/// Finds an operation by its id, as a generated client does.
fn operation(description: &Value, id: &str) -> (Method, String) {
    for (path, item) in description["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            if operation["operationId"] == id {
                return (method.to_uppercase().parse().unwrap(), path.clone());
            }
        }
    }
    panic!("no operation {id}");
}

#[tokio::test]
async fn the_base_url_is_enough_to_read_register_call_and_leave() {
    let app = TestApp::new();
    let agent = Agent { app: &app };

    // Read: the home page leads to the catalog, that to the description and the instructions.
    let home = agent.read("/").await;
    let catalog = agent.read(&linked(&home, "api-catalog")).await.json();
    let services = &catalog["linkset"][0];
    let description = agent.read_json(&services["service-desc"][0]["href"]).await;
    let docs = services["service-doc"].as_array().unwrap().iter();
    let mut paths = docs.map(|doc| agent.path(&doc["href"]));
    let instructions = paths.find(|path| path.contains("auth")).unwrap();
    assert!(agent.read(&instructions).await.body.starts_with(b"# "));
    let (method, health) = operation(&description, "getHealth");
    let call = || Call::new(method.clone(), &health);
    app.expect("200", call()).await;

    // Register: a challenge leads to the metadata, that to the authorization server.
    let challenged = app.expect("401", call().bearer("made-up")).await;
    let resource = agent.read_json(&metadata_address(&challenged)).await;
    assert_eq!(resource["authorization_servers"][0], app.base_url);
    let issuer = agent.path(&resource["authorization_servers"][0]);
    // RFC 8414, section 3.1.
    let server = format!("{issuer}/.well-known/oauth-authorization-server");
    let server = agent.read(&server).await.json();
    assert_eq!(server["issuer"], app.base_url);
    let ways = &server["agent_auth"];
    assert_eq!(ways["identity_types_supported"][0], "anonymous");
    let register = agent.path(&ways["register_uri"]);
    let body = r#"{"type":"anonymous","label":"walker"}"#;
    let registered = app.expect("201", Call::post(&register, body)).await;
    let token = &*registered.member("access_token");

    // Call: the token is known, and counted on its own.
    for _ in 0..3 {
        app.send(call()).await;
    }
    let stranger = app.send(call()).await.remaining();
    let known = app.expect("200", call().bearer(token)).await;
    assert!(known.remaining() > stranger);

    // A fresh token, as OAuth libraries get it.
    let form = format!(
        "grant_type={}&client_id={}&client_secret={}",
        server["grant_types_supported"][0].as_str().unwrap(),
        registered.member("client_id"),
        registered.member("client_secret")
    );
    let exchange = Call::form(&agent.path(&server["token_endpoint"]), form);
    let fresh = app.expect("200", exchange.clone()).await;
    let fresh = fresh.member("access_token");
    app.expect("200", call().bearer(&fresh)).await;

    // Leave: nothing of the registration is good afterwards.
    let revoke = agent.path(&server["revocation_endpoint"]);
    app.expect("200", Call::revocation(token).to(&revoke)).await;
    for ended in [token, &fresh] {
        let reply = app.expect("401", call().bearer(ended)).await;
        assert_eq!(metadata_address(&reply), metadata_address(&challenged));
    }
    app.expect("401 invalid_client", exchange).await;
}
