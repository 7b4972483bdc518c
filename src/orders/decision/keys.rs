//! Who may sign what: keys by name, each with one role and a time in which it
//! holds (rule O2).
//!
//! What is signed begins with a text that names its purpose, so that a
//! signature made for a decision is none for a report. Several keys hold at
//! once, so that the next one is known before the last one ends.

use core::fmt;
use std::collections::BTreeMap;

use data_encoding::HEXLOWER;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};

use crate::limits;
use crate::time::UnixNanos;

/// What a key signs; a key has one role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Signs decisions.
    Authorizer,
    /// Signs execution reports and releases (rule O39).
    Executor,
}

impl Role {
    /// What every signed text of the role begins with.
    const fn context(self) -> &'static [u8] {
        match self {
            Self::Authorizer => b"pitlane/decision/v1\n",
            Self::Executor => b"pitlane/execution/v1\n",
        }
    }

    fn signed_text(self, canonical: &[u8]) -> Vec<u8> {
        [self.context(), canonical].concat()
    }
}

/// The time in which a key holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Validity {
    /// From when on; from ever without it.
    pub not_before: Option<UnixNanos>,
    /// Up to and with when; for ever without it.
    pub not_after: Option<UnixNanos>,
    /// It holds no more, whatever the times say.
    pub revoked: bool,
}

/// Public keys by their name.
#[derive(Clone, Debug, Default)]
pub struct KeyTable {
    keys: BTreeMap<String, Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    role: Role,
    key: VerifyingKey,
    validity: Validity,
}

/// Why a key cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// A name is 1 to 64 letters, digits, `.`, `_` or `-`.
    #[error("a key_id is 1 to 64 letters, digits, '.', '_' or '-'")]
    Name,
    /// 32 bytes that are no key, or one with which anything verifies.
    #[error("the public key is none: give the 64 hex digits that keygen printed")]
    Key,
    /// The name is there already.
    #[error("the key_id is there already: give every key a name of its own")]
    Twice,
    /// The same key under another name.
    #[error("the key is there under another name: a key has one name and one role")]
    Shared,
    /// As many keys as the table holds.
    #[error("the table holds {max} keys: remove those that have ended", max = limits::SIGNING_KEYS_MAX)]
    Full,
}

/// Why a signature is refused; told to nobody but the log and the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignatureError {
    /// No key of that name, or one of another role.
    #[error("the key_id is not known here for this purpose")]
    UnknownKey,
    /// The key does not hold at this time.
    #[error("the key does not hold now: it is not yet valid, has expired, or was revoked")]
    NotValid,
    /// Not 128 lower-case hex digits.
    #[error("a signature is 128 lower-case hex digits")]
    Form,
    /// It is of another text or by another key.
    #[error("the signature is not of this text by this key")]
    Wrong,
}

impl KeyTable {
    /// Adds a public key, 32 bytes.
    ///
    /// # Errors
    /// The table is as it was.
    pub fn add(
        &mut self,
        key_id: &str,
        role: Role,
        public: &[u8; 32],
        validity: Validity,
    ) -> Result<(), KeyError> {
        if !is_name(key_id) {
            return Err(KeyError::Name);
        }
        let key = VerifyingKey::from_bytes(public).map_err(|_| KeyError::Key)?;
        if key.is_weak() {
            return Err(KeyError::Key);
        }
        if self.keys.contains_key(key_id) {
            return Err(KeyError::Twice);
        }
        if self.keys.values().any(|entry| entry.key == key) {
            return Err(KeyError::Shared);
        }
        if self.keys.len() >= limits::SIGNING_KEYS_MAX {
            return Err(KeyError::Full);
        }
        let entry = Entry {
            role,
            key,
            validity,
        };
        self.keys.insert(key_id.to_owned(), entry);
        Ok(())
    }

    /// Ends a key at once; whether there was one.
    pub fn revoke(&mut self, key_id: &str) -> bool {
        let entry = self.keys.get_mut(key_id);
        entry.map(|entry| entry.validity.revoked = true).is_some()
    }

    /// Whether the named key of the role holds at `now` and has signed the
    /// canonical text.
    ///
    /// # Errors
    /// Why not.
    pub fn verify(
        &self,
        role: Role,
        key_id: &str,
        canonical: &[u8],
        signature_hex: &str,
        now: UnixNanos,
    ) -> Result<(), SignatureError> {
        let entry = self.keys.get(key_id).filter(|entry| entry.role == role);
        let entry = entry.ok_or(SignatureError::UnknownKey)?;
        let Validity {
            not_before,
            not_after,
            revoked,
        } = entry.validity;
        let too_early = not_before.is_some_and(|from| now < from);
        let too_late = not_after.is_some_and(|until| now > until);
        if revoked || too_early || too_late {
            return Err(SignatureError::NotValid);
        }
        let mut bytes = [0; 64];
        match HEXLOWER.decode_len(signature_hex.len()) {
            Ok(64) => HEXLOWER
                .decode_mut(signature_hex.as_bytes(), &mut bytes)
                .map_err(|_| SignatureError::Form)?,
            _ => return Err(SignatureError::Form),
        };
        entry
            .key
            .verify_strict(&role.signed_text(canonical), &Signature::from_bytes(&bytes))
            .map_err(|_| SignatureError::Wrong)
    }
}

/// A private key with its name and role. Zeroed when dropped, and never shown.
pub struct Signer {
    key_id: String,
    role: Role,
    key: SigningKey,
}

impl Signer {
    /// From 32 secret bytes.
    ///
    /// # Errors
    /// The name is none.
    pub fn new(key_id: &str, role: Role, secret: &[u8; 32]) -> Result<Self, KeyError> {
        if !is_name(key_id) {
            return Err(KeyError::Name);
        }
        Ok(Self {
            key_id: key_id.to_owned(),
            role,
            key: SigningKey::from_bytes(secret),
        })
    }

    /// Its name.
    #[must_use]
    pub fn key_id(&self) -> &str {
        &self.key_id
    }

    /// Its role.
    #[must_use]
    pub const fn role(&self) -> Role {
        self.role
    }

    /// The public half.
    #[must_use]
    pub fn public(&self) -> [u8; 32] {
        self.key.verifying_key().to_bytes()
    }

    /// The signature of a canonical text for the key's role, in hex.
    #[must_use]
    pub fn sign(&self, canonical: &[u8]) -> String {
        let signature = self.key.sign(&self.role.signed_text(canonical));
        HEXLOWER.encode(&signature.to_bytes())
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer")
            .field("key_id", &self.key_id)
            .field("role", &self.role)
            .finish_non_exhaustive()
    }
}

/// 1 to 64 characters that need no escape anywhere.
pub(crate) fn is_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=64).contains(&text.len()) && text.bytes().all(plain)
}
