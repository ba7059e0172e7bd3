//! Lines and batches at the ledger's bounds.
