-- The time when a contact's confirmation email was refused for good.
ALTER TABLE contact ADD COLUMN undeliverable_at timestamptz
