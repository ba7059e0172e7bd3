-- Goes on with the WITH of `settings!`. $1 to $4 are the rows, $5 how long to wait for a row, $6 the tombstones,
-- $7 and $8 consents and tokens of the rows, $9 and $10 the texts that these consents name. $11 to $15 are what is
-- to be delivered where the consent is the one that came with the token, by token, $16 the addresses of the
-- tombstones, $18 how long it waits, and $19 its network. `unforgotten`, which nothing reads, runs after `kept`. $17 says whether
-- new consents are to be confirmed. Who has refused mail gets none for 30 days.
, refused AS (SELECT hashed.email FROM tombstone JOIN unnest($6, $16) AS hashed (address, email) USING (address)
    WHERE refused_at > now() - interval '30 days')
, unforgotten AS (DELETE FROM tombstone WHERE address = ANY($6)
    AND coalesce(refused_at <= now() - interval '30 days', true))
, texts AS (INSERT INTO consent_text SELECT DISTINCT new.digest, new.text
    FROM settings, unnest($9, $10) AS new (digest, text) ON CONFLICT DO NOTHING)
, kept AS (INSERT INTO contact AS kept
    (email, id, sign_up, signers, earlier, subscribed_at, last_seen_at, consent, leave_token, asked)
SELECT new.email, new.id, new.id, ARRAY[new.signer], '{}', new.at, new.at, new.consent, new.token, $17
FROM settings, unnest($1, $2, $3, $4, $7, $8) AS new (email, id, signer, at, consent, token)
ORDER BY new.email COLLATE "C"
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
        WHEN kept.left_at IS NOT NULL AND NOT kept.is_pending THEN $17
        ELSE kept.asked AND ($17 OR NOT kept.is_pending) END,
    mailed_at = CASE WHEN excluded.id IN (kept.id, kept.sign_up) OR kept.left_at IS NULL OR kept.is_pending
        THEN kept.mailed_at END,
    undeliverable_at = CASE WHEN excluded.id IN (kept.id, kept.sign_up) OR kept.left_at IS NULL OR kept.is_pending
        THEN kept.undeliverable_at END,
    confirmed_at = CASE WHEN excluded.id IN (kept.id, kept.sign_up) OR kept.left_at IS NULL
        THEN kept.confirmed_at END,
    confirmed_ip = CASE WHEN excluded.id IN (kept.id, kept.sign_up) OR kept.left_at IS NULL
        THEN kept.confirmed_ip END,
    left_at = CASE WHEN excluded.id IN (kept.id, kept.sign_up) OR $17 THEN kept.left_at END,
    earlier = CASE WHEN excluded.id IN (kept.id, kept.sign_up)
        THEN kept.earlier ELSE kept.signers END,
    signers = CASE WHEN excluded.id IN (kept.id, kept.sign_up)
        THEN kept.signers
        WHEN cardinality(array_remove(kept.signers, excluded.signers[1])) < 4
        THEN array_remove(kept.signers, excluded.signers[1]) || excluded.signers
        ELSE kept.signers[2:] || excluded.signers END
RETURNING email, id, earlier, leave_token)
, queued AS (INSERT INTO delivery (id, kind, channel, email, body, queued_at, due_at, network)
    SELECT new.id, new.kind, new.channel, kept.email, new.body, now(), now() + new.wait_ms * interval '1 ms', new.network
    FROM kept JOIN unnest($11, $12, $13, $14, $15, $18, $19) AS new (token, id, kind, channel, body, wait_ms, network)
        ON new.token = kept.leave_token
    WHERE new.channel <> 'mail' OR NOT EXISTS (SELECT FROM refused WHERE refused.email = kept.email)
    ON CONFLICT DO NOTHING)
SELECT email, id, earlier FROM kept