//! A client's secret key, which is never shown.

use core::fmt;

use ed25519_dalek::{Signer, SigningKey};

/// An Ed25519 key pair; the secret half is wiped when it is dropped, and is in
/// no debug output.
#[derive(Clone)]
pub struct ClientKey(SigningKey);

impl ClientKey {
    /// From its 32-byte seed.
    #[must_use]
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(seed))
    }

    /// The public half, for the gateway's configuration.
    #[must_use]
    pub fn public(&self) -> [u8; 32] {
        self.0.verifying_key().to_bytes()
    }

    /// Signs; for a client that makes its own `Negotiate`.
    #[must_use]
    pub fn sign(&self, bytes: &[u8]) -> [u8; 64] {
        self.0.sign(bytes).to_bytes()
    }
}

impl fmt::Debug for ClientKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientKey(secret)")
    }
}
