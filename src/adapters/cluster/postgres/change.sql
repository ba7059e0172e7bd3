-- Follows the WITH of `settings`. Replaces the state $1 of a contact, or none, by $2, unless another change came first.
-- Adds the deliveries $3; if $4, drops earlier ones that contain the address. $5 has the hashes of an address that was
-- signed up. Recipients that refused get no email for 30 days. More parts and the SELECT follow, which read `kept`.
, created AS (INSERT INTO contact (state) SELECT $2::jsonb FROM settings WHERE $1 IS NULL
    ON CONFLICT DO NOTHING RETURNING email)
, changed AS (UPDATE contact SET state = $2::jsonb FROM settings
    WHERE email = $2::jsonb ->> 'email' AND state = $1::jsonb RETURNING email)
, kept AS (TABLE created UNION ALL TABLE changed)
, undelivered AS (DELETE FROM delivery USING kept WHERE $4 AND delivery.email = kept.email)
, queued AS (INSERT INTO delivery (id, kind, channel, email, body, queued_at, due_at, network)
    SELECT new.id, new.kind, new.channel, new.email, new.body, new.queued_at,
        now() + (new.due_at - new.queued_at), new.network
    FROM kept, json_populate_recordset(NULL::delivery, $3::json) AS new
    WHERE new.channel <> 'mail' OR NOT EXISTS (SELECT FROM tombstone
        WHERE address = ANY($5) AND refused_at > now() - interval '30 days')
    ON CONFLICT DO NOTHING)
