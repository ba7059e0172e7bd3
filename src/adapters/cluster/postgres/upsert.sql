-- Follows the WITH of `settings`. $1 is the sign-up as JSON, $2 the deliveries for a consent that came with its token.
-- `unforgotten`, which nothing reads, runs after `kept`. Recipients that refused get no email for 30 days.
, new AS (SELECT new.* FROM settings, json_to_record($1::json) AS new (email text, signer bytea, at timestamptz,
    consent text, confirmation jsonb, token bytea, digest bytea, text text, tombstones bytea[]))
, unforgotten AS (DELETE FROM tombstone USING new WHERE address = ANY(new.tombstones)
    AND coalesce(refused_at <= now() - interval '30 days', true))
, texts AS (INSERT INTO consent_text SELECT digest, text FROM new WHERE text IS NOT NULL ON CONFLICT DO NOTHING)
, kept AS (INSERT INTO contact AS kept (email, signers, subscribed_at, last_seen_at, consent, leave_token, confirmation)
SELECT email, ARRAY[signer], at, at, consent, token, confirmation FROM new
-- Consent and token are those of the first sign-up that has some, but of this one for a contact that had unsubscribed.
ON CONFLICT (email) DO UPDATE SET (last_seen_at, consent, leave_token, confirmation, left_at, earlier, signers) = (
    SELECT excluded.last_seen_at,
        CASE WHEN has_left THEN excluded.consent ELSE coalesce(kept.consent, excluded.consent) END,
        CASE WHEN has_left THEN excluded.leave_token ELSE coalesce(kept.leave_token, excluded.leave_token) END,
        CASE WHEN has_left OR kept.is_pending AND excluded.confirmation IS NULL THEN excluded.confirmation
            ELSE kept.confirmation END,
        CASE WHEN excluded.confirmation IS NOT NULL THEN kept.left_at END,
        kept.signers,
        (others || excluded.signers)[greatest(1, cardinality(others) - 2):]
    FROM (SELECT kept.left_at IS NOT NULL AND NOT kept.is_pending, array_remove(kept.signers, excluded.signers[1]))
        AS was (has_left, others))
-- Only a row that was there before has a transaction that locked it.
RETURNING leave_token, xmax = 0 AS is_created, earlier)
, queued AS (INSERT INTO delivery (id, kind, channel, email, body, queued_at, due_at, network)
    SELECT notice.id, notice.kind, notice.channel, new.email, notice.body, now(),
        now() + (notice.due_at - notice.queued_at), notice.network
    FROM kept JOIN new ON new.token = kept.leave_token, json_populate_recordset(NULL::delivery, $2::json) AS notice
    WHERE notice.channel <> 'mail' OR NOT EXISTS (SELECT FROM tombstone
        WHERE address = ANY(new.tombstones) AND refused_at > now() - interval '30 days')
    ON CONFLICT DO NOTHING)
SELECT is_created, earlier FROM kept
