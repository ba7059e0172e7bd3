CREATE TABLE landing_meta (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    schema integer NOT NULL,
    secret_id text NOT NULL
);
-- `state` is a contact as in the ledger, and `place` is the order of insertion.
CREATE TABLE contact (
    place bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    state jsonb NOT NULL,
    email text COLLATE "C" PRIMARY KEY GENERATED ALWAYS AS (state ->> 'email') STORED,
    token text COLLATE "C" GENERATED ALWAYS AS (state ->> 'leave') STORED,
    subscribed_ms bigint GENERATED ALWAYS AS ((state -> 'at')::bigint) STORED,
    is_pending boolean GENERATED ALWAYS AS
        (state ? 'confirmation' AND NOT state -> 'confirmation' ? 'confirmed_at') STORED,
    has_left boolean GENERATED ALWAYS AS (state ? 'left_at') STORED
) WITH (fillfactor = 90);
CREATE INDEX contact_token ON contact (token);
-- Unconfirmed contacts, which trimming checks every hour, and unsubscribed ones, for their number. No index reads
-- `state`, so that a change that leaves the columns as they are writes no index (a HOT update).
CREATE INDEX contact_pending ON contact (place) WHERE is_pending;
CREATE INDEX contact_left ON contact (place) WHERE has_left AND NOT is_pending;
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
    place bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    state jsonb NOT NULL,
    fingerprint text COLLATE "C" PRIMARY KEY GENERATED ALWAYS AS (state ->> 'key') STORED
);
CREATE TABLE revocation (
    place bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    state jsonb NOT NULL,
    client_id text COLLATE "C" PRIMARY KEY GENERATED ALWAYS AS (state ->> 'client_id') STORED,
    expires_at timestamptz NOT NULL
);
CREATE TABLE hourly_count (
    hour timestamptz,
    counted text,
    number bigint NOT NULL,
    PRIMARY KEY (hour, counted)
)
