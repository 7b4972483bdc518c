//! Who is asking: bearer tokens, of which only the hashes are known here.

use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use pitlane::types::AccountId;
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConditionallySelectable as _, ConstantTimeEq as _};

use crate::config::{AccountAccess, Config};

/// An agent: the name that decisions carry, and its accounts.
#[derive(Clone, Debug)]
pub struct AgentAccess {
    /// Its name.
    pub id: Arc<str>,
    accounts: Arc<[AccountId]>,
}

impl AgentAccess {
    /// Whether the account is one of its own.
    #[must_use]
    pub fn may_use(&self, account: AccountId) -> bool {
        self.accounts.binary_search(&account).is_ok()
    }
}

/// Who a token is of.
#[derive(Clone, Debug)]
pub enum Caller {
    /// An agent.
    Agent(AgentAccess),
    /// An admin, by name.
    Admin(Arc<str>),
    /// An executor in another process, by name.
    Peer(Arc<str>),
}

/// Every token's hash and whose it is.
pub struct Access {
    callers: Vec<([u8; 32], Caller)>,
}

impl Access {
    /// From the configuration's agents and admins.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let all: Arc<[AccountId]> = config.account_ids().collect();
        let agents = config.agents.iter().map(|entry| {
            let accounts = match &entry.accounts {
                AccountAccess::All => Arc::clone(&all),
                AccountAccess::List(list) => list.as_slice().into(),
            };
            let id = entry.id.as_str().into();
            let agent = AgentAccess { id, accounts };
            (entry.token_sha256, Caller::Agent(agent))
        });
        let admins = config.admins.iter();
        let admins =
            admins.map(|entry| (entry.token_sha256, Caller::Admin(entry.id.as_str().into())));
        let peers = config.peers.iter();
        let peers = peers.map(|entry| (entry.token_sha256, Caller::Peer(entry.id.as_str().into())));
        Self {
            callers: agents.chain(admins).chain(peers).collect(),
        }
    }

    /// Whose request it is. It takes the same time for every token: all hashes are
    /// compared, each in full.
    pub(super) fn caller(&self, headers: &HeaderMap) -> Option<&Caller> {
        let text = headers.get(AUTHORIZATION)?.as_bytes();
        let (scheme, token) = text.split_at_checked(7)?;
        if !scheme.eq_ignore_ascii_case(b"bearer ") {
            return None;
        }
        let hash: [u8; 32] = Sha256::digest(token).into();
        let mut found = u32::MAX;
        for (place, (own, _)) in (0u32..).zip(&self.callers) {
            let is_it: Choice = own.ct_eq(&hash);
            found.conditional_assign(&place, is_it);
        }
        let place = usize::try_from(found).ok()?;
        self.callers.get(place).map(|(_, caller)| caller)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access() -> Access {
        let hash = |token: &str| Sha256::digest(token.as_bytes()).into();
        let agent = AgentAccess {
            id: "desk".into(),
            accounts: [AccountId(1), AccountId(3)].into(),
        };
        let callers = vec![
            (hash("one"), Caller::Agent(agent)),
            (hash("two"), Caller::Admin("ops".into())),
        ];
        Access { callers }
    }

    fn caller(value: &'static str) -> Option<Caller> {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, value.parse().unwrap());
        access().caller(&headers).cloned()
    }

    #[test]
    fn o31_a_token_is_its_own_callers_and_nobody_elses() {
        let Some(Caller::Agent(agent)) = caller("Bearer one") else {
            panic!("the agent")
        };
        assert_eq!(&*agent.id, "desk");
        assert!(agent.may_use(AccountId(1)) && agent.may_use(AccountId(3)));
        assert!(!agent.may_use(AccountId(2)));
        let admin = caller("bearer two");
        assert!(matches!(admin, Some(Caller::Admin(name)) if &*name == "ops"));
        for none in [
            "Bearer",
            "Bearer ",
            "Bearer on",
            "Bearer one ",
            "Basic one",
            "one",
        ] {
            assert!(caller(none).is_none(), "{none:?}");
        }
        assert!(access().caller(&HeaderMap::new()).is_none());
    }
}
