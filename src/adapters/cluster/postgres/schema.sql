CREATE TABLE landing_meta (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    schema integer NOT NULL,
    secret_id text NOT NULL
);
-- `place` is the order of insertion. `signers` are the last clients, each the hash of its network, followed by that of
-- its credential if it had one; `earlier` are those before the last sign-up. `consent` and
-- `confirmation` are as in the ledger.
CREATE TABLE contact (
    email text COLLATE "C" PRIMARY KEY,
    place bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    signers bytea[] NOT NULL,
    earlier bytea[] NOT NULL DEFAULT '{}',
    subscribed_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,
    consent text,
    left_at timestamptz,
    leave_token bytea,
    confirmation jsonb,
    is_pending boolean NOT NULL
        GENERATED ALWAYS AS (confirmation IS NOT NULL AND NOT confirmation ? 'confirmed_at') STORED
) WITH (fillfactor = 90);
CREATE INDEX contact_leave_token ON contact (leave_token);
-- Unconfirmed contacts, which trimming checks every hour, and unsubscribed ones, for their number.
CREATE INDEX contact_pending ON contact (place) WHERE is_pending;
CREATE INDEX contact_left ON contact (place) WHERE left_at IS NOT NULL AND NOT is_pending;
-- Consent texts, each stored once.
CREATE TABLE consent_text (
    digest bytea PRIMARY KEY,
    text text NOT NULL
);
CREATE TABLE tombstone (
    address bytea PRIMARY KEY,
    refused_at timestamptz
);
-- The delivery queue. Nobody else takes a leased delivery, by the clock of the database. `network` is the keyed hash
-- of the IPv4 /24 or IPv6 /48 that caused it.
CREATE TABLE delivery (
    id bytea PRIMARY KEY,
    place bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    kind text NOT NULL,
    channel text NOT NULL,
    email text COLLATE "C",
    body text NOT NULL,
    network bytea,
    queued_at timestamptz NOT NULL,
    due_at timestamptz NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    last_error text,
    dead_at timestamptz,
    leased_until timestamptz
);
CREATE INDEX delivery_due ON delivery (channel, due_at) WHERE dead_at IS NULL;
CREATE INDEX delivery_email ON delivery (email);
CREATE TABLE held_channel (
    channel text PRIMARY KEY
);
CREATE TABLE api_key (
    fingerprint bytea PRIMARY KEY,
    place bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    key_id text NOT NULL,
    label text,
    issued_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz
);
CREATE TABLE revocation (
    fingerprint bytea PRIMARY KEY,
    place bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    client_id text NOT NULL,
    revoked_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE TABLE hourly_count (
    hour timestamptz,
    counted text,
    number bigint NOT NULL,
    PRIMARY KEY (hour, counted)
)
