//! Where client order ids come from (rule O3).
//!
//! An id is 128 bits from a cryptographic generator, minted at admission. The
//! generator runs in the shard, so that no order waits for the operating
//! system; that is asked once, for the seed.

use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::types::ClientOrderId;

/// A source of identities.
pub trait IdentitySource {
    /// A new identity, never given before.
    fn mint(&mut self) -> ClientOrderId;
}

/// Identities from ChaCha12 (2^-64 chance of one collision among 2^32 ids).
pub struct RandomIdentity {
    generator: ChaCha12Rng,
}

/// The operating system has no randomness to give.
#[derive(Debug, thiserror::Error)]
#[error(
    "the operating system gave no random seed for order ids: {0}; \
     an id that can be guessed is worse than none"
)]
pub struct NoEntropy(getrandom::Error);

impl RandomIdentity {
    /// Seeded by the operating system.
    ///
    /// # Errors
    /// Where it has no randomness to give.
    pub fn from_system() -> Result<Self, NoEntropy> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(NoEntropy)?;
        Ok(Self {
            generator: ChaCha12Rng::from_seed(seed),
        })
    }

    /// The same ids for the same seed: for simulations, which replay.
    #[must_use]
    pub fn from_seed(seed: u64) -> Self {
        Self {
            generator: ChaCha12Rng::seed_from_u64(seed),
        }
    }
}

impl IdentitySource for RandomIdentity {
    fn mint(&mut self) -> ClientOrderId {
        loop {
            let id = ClientOrderId {
                high: self.generator.next_u64(),
                low: self.generator.next_u64(),
            };
            // Zero means "no id" in reports.
            if id != ClientOrderId::default() {
                return id;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn o03_ids_are_35_characters_and_never_repeat() {
        let mut source = RandomIdentity::from_system().unwrap();
        let ids: HashSet<String> = (0..100_000).map(|_| source.mint().to_string()).collect();
        assert_eq!(ids.len(), 100_000);
        for id in ids.iter().take(100) {
            assert_eq!(id.len(), 35);
            let digits = id.strip_prefix("co_").unwrap();
            assert!(
                digits
                    .bytes()
                    .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)),
                "{id}"
            );
        }
    }

    #[test]
    fn o03_a_seeded_source_replays_and_seeds_differ() {
        let mint = |seed| {
            let mut source = RandomIdentity::from_seed(seed);
            [source.mint(), source.mint()]
        };
        assert_eq!(mint(7), mint(7));
        assert_ne!(mint(7), mint(8));
    }
}
