-- Of a contact: when the mail that asks it to confirm was refused for good.
ALTER TABLE contact ADD COLUMN undeliverable_at timestamptz
