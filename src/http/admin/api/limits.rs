//! Rate limits.

use std::net::IpAddr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::domain::client::{LimitKey, Network};
use crate::domain::email::EmailAddress;
use crate::domain::policy::PolicyName;
use crate::http::admin::reply::{self, AdminAnswer, AdminError};
use crate::http::admin::request::AdminRequest;
use crate::ports::WindowSet;
use crate::usecases::limits::{self, ClientIdentity, WindowUsage};

/// A question about limits.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct LimitsQuery {
    /// How many clients of each policy are wanted.
    pub(crate) top: usize,
    /// The IP address of a client.
    pub(crate) ip: Option<IpAddr>,
    /// A key, a token or a client id.
    pub(crate) key: Option<String>,
    /// An address that the client with the IP address signs up.
    pub(crate) email: Option<String>,
    /// One policy.
    pub(crate) policy: Option<String>,
    /// A client, by its hash.
    pub(crate) client: Option<String>,
    /// Everybody under every policy.
    pub(crate) all: bool,
}

impl LimitsQuery {
    fn email(&self) -> Result<Option<EmailAddress>, AdminError> {
        let email = self.email.as_deref().map(EmailAddress::parse).transpose();
        email.map_err(|error| AdminError::Input(format!("the address {error}")))
    }

    fn identity<'a>(
        &self,
        email: Option<&'a EmailAddress>,
        app: &App,
    ) -> Result<Option<ClientIdentity<'a>>, AdminError> {
        let network = self.ip.map(Network::from);
        if let Some(network) = network {
            return Ok(Some(match email {
                Some(email) => ClientIdentity::SignUp(network, email),
                None => ClientIdentity::Network(network),
            }));
        }
        let Some(key) = &self.key else {
            return Ok(None);
        };
        let identity = ClientIdentity::from_credential(key, &app.secrets).ok_or_else(|| {
            AdminError::Input(
                "--key must be a whole API key, a token or a client id; the id of a key is not enough"
                    .to_owned(),
            )
        })?;
        Ok(Some(identity))
    }
}

/// A policy, or what somebody has left of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyRow {
    /// Its name.
    pub policy: String,
    /// Its limit, such as `8/15m`; none if it is off.
    pub limit: Option<String>,
    /// Whom it counts.
    pub counts: String,
    /// Clients, the busiest first.
    pub clients: Vec<ClientRow>,
}

/// What a client has used of a policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientRow {
    /// The client, as a keyed hash.
    pub client: String,
    /// How much is used.
    pub used: u32,
    /// How much is left.
    pub remaining: u32,
    /// Seconds until more is left; the window's length if nothing is used.
    pub reset_s: u64,
}

impl From<&WindowUsage> for ClientRow {
    fn from(window: &WindowUsage) -> Self {
        Self {
            client: window.key.to_hex(),
            used: window.standing.used(),
            remaining: window.standing.remaining(),
            reset_s: window.standing.reset_s(),
        }
    }
}

/// Shows the policies with their busiest clients, or what one client has left.
pub(in crate::http::admin) async fn show(request: AdminRequest) -> AdminAnswer {
    let app = Arc::clone(&request.app);
    let query: LimitsQuery = request.json().await?;
    let (now, meter) = (app.clock.now(), app.meter());
    let row = |policy: PolicyName, windows: &[WindowUsage]| PolicyRow {
        policy: policy.as_str().to_owned(),
        limit: meter.policies.quota(policy).map(|quota| quota.to_string()),
        counts: policy.counted_by().as_str().to_owned(),
        clients: windows.iter().map(ClientRow::from).collect(),
    };
    let email = query.email()?;
    let rows: Vec<PolicyRow> = match query.identity(email.as_ref(), &app)? {
        Some(identity) => {
            let windows = limits::show_identity(meter, identity, now).await?;
            let windows = windows.iter();
            windows
                .map(|window| row(window.standing.policy, std::slice::from_ref(window)))
                .collect()
        }
        None => {
            let policies = limits::show_limits(meter, query.top, now).await?;
            let policies = policies.iter();
            policies.map(|it| row(it.policy, &it.busiest)).collect()
        }
    };
    reply::json(&rows)
}

/// What a reset did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitsReset {
    /// The windows that were forgotten.
    pub windows: usize,
}

/// Forgets what was counted.
pub(in crate::http::admin) async fn reset(request: AdminRequest) -> AdminAnswer {
    let app = Arc::clone(&request.app);
    let query: LimitsQuery = request.json().await?;
    let policy = query.policy.as_deref().map(|name| {
        PolicyName::from_name(name)
            .ok_or_else(|| AdminError::Input("no policy has this name".to_owned()))
    });
    let policy = policy.transpose()?;
    let email = query.email()?;
    let set = match (query.identity(email.as_ref(), &app)?, &query.client, policy) {
        (Some(identity), None, only) => {
            let windows = limits::reset_identity(app.meter(), identity, only).await?;
            return reset_done(windows);
        }
        (None, Some(client), None) => {
            let key = LimitKey::from_hex(client).ok_or_else(|| {
                AdminError::Input("--client must be a hash that limits show prints".to_owned())
            })?;
            WindowSet::Window(key)
        }
        (None, None, Some(policy)) => WindowSet::Policy(policy),
        (None, None, None) if query.all => WindowSet::All,
        _ => {
            return Err(AdminError::Input(
                "say whose limits are to be reset".to_owned(),
            ));
        }
    };
    reset_done(app.limiter.reset(set).await?)
}

fn reset_done(windows: usize) -> AdminAnswer {
    tracing::info!(command = "limits reset", windows, "operator");
    reply::json(&LimitsReset { windows })
}
