-- A contact's consent in JSON, its unsubscribe token, and its confirmation. Consent texts are stored once.
ALTER TABLE contact
    ADD COLUMN consent text,
    ADD COLUMN left_at timestamptz,
    ADD COLUMN leave_token bytea,
    ADD COLUMN asked boolean NOT NULL DEFAULT false,
    ADD COLUMN mailed_at timestamptz,
    ADD COLUMN confirmed_at timestamptz,
    ADD COLUMN confirmed_ip text,
    ADD COLUMN is_pending boolean GENERATED ALWAYS AS (asked AND confirmed_at IS NULL) STORED;
ALTER TABLE tombstone ADD COLUMN refused_at timestamptz;
CREATE INDEX contact_leave_token ON contact (leave_token);
CREATE TABLE consent_text (
    digest bytea PRIMARY KEY,
    text text NOT NULL
);
-- The delivery queue. Nobody else takes a leased delivery, by the clock of the database.
CREATE TABLE delivery (
    id bytea PRIMARY KEY,
    place bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    kind text NOT NULL,
    channel text NOT NULL,
    email text COLLATE "C",
    body text NOT NULL,
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
)
