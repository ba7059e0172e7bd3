//! Outages and faults of accounts, and who waits for whom.
