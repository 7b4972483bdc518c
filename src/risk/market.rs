//! Market data: quotes for everyone, for a group, for an account (rule K34).
//!
//! The narrowest kind of quote that there is decides, never the newest. A
//! quote older than the configured time to live is missing.

use super::table::{Record, Table};
use crate::time::Nanos;
use crate::types::{AccountId, GroupId, Price};

/// A quote; a part that is not known is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quote {
    /// The reference price.
    pub mark: Option<Price>,
    /// The best bid.
    pub bid: Option<Price>,
    /// The best ask.
    pub ask: Option<Price>,
}

/// Whom a quote is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuoteTarget {
    /// Everyone.
    All,
    /// The accounts of a group.
    Group(GroupId),
    /// One account.
    Account(AccountId),
}

#[derive(Clone, Copy)]
struct Timed {
    quote: Quote,
    at: Nanos,
}

struct Scoped {
    /// An account's number, or a group's beyond 2^32; and the instrument.
    key: (u64, u32),
    timed: Timed,
}

impl Record for Scoped {
    type Key = (u64, u32);

    fn key(&self) -> Self::Key {
        self.key
    }
}

pub(crate) struct Market {
    /// By instrument.
    general: Vec<Option<Timed>>,
    scoped: Table<Scoped>,
    ttl_ns: Option<u64>,
}

pub(crate) const fn group_owner(group: u32) -> u64 {
    1 << 32 | group as u64
}

impl Market {
    pub(crate) fn new(instruments: usize, ttl_ms: Option<u64>) -> Self {
        let mut market = Self {
            general: Vec::new(),
            scoped: Table::with_capacity(0),
            ttl_ns: None,
        };
        market.configure(instruments, ttl_ms);
        market
    }

    pub(crate) fn configure(&mut self, instruments: usize, ttl_ms: Option<u64>) {
        self.general.resize(instruments, None);
        self.ttl_ns = ttl_ms.map(|ms| ms.saturating_mul(1_000_000));
    }

    pub(crate) fn set_general(&mut self, instrument: u32, quote: Quote, at: Nanos) {
        if let Some(place) = self.general.get_mut(instrument as usize) {
            *place = Some(Timed { quote, at });
        }
    }

    pub(crate) fn set_scoped(&mut self, owner: u64, instrument: u32, quote: Quote, at: Nanos) {
        let key = (owner, instrument);
        let timed = Timed { quote, at };
        let number = self.scoped.find_or_insert(key, || Scoped { key, timed });
        self.scoped.get_mut(number).timed = timed;
    }

    pub(crate) fn forget(&mut self, owner: u64, instrument: u32) {
        if let Some(number) = self.scoped.find((owner, instrument)) {
            self.scoped.remove(number);
        }
    }

    /// The quote that holds for an account of a group.
    #[inline]
    pub(crate) fn quote(
        &self,
        account: u32,
        group: u32,
        instrument: u32,
        now: Nanos,
    ) -> Option<Quote> {
        let fresh = |timed: &Timed| {
            let good = self.ttl_ns.is_none_or(|ttl| now.since(timed.at) < ttl);
            good.then_some(timed.quote)
        };
        if self.scoped.len() > 0 {
            let scoped = |owner| {
                let number = self.scoped.find((owner, instrument))?;
                fresh(&self.scoped.get(number).timed)
            };
            let found = scoped(u64::from(account))
                .or_else(|| (group != 0).then(|| scoped(group_owner(group)))?);
            if found.is_some() {
                return found;
            }
        }
        self.general
            .get(instrument as usize)?
            .as_ref()
            .and_then(fresh)
    }
}
