//! Latency recorders and what comes out of them.
