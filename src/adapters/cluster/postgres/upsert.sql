-- Follows the WITH of `settings`. $1 has the sign-ups as rows of JSON, $2 the longest wait for a row, and $3 the
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
-- A row that has seen this very sign-up stays as it is. Otherwise consent and token are those of the first sign-up that
-- has some, but of this one for a contact that had unsubscribed.
ON CONFLICT (email) DO UPDATE SET (sign_up, last_seen_at, consent, leave_token, asked, mailed_at, undeliverable_at,
        confirmed_at, confirmed_ip, left_at, earlier, signers) = (
    SELECT kept.sign_up, kept.last_seen_at, kept.consent, kept.leave_token, kept.asked, kept.mailed_at,
        kept.undeliverable_at, kept.confirmed_at, kept.confirmed_ip, kept.left_at, kept.earlier, kept.signers
    WHERE excluded.id IN (kept.id, kept.sign_up)
    UNION ALL
    SELECT excluded.sign_up, excluded.last_seen_at,
        CASE WHEN has_left THEN excluded.consent ELSE coalesce(kept.consent, excluded.consent) END,
        CASE WHEN has_left THEN excluded.leave_token ELSE coalesce(kept.leave_token, excluded.leave_token) END,
        CASE WHEN has_left THEN excluded.asked ELSE kept.asked AND (excluded.asked OR NOT kept.is_pending) END,
        CASE WHEN NOT has_left THEN kept.mailed_at END,
        CASE WHEN NOT has_left THEN kept.undeliverable_at END,
        CASE WHEN kept.left_at IS NULL THEN kept.confirmed_at END,
        CASE WHEN kept.left_at IS NULL THEN kept.confirmed_ip END,
        CASE WHEN excluded.asked THEN kept.left_at END,
        kept.signers,
        (others || excluded.signers)[greatest(1, cardinality(others) - 2):]
    FROM (SELECT kept.left_at IS NOT NULL AND NOT kept.is_pending, array_remove(kept.signers, excluded.signers[1]))
        AS was (has_left, others)
    WHERE excluded.id NOT IN (kept.id, kept.sign_up))
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
