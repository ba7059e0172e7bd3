-- Of a delivery: the keyed hash of the IPv4 /24 or IPv6 /48 that asked for it.
ALTER TABLE delivery ADD COLUMN network bytea
