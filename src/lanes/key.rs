//! Routing keys: what an operation belongs to, and which shard that means.

use crate::types::{AccountId, GroupId, ShardId};

/// 2^64 divided by the golden ratio: multiplying by it spreads sequential ids.
const FIBONACCI: u64 = 0x9E37_79B9_7F4A_7C15;

/// What a lane orders: operations with equal keys run one after another, in
/// submission order (rules L4 and L6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LaneKey {
    /// One account.
    Account(AccountId),
    /// A group of accounts. An unset group id does not compile.
    Group(GroupId),
    /// The whole engine.
    Engine,
}

impl LaneKey {
    /// The shard of this key among `shards`: one multiply-shift, no division.
    ///
    /// An account's shard is the high bits of `id × 0x9E3779B97F4A7C15`, the
    /// same on every host and in every run. The kind is mixed in independently,
    /// so group 7 does not follow account 7.
    ///
    /// # Panics
    /// If `shards` is zero.
    #[must_use]
    #[inline]
    pub fn shard(self, shards: u16) -> ShardId {
        assert!(shards > 0, "an engine has at least one shard");
        let (id, kind) = match self {
            Self::Account(account) => (account.0, 0),
            Self::Group(group) => (u64::from(group.get()), 0xD6E8_FEB8_6659_FD93),
            Self::Engine => (0, 0xA5A3_5625_0A3D_5B1B),
        };
        let hash = (id ^ kind).wrapping_mul(FIBONACCI);
        let scaled = (u128::from(hash) * u128::from(shards)) >> 64;
        // Below `shards`, because hash is below 2^64.
        ShardId(u16::try_from(scaled).unwrap_or(shards - 1))
    }
}

impl From<AccountId> for LaneKey {
    fn from(account: AccountId) -> Self {
        Self::Account(account)
    }
}

impl From<GroupId> for LaneKey {
    fn from(group: GroupId) -> Self {
        Self::Group(group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l04_a_key_keeps_its_shard_and_kinds_mix_independently() {
        let shards = 7;
        let mut same = 0;
        for id in 1..=1_000u32 {
            let account = LaneKey::from(AccountId(u64::from(id))).shard(shards);
            assert!(account.0 < shards);
            assert_eq!(
                account,
                LaneKey::Account(AccountId(u64::from(id))).shard(shards)
            );
            let group = GroupId::new(id).map(|group| LaneKey::from(group).shard(shards));
            same += usize::from(group == Some(account));
        }
        assert!(
            (50..400).contains(&same),
            "{same} of 1,000 groups share the shard of the account of their number"
        );
        assert_eq!(GroupId::new(0), None, "an unset group id has no key");
    }

    #[test]
    fn l02_sequential_accounts_spread_evenly() {
        let mut counts = [0u32; 8];
        for id in 0..8_000 {
            counts[usize::from(LaneKey::Account(AccountId(id)).shard(8).0)] += 1;
        }
        assert!(
            counts.iter().all(|&count| (900..1_100).contains(&count)),
            "{counts:?}"
        );
    }
}
