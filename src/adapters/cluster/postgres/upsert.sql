-- Continues the WITH of `settings!`. $1 has the sign-ups as rows of JSON, $2 the longest wait for a row, and $3 the
-- deliveries for consents that came with the token. `unforgotten`, which nothing reads, runs after `kept`. Recipients
-- that refused get no email for 30 days.
, new AS (SELECT new.* FROM settings, json_to_recordset($1::json) AS new (email text, id uuid, signer bytea, at timestamptz,
    consent text, token bytea, asked boolean, digest bytea, text text, tombstones bytea[]))
, unforgotten AS (DELETE FROM tombstone USING new WHERE address = ANY(new.tombstones)
    AND coalesce(refused_at <= now() - interval '30 days', true))
, texts AS (INSERT INTO consent_text SELECT DISTINCT digest, text
    FROM new WHERE text IS NOT NULL ON CONFLICT DO NOTHING)
, kept AS (INSERT INTO contact AS kept
    (email, id, sign_up, signers, earlier, subscribed_at, last_seen_at, consent, leave_token, asked)
SELECT email, id, id, ARRAY[signer], '{}', at, at, consent, token, asked FROM new ORDER BY email COLLATE "C"
ON CONFLICT (email) DO UPDATE SET
    sign_up = CASE WHEN excluded.id IN (kept.id, kept.sign_up)
        THEN kept.sign_up ELSE excluded.sign_up END,
    last_seen_at = CASE WHEN excluded.id IN (kept.id, kept.sign_up)
        THEN kept.last_seen_at ELSE excluded.last_seen_at END,
    consent = CASE WHEN excluded.id IN (kept.id, kept.sign_up) OR kept.left_at IS NULL OR kept.is_pending
        THEN coalesce(kept.consent, excluded.consent) ELSE excluded.consent END,
    leave_token = CASE WHEN excluded.id IN (kept.id, kept.sign_up) OR kept.left_at IS NULL OR kept.is_pending
        THEN coalesce(kept.leave_token, excluded.leave_token) ELSE excluded.leave_token END,
    asked = CASE WHEN excluded.id IN (kept.id, kept.sign_up) THEN kept.asked
        WHEN kept.left_at IS NOT NULL AND NOT kept.is_pending THEN excluded.asked
        ELSE kept.asked AND (excluded.asked OR NOT kept.is_pending) END,
    mailed_at = CASE WHEN excluded.id IN (kept.id, kept.sign_up) OR kept.left_at IS NULL OR kept.is_pending
        THEN kept.mailed_at END,
    undeliverable_at = CASE WHEN excluded.id IN (kept.id, kept.sign_up) OR kept.left_at IS NULL OR kept.is_pending
        THEN kept.undeliverable_at END,
    confirmed_at = CASE WHEN excluded.id IN (kept.id, kept.sign_up) OR kept.left_at IS NULL
        THEN kept.confirmed_at END,
    confirmed_ip = CASE WHEN excluded.id IN (kept.id, kept.sign_up) OR kept.left_at IS NULL
        THEN kept.confirmed_ip END,
    left_at = CASE WHEN excluded.id IN (kept.id, kept.sign_up) OR excluded.asked THEN kept.left_at END,
    earlier = CASE WHEN excluded.id IN (kept.id, kept.sign_up)
        THEN kept.earlier ELSE kept.signers END,
    signers = CASE WHEN excluded.id IN (kept.id, kept.sign_up)
        THEN kept.signers
        WHEN cardinality(array_remove(kept.signers, excluded.signers[1])) < 4
        THEN array_remove(kept.signers, excluded.signers[1]) || excluded.signers
        ELSE kept.signers[2:] || excluded.signers END
RETURNING email, id, earlier, leave_token)
, queued AS (INSERT INTO delivery (id, kind, channel, email, body, queued_at, due_at, network)
    SELECT notice.id, notice.kind, notice.channel, kept.email, notice.body, now(),
        now() + (notice.due_at - notice.queued_at), notice.network
    FROM kept JOIN new ON new.token = kept.leave_token
        JOIN json_populate_recordset(NULL::delivery, $3::json) AS notice ON notice.email = new.email
    WHERE notice.channel <> 'mail' OR NOT EXISTS (SELECT FROM tombstone
        WHERE address = ANY(new.tombstones) AND refused_at > now() - interval '30 days')
    ON CONFLICT DO NOTHING)
SELECT email, id, earlier FROM kept