//! The machine: which CPUs there are, and pinning to them.
