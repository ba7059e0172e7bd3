-- `place` is the order of insertion. `id` is the sign-up that created the contact, `sign_up` the last one,
-- `signers` are the clients after it and `earlier` those before it. A signer is the hash of its network,
-- followed by that of its credential if it had one.
CREATE TABLE landing_meta (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    schema integer NOT NULL,
    secret_id text NOT NULL
);
CREATE TABLE contact (
    email text COLLATE "C" PRIMARY KEY,
    place bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    id uuid NOT NULL,
    sign_up uuid NOT NULL,
    signers bytea[] NOT NULL,
    earlier bytea[] NOT NULL,
    subscribed_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL
) WITH (fillfactor = 90);
CREATE TABLE tombstone (
    address bytea PRIMARY KEY
);
CREATE TABLE api_key (
    fingerprint bytea PRIMARY KEY,
    place bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    key_id text NOT NULL,
    label text,
    issued_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz,
    revoked_by uuid
);
CREATE TABLE revocation (
    fingerprint bytea PRIMARY KEY,
    place bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    id uuid NOT NULL,
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
