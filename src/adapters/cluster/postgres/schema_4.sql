-- Of a delivery: the keyed hash of the IPv4 /24 or IPv6 /48 that asked for it.
ALTER TABLE delivery ADD COLUMN network bytea;
-- The contacts that are to be confirmed, which upkeep looks through every hour.
CREATE INDEX contact_pending ON contact (place) WHERE is_pending;
-- Those who unsubscribed, for their number.
CREATE INDEX contact_left ON contact (place) WHERE left_at IS NOT NULL AND NOT is_pending
