//! All credentials of a gateway, and the state that outlives a connection: the
//! last reference that each used per account (rule G9).
//!
//! A session borrows its credential's state at logon and gives it back at its
//! end, so that no lock is taken for an order and one credential has one
//! session at a time.

use std::sync::{Arc, Mutex, PoisonError};

use ed25519_dalek::{SigningKey, VerifyingKey};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use pitlane::types::{AccountId, ClientReference};

use super::{Credential, CredentialId, Permissions};

/// The last reference per account; the keys are the accounts that may be used.
pub(super) type References = HashMap<AccountId, ClientReference, RandomState>;

/// Why a list of credentials is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialError {
    /// Two have the same number.
    #[error("credential {id} is there twice; give each its own id")]
    Duplicate {
        /// Which.
        id: CredentialId,
    },
    /// The key is no point of the curve, or one of its weak ones.
    #[error("credential {id}: the public key is not a usable Ed25519 key; generate a new pair")]
    Key {
        /// Which.
        id: CredentialId,
    },
    /// No account: it could do nothing.
    #[error("credential {id} has no account; list at least one")]
    NoAccount {
        /// Which.
        id: CredentialId,
    },
    /// It could send nothing.
    #[error("credential {id}: max_in_flight is 0; it must be at least 1")]
    NoFlight {
        /// Which.
        id: CredentialId,
    },
    /// The system has no random bytes to give.
    #[error("the operating system gave no random bytes: {0}")]
    Random(getrandom::Error),
}

/// Every credential of a gateway; shared by its I/O threads.
#[derive(Debug)]
pub struct Credentials {
    entries: HashMap<u64, Arc<Entry>, RandomState>,
    /// Judges the signature of who names an unknown id, so that the answer
    /// takes as long (rule G7).
    decoy: VerifyingKey,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) id: CredentialId,
    pub(super) key: VerifyingKey,
    pub(super) permissions: Permissions,
    pub(super) max_in_flight: u32,
    /// `None` while a session has them.
    references: Mutex<Option<Box<References>>>,
}

/// A credential in the hands of its session; given back when dropped.
#[derive(Debug)]
pub(super) struct Lease {
    pub(super) entry: Arc<Entry>,
    /// `None` only while it is dropped.
    references: Option<Box<References>>,
}

impl Credentials {
    /// Takes a list, as configured.
    ///
    /// # Errors
    /// The first credential that cannot be used, and why.
    pub fn new(list: &[Credential]) -> Result<Self, CredentialError> {
        let mut entries = HashMap::with_capacity_and_hasher(list.len(), RandomState::default());
        for credential in list {
            let entry = Entry::new(credential)?;
            if entries
                .insert(u64::from(credential.id.0), Arc::new(entry))
                .is_some()
            {
                return Err(CredentialError::Duplicate { id: credential.id });
            }
        }
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(CredentialError::Random)?;
        Ok(Self {
            entries,
            decoy: SigningKey::from_bytes(&seed).verifying_key(),
        })
    }

    /// The entry of an id, and the key to judge its signature with in any case.
    pub(super) fn find(&self, id: u64) -> (Option<&Arc<Entry>>, &VerifyingKey) {
        match self.entries.get(&id) {
            Some(entry) => (Some(entry), &entry.key),
            None => (None, &self.decoy),
        }
    }
}

impl Entry {
    fn new(credential: &Credential) -> Result<Self, CredentialError> {
        let id = credential.id;
        let key = VerifyingKey::from_bytes(&credential.public_key)
            .map_err(|_| CredentialError::Key { id })?;
        if key.is_weak() {
            return Err(CredentialError::Key { id });
        }
        if credential.accounts.is_empty() {
            return Err(CredentialError::NoAccount { id });
        }
        if credential.max_in_flight == 0 {
            return Err(CredentialError::NoFlight { id });
        }
        let references = credential
            .accounts
            .iter()
            .map(|&account| (account, ClientReference(0)))
            .collect();
        Ok(Self {
            id,
            key,
            permissions: credential.permissions,
            max_in_flight: credential.max_in_flight,
            references: Mutex::new(Some(Box::new(references))),
        })
    }
}

impl Lease {
    /// Takes the credential; `None` while another session has it.
    pub(super) fn take(entry: &Arc<Entry>) -> Option<Self> {
        let references = entry
            .references
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()?;
        Some(Self {
            entry: Arc::clone(entry),
            references: Some(references),
        })
    }

    /// Whether the account is one of the credential's.
    pub(super) fn has(&self, account: AccountId) -> bool {
        let references = self.references.as_ref();
        references.is_some_and(|references| references.contains_key(&account))
    }

    /// The last reference used for an account; `None` where the credential may
    /// not use it, whether it exists or not.
    #[inline]
    pub(super) fn last(&mut self, account: AccountId) -> Option<&mut ClientReference> {
        self.references.as_mut()?.get_mut(&account)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        *self
            .entry
            .references
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = self.references.take();
    }
}
