//! Requests as clients and proxies write them.
