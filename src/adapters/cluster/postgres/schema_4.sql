-- The keyed hash of the IPv4 /24 or IPv6 /48 that caused a delivery.
ALTER TABLE delivery ADD COLUMN network bytea;
-- Unconfirmed contacts, which upkeep checks every hour.
CREATE INDEX contact_pending ON contact (place) WHERE is_pending;
-- Unsubscribed contacts, for their number.
CREATE INDEX contact_left ON contact (place) WHERE left_at IS NOT NULL AND NOT is_pending
