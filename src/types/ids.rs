//! Identifiers: plain integers that cannot be mistaken for one another.

use core::fmt;
use core::num::NonZeroU32;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(
            Clone,
            Copy,
            Debug,
            Default,
            PartialEq,
            Eq,
            PartialOrd,
            Ord,
            Hash,
            serde::Serialize,
            serde::Deserialize,
        )]
        #[serde(transparent)]
        #[repr(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

id! {
    /// A trading account, as the broker numbers it. Every value is usable.
    AccountId(u64)
}
id! {
    /// A traded instrument: a base asset priced in a settlement asset.
    InstrumentId(u32)
}
id! {
    /// An asset that an account can hold: a currency, a share, a coin.
    AssetId(u32)
}
id! {
    /// One worker with everything it owns; `0` is the first.
    ShardId(u16)
}
id! {
    /// The client's own number for a message, strictly increasing per
    /// credential and account; chosen by the client.
    ClientReference(u64)
}
id! {
    /// One execution at a venue; unique at that venue.
    FillId(u64)
}

/// A group of accounts that share settings and blocks (rule K32).
///
/// Zero is not a group: an unset id does not compile, and cannot block the
/// default group by mistake. Accounts that were never registered in a group
/// have none.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
#[repr(transparent)]
pub struct GroupId(NonZeroU32);

impl GroupId {
    /// `None` for zero, which is not a group.
    #[must_use]
    pub const fn new(id: u32) -> Option<Self> {
        match NonZeroU32::new(id) {
            Some(id) => Some(Self(id)),
            None => None,
        }
    }

    /// The number of the group, from 1.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0.get()
    }
}

impl fmt::Display for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// An order's identity, minted when the order is admitted and never reused:
/// 128 bits from a cryptographic source (rule O3).
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(C)]
pub struct ClientOrderId {
    /// The upper half, first on the wire.
    pub high: u64,
    /// The lower half.
    pub low: u64,
}

impl ClientOrderId {
    /// Reads what `Display` writes, and nothing else.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("co_")?;
        let lower_hex = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
        if digits.len() != 32 || !digits.bytes().all(lower_hex) {
            return None;
        }
        let (high, low) = digits.split_at(16);
        Some(Self {
            high: u64::from_str_radix(high, 16).ok()?,
            low: u64::from_str_radix(low, 16).ok()?,
        })
    }
}

impl fmt::Display for ClientOrderId {
    /// `co_` and 32 lower-case hex digits, 35 characters in all.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "co_{:016x}{:016x}", self.high, self.low)
    }
}

impl serde::Serialize for ClientOrderId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for ClientOrderId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong = || serde::de::Error::custom("not co_ and 32 lower-case hex digits");
        Self::from_text(&text).ok_or_else(wrong)
    }
}

impl fmt::Debug for ClientOrderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
