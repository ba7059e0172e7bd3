//! The delivery queue. A node that takes deliveries has a lease on them, by the database's clock: the leases of a
//! node that is gone expire.

use async_trait::async_trait;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::domain::{
    Channel, Contact, Delivery, DeliveryId, DeliveryKind, EmailAddress, LimitKey, QueueStanding,
    Settled, Timestamp, Turn,
};
use crate::ports::{DeliveryQueue, PageStream, StoreError, lease_ms};

use super::connection::Parameters;
use super::rows::{bytes_column, column, instant, json_rows, timestamp, unexpected};
use super::store::PostgresStore;

/// Existing ones were added by an earlier run of the same statement.
const ADD: &str = "INSERT INTO delivery (id, kind, channel, email, body, queued_at, due_at, network) \
     SELECT new.id, new.kind, new.channel, new.email, new.body, new.queued_at, \
         now() + (new.due_at - new.queued_at), new.network \
     FROM settings, json_populate_recordset(NULL::delivery, $1::json) AS new ON CONFLICT DO NOTHING";

/// A clock that was set back delays nothing: no wait is longer than 27 hours. Deliveries queued by a later version
/// are left to it. Networks take turns as in [`Turn::rank`]; no network is an empty one.
const TAKE: &str = "UPDATE delivery SET leased_until = now() + $3::bigint * interval '1 ms' FROM settings WHERE id IN \
         (SELECT id FROM delivery WHERE channel = $1 AND dead_at IS NULL \
             AND (due_at <= now() OR due_at > now() + interval '27 hours') \
             AND coalesce(leased_until <= now(), true) AND kind = ANY($4) \
             AND NOT EXISTS (SELECT FROM held_channel WHERE channel = $1) \
             AND coalesce(network, '') <> ALL($6) \
          ORDER BY coalesce(network, '') <= $5, coalesce(network, ''), due_at, place LIMIT $2 FOR UPDATE SKIP LOCKED) \
     RETURNING delivery.*";

/// `$3` is the time of the attempts, by the clock that determines their next attempts.
const SETTLE: &str = ", made AS (DELETE FROM delivery USING settings WHERE id = ANY($1)) \
     UPDATE delivery SET due_at = now() + (new.due_at - $3), attempts = new.attempts, \
         last_error = new.last_error, leased_until = NULL, \
         dead_at = CASE WHEN new.dead_at IS NOT NULL THEN coalesce(delivery.dead_at, now()) END \
     FROM settings, json_populate_recordset(NULL::delivery, $2::json) AS new \
     WHERE delivery.id = new.id";

const RETRY: &str = "UPDATE delivery SET due_at = now(), attempts = 0, dead_at = NULL FROM settings \
     WHERE id = $1 OR ($1 IS NULL AND (dead_at IS NOT NULL OR due_at > now())) RETURNING place";

const DROP_DEAD: &str = "DELETE FROM delivery USING settings WHERE dead_at <= now() - $1::bigint * interval '1 ms' \
     OR id IN (SELECT id FROM delivery WHERE dead_at IS NOT NULL ORDER BY dead_at DESC OFFSET $2) RETURNING place";

const STANDING: &str = "SELECT count(*) FILTER (WHERE dead_at IS NULL), \
         min(queued_at) FILTER (WHERE dead_at IS NULL), count(dead_at), \
         EXISTS (SELECT FROM held_channel WHERE channel = $1) \
     FROM delivery WHERE channel = $1";

#[async_trait]
impl DeliveryQueue for PostgresStore {
    async fn add(&self, deliveries: Vec<Delivery>) -> Result<(), StoreError> {
        let deliveries = json_rows(&deliveries);
        let added = self.change(ADD, &[(&deliveries, Type::TEXT)]).await;
        added.map(drop)
    }

