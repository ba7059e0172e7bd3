//! New deliveries, for the statements that add them.

use std::time::SystemTime;

use tokio_postgres::types::{ToSql, Type};

use crate::domain::{Delivery, EmailAddress};

use super::values::instant;

/// Adds what a row source has, which begins with the columns of [`DeliveryColumns`]. Those that are there already
/// were added by the same statement before.
macro_rules! queue {
    ($from:literal) => {
        concat!(
            "INSERT INTO delivery (id, kind, channel, email, body, queued_at, due_at, network) \
             SELECT new.id, new.kind, new.channel, new.email, new.body, new.at, \
                 now() + new.wait_ms * interval '1 ms', new.network FROM ",
            $from,
            " ON CONFLICT DO NOTHING"
        )
    };
}
pub(super) use queue;

/// New deliveries, a column each.
#[derive(Default)]
pub(super) struct DeliveryColumns<'a> {
    pub(super) ids: Vec<&'a [u8]>,
    pub(super) kinds: Vec<&'static str>,
    pub(super) channels: Vec<&'static str>,
    emails: Vec<Option<&'a str>>,
    pub(super) bodies: Vec<&'a str>,
    instants: Vec<SystemTime>,
    /// How long each waits for its first attempt, in milliseconds.
    pub(super) waits: Vec<i64>,
    pub(super) networks: Vec<Option<&'a [u8]>>,
}

impl<'a> DeliveryColumns<'a> {
    pub(super) fn of(deliveries: impl Iterator<Item = &'a Delivery>) -> Self {
        let mut columns = Self::default();
        for it in deliveries {
            columns.ids.push(it.id.as_bytes());
            columns.kinds.push(it.kind.as_str());
            columns.channels.push(it.kind.channel().as_str());
            let email = it.email.as_ref().map(EmailAddress::as_str);
            columns.emails.push(email);
            columns.bodies.push(&it.body);
            columns.instants.push(instant(it.queued_at));
            let wait_ms = it.due_at.ms_since(it.queued_at);
            columns.waits.push(wait_ms.cast_signed());
            let network = it.network.as_ref().map(|key| &key.as_bytes()[..]);
            columns.networks.push(network);
        }
        columns
    }

    /// The parameters of [`queue`].
    pub(super) fn parameters(&self) -> [(&(dyn ToSql + Sync), Type); 8] {
        [
            (&self.ids, Type::BYTEA_ARRAY),
            (&self.kinds, Type::TEXT_ARRAY),
            (&self.channels, Type::TEXT_ARRAY),
            (&self.emails, Type::TEXT_ARRAY),
            (&self.bodies, Type::TEXT_ARRAY),
            (&self.instants, Type::TIMESTAMPTZ_ARRAY),
            (&self.waits, Type::INT8_ARRAY),
            (&self.networks, Type::BYTEA_ARRAY),
        ]
    }
}
