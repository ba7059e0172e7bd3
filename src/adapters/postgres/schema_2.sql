-- What is known of a contact's consent, in JSON, and by what it leaves. The texts that consents name stand here once.
ALTER TABLE contact
    ADD COLUMN consent text,
    ADD COLUMN left_at timestamptz,
    ADD COLUMN leave_token bytea;
CREATE INDEX contact_leave_token ON contact (leave_token);
CREATE TABLE consent_text (
    digest bytea PRIMARY KEY,
    text text NOT NULL
)