    async fn take_due(
        &self,
        channel: Channel,
        count: usize,
        turn: &Turn,
        _now: Timestamp,
    ) -> Result<Vec<Delivery>, StoreError> {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let known = DeliveryKind::ALL.map(DeliveryKind::as_str);
        let after = turn.after.as_ref().map_or(&[][..], |key| key.as_bytes());
        let without = turn.without.iter().map(|key| &key.as_bytes()[..]);
        let without: Vec<&[u8]> = without.collect();
        let values: Parameters<'_> = &[
            (&channel.as_str(), Type::TEXT),
            (&count, Type::INT8),
            (&lease_ms(channel).cast_signed(), Type::INT8),
            (&&known[..], Type::TEXT_ARRAY),
            (&after, Type::BYTEA),
            (&without, Type::BYTEA_ARRAY),
        ];
        let rows = self.change(TAKE, values).await?;
        rows.iter().map(delivery).collect()
    }

    async fn settle(&self, settled: Settled, now: Timestamp) -> Result<(), StoreError> {
        // First, so that no email is sent again because its outcome is unknown.
        for (email, outcome) in &settled.mails {
            let note = |contact: &mut Contact| contact.note_mail(*outcome, now);
            self.change_known(("email", email.as_str()), None, note)
                .await?;
        }
        let made = settled.made.iter();
        let made: Vec<&[u8]> = made.map(|id| &id.as_bytes()[..]).collect();
        let values: Parameters<'_> = &[
            (&made, Type::BYTEA_ARRAY),
            (&json_rows(&settled.failed), Type::TEXT),
            (&instant(now), Type::TIMESTAMPTZ),
        ];
        self.change(SETTLE, values).await.map(drop)
    }

    /// Leases expire by themselves.
    fn release(&self, _channel: Channel) {}

    async fn find(&self, id: DeliveryId) -> Result<Option<Delivery>, StoreError> {
        let find = "SELECT * FROM delivery WHERE id = $1";
        let id = &id.as_bytes()[..];
        let rows = self.look_up(find, &[(&id, Type::BYTEA)]).await?;
        rows.first().map(delivery).transpose()
    }

    async fn list(&self) -> Result<PageStream<Delivery>, StoreError> {
        let list = "SELECT * FROM delivery WHERE place > $1";
        self.pages(list, (None, None), delivery).await
    }

    async fn retry(&self, id: Option<DeliveryId>, _now: Timestamp) -> Result<u64, StoreError> {
        let id = id.as_ref().map(|id| &id.as_bytes()[..]);
        let rows = self.change(RETRY, &[(&id, Type::BYTEA)]).await?;
        Ok(rows.len() as u64)
    }

    async fn drop_one(&self, id: DeliveryId, _now: Timestamp) -> Result<bool, StoreError> {
        let drop = "DELETE FROM delivery USING settings WHERE id = $1 RETURNING place";
        let id = &id.as_bytes()[..];
        let rows = self.change(drop, &[(&id, Type::BYTEA)]).await?;
        Ok(!rows.is_empty())
    }

    async fn drop_dead(&self, _now: Timestamp) -> Result<u64, StoreError> {
        let kept_max = i64::try_from(Delivery::DEAD_KEPT_MAX).unwrap_or(i64::MAX);
        let values: Parameters<'_> = &[
            (&Delivery::DEAD_KEPT_MS.cast_signed(), Type::INT8),
            (&kept_max, Type::INT8),
        ];
        let dropped = self.change(DROP_DEAD, values).await?;
        Ok(dropped.len() as u64)
    }

    async fn hold(&self, channel: Channel, is_held: bool) -> Result<(), StoreError> {
        if is_held {
            return self.begin_change()?.add_new(&channel).await.map(drop);
        }
        let release = "DELETE FROM held_channel USING settings WHERE channel = $1";
        let channel: Parameters<'_> = &[(&channel.as_str(), Type::TEXT)];
        self.change(release, channel).await.map(drop)
    }

    async fn standing(&self, channel: Channel) -> Result<QueueStanding, StoreError> {
        let rows = self
            .look_up(STANDING, &[(&channel.as_str(), Type::TEXT)])
            .await?;
        let row = rows.first().ok_or_else(unexpected)?;
        Ok(QueueStanding {
            waiting: column::<i64>(row, 0)?.cast_unsigned(),
            oldest: column::<Option<_>>(row, 1)?.map(timestamp),
            dead: column::<i64>(row, 2)?.cast_unsigned(),
            is_held: column(row, 3)?,
        })
    }
}

fn delivery(row: &Row) -> Result<Delivery, StoreError> {
    let kind: String = column(row, "kind")?;
    let email: Option<String> = column(row, "email")?;
    Ok(Delivery {
        id: DeliveryId::from_bytes(bytes_column(row, "id")?.ok_or_else(unexpected)?),
        kind: DeliveryKind::from_name(&kind).ok_or_else(unexpected)?,
        email: email.map(EmailAddress::from_stored),
        body: column(row, "body")?,
        network: bytes_column(row, "network")?.map(LimitKey::from_bytes),
        queued_at: timestamp(column(row, "queued_at")?),
        due_at: timestamp(column(row, "due_at")?),
        attempts: column::<i32>(row, "attempts")?.cast_unsigned(),
        last_error: column(row, "last_error")?,
        dead_at: column::<Option<_>>(row, "dead_at")?.map(timestamp),
    })
}
