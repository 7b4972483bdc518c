//! A client's secret key, which is never shown.

use core::fmt;

use ed25519_dalek::pkcs8::{self, DecodePrivateKey};
use ed25519_dalek::{Signer, SigningKey};

/// A text is no private key.
#[derive(Clone, Debug, thiserror::Error)]
#[error("not an Ed25519 private key in PKCS#8 PEM ({0}); make one with: pitlane keygen --out FILE")]
pub struct KeyError(pkcs8::Error);

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

    /// From PKCS#8 PEM, as `pitlane keygen` writes it.
    ///
    /// # Errors
    /// The text is no Ed25519 private key in PKCS#8 PEM.
    pub fn from_pem(pem: &str) -> Result<Self, KeyError> {
        SigningKey::from_pkcs8_pem(pem).map(Self).map_err(KeyError)
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
