//! The risk engine: what an order must pass before it is admitted.
