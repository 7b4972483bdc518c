//! Why an order is refused: codes with stable numbers and stable text names.

use core::fmt;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $number:literal,)*) => {
        /// Why an order was refused (rule K26).
        ///
        /// Numbers and names never change their meaning and are never reused;
        /// new ones are added at the end of their block.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        #[non_exhaustive]
        pub enum RejectCode {
            $($(#[$doc])* $name = $number,)*
        }

        impl RejectCode {
            /// Every code, by number.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The stable text name, as written in the enum.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }

            /// The code of a stable number.
            #[must_use]
            pub const fn from_number(number: u16) -> Option<Self> {
                match number {
                    $($number => Some(Self::$name),)*
                    _ => None,
                }
            }
        }
    };
}

codes! {
    /// A field that the order needs is absent.
    MissingRequiredField = 1,
    /// A field cannot be read.
    InvalidFieldFormat = 2,
    /// A field has a value outside of its domain.
    InvalidFieldValue = 3,
    /// The order type is not supported.
    UnsupportedOrderType = 4,
    /// The time in force is not supported.
    UnsupportedTimeInForce = 5,
    /// An attribute of the order is not supported.
    UnsupportedOrderAttribute = 6,
    /// The client reference or client order id is already in use.
    DuplicateClientOrderId = 7,
    /// Outside of the window in which orders are taken.
    TooLateToEnter = 8,
    /// The venue's session is closed.
    ExchangeClosed = 9,
    /// The instrument is not known.
    UnknownInstrument = 10,
    /// The account is not known.
    UnknownAccount = 11,
    /// The venue is not known.
    UnknownVenue = 12,
    /// The clearing account is not known.
    UnknownClearingAccount = 13,
    /// The collateral asset is not known.
    UnknownCollateralAsset = 14,
    /// Not enough of the asset is available.
    InsufficientFunds = 15,
    /// Not enough margin.
    InsufficientMargin = 16,
    /// Not enough of the position to deliver.
    InsufficientPosition = 17,
    /// The credit limit would be exceeded.
    CreditLimitExceeded = 18,
    /// A risk limit without a code of its own would be exceeded.
    RiskLimitExceeded = 19,
    /// More than one size limit is exceeded.
    OrderExceedsLimit = 20,
    /// The quantity limit is exceeded.
    OrderQtyExceedsLimit = 21,
    /// The notional limit is exceeded.
    OrderNotionalExceedsLimit = 22,
    /// The position limit would be exceeded.
    PositionLimitExceeded = 23,
    /// The concentration limit would be exceeded.
    ConcentrationLimitExceeded = 24,
    /// The leverage limit would be exceeded.
    LeverageLimitExceeded = 25,
    /// Too many orders, or messages, in the window.
    RateLimitExceeded = 26,
    /// The realized profit or loss is out of its bounds.
    PnlKillSwitchTriggered = 27,
    /// The account, its group, or everything is blocked.
    AccountBlocked = 28,
    /// The credential or the account may not do this.
    AccountNotAuthorized = 29,
    /// A compliance rule forbids it.
    ComplianceRestriction = 30,
    /// The instrument is on a restricted list.
    InstrumentRestricted = 31,
    /// A jurisdiction forbids it.
    JurisdictionRestriction = 32,
    /// Wash-trade prevention.
    WashTradePrevention = 33,
    /// It would trade with an own working order.
    SelfMatchPrevention = 34,
    /// Short sales are restricted.
    ShortSaleRestriction = 35,
    /// A limit that must be configured is not.
    RiskConfigurationMissing = 36,
    /// Reference data is not there.
    ReferenceDataUnavailable = 37,
    /// The order's value cannot be calculated.
    OrderValueCalculationFailed = 38,
    /// The system cannot take it now.
    SystemUnavailable = 39,
    /// No usable mark price.
    MarkPriceUnavailable = 40,
    /// An account adjustment would leave its bounds.
    AccountAdjustmentBoundsExceeded = 41,
    /// A balance would leave its range.
    ArithmeticOverflow = 42,
    /// Outside of the price collar.
    PriceOutsideCollar = 43,
    /// The same order again, within the window.
    DuplicateOrder = 44,
    /// The account has as many open orders as it may.
    OpenOrdersLimitExceeded = 45,
    /// Too many executions in the window.
    RepeatedExecution = 46,
    /// No order of that reference is working.
    UnknownOrder = 47,
    /// A queue or a table is full; try again.
    CapacityExceeded = 48,
    /// A policy's finalizer failed; entry is stopped until a person looks.
    KillSwitchArmed = 49,
    /// A policy panicked while it judged the order.
    PolicyFailed = 50,
    /// A replace or cancel of the order is still on its way; try again.
    OrderPending = 51,
    /// The journal's disk is full: cancels are taken, orders and replaces not.
    JournalFull = 52,
    /// A custom policy's own reason.
    Custom = 254,
    /// No more specific code fits.
    Other = 255,
}

impl RejectCode {
    /// The code of a stable name, without regard to case.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|code| code.name().eq_ignore_ascii_case(name))
    }

    /// The stable number.
    #[must_use]
    pub const fn number(self) -> u16 {
        self as u16
    }
}

impl fmt::Display for RejectCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What a reject refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum RejectScope {
    /// This order alone.
    Order = 1,
    /// The account: it is blocked from now on.
    Account = 2,
}
