//! Reject codes are a promise to whoever stores or sends them: numbers and
//! names never change (rule K26).

use std::collections::HashSet;

use pitlane::types::RejectCode;

/// What has been published. A line is only ever added.
const PINNED: &[(u16, &str)] = &[
    (1, "MissingRequiredField"),
    (2, "InvalidFieldFormat"),
    (3, "InvalidFieldValue"),
    (4, "UnsupportedOrderType"),
    (5, "UnsupportedTimeInForce"),
    (6, "UnsupportedOrderAttribute"),
    (7, "DuplicateClientOrderId"),
    (8, "TooLateToEnter"),
    (9, "ExchangeClosed"),
    (10, "UnknownInstrument"),
    (11, "UnknownAccount"),
    (12, "UnknownVenue"),
    (13, "UnknownClearingAccount"),
    (14, "UnknownCollateralAsset"),
    (15, "InsufficientFunds"),
    (16, "InsufficientMargin"),
    (17, "InsufficientPosition"),
    (18, "CreditLimitExceeded"),
    (19, "RiskLimitExceeded"),
    (20, "OrderExceedsLimit"),
    (21, "OrderQtyExceedsLimit"),
    (22, "OrderNotionalExceedsLimit"),
    (23, "PositionLimitExceeded"),
    (24, "ConcentrationLimitExceeded"),
    (25, "LeverageLimitExceeded"),
    (26, "RateLimitExceeded"),
    (27, "PnlKillSwitchTriggered"),
    (28, "AccountBlocked"),
    (29, "AccountNotAuthorized"),
    (30, "ComplianceRestriction"),
    (31, "InstrumentRestricted"),
    (32, "JurisdictionRestriction"),
    (33, "WashTradePrevention"),
    (34, "SelfMatchPrevention"),
    (35, "ShortSaleRestriction"),
    (36, "RiskConfigurationMissing"),
    (37, "ReferenceDataUnavailable"),
    (38, "OrderValueCalculationFailed"),
    (39, "SystemUnavailable"),
    (40, "MarkPriceUnavailable"),
    (41, "AccountAdjustmentBoundsExceeded"),
    (42, "ArithmeticOverflow"),
    (43, "PriceOutsideCollar"),
    (44, "DuplicateOrder"),
    (45, "OpenOrdersLimitExceeded"),
    (46, "RepeatedExecution"),
    (47, "UnknownOrder"),
    (48, "CapacityExceeded"),
    (49, "KillSwitchArmed"),
    (50, "PolicyFailed"),
    (51, "OrderPending"),
    (52, "JournalFull"),
    (254, "Custom"),
    (255, "Other"),
];

/// The names that openpit 0.11.0 gives to its rejects.
const PEER: &[&str] = &[
    "MissingRequiredField",
    "InvalidFieldFormat",
    "InvalidFieldValue",
    "UnsupportedOrderType",
    "UnsupportedTimeInForce",
    "UnsupportedOrderAttribute",
    "DuplicateClientOrderId",
    "TooLateToEnter",
    "ExchangeClosed",
    "UnknownInstrument",
    "UnknownAccount",
    "UnknownVenue",
    "UnknownClearingAccount",
    "UnknownCollateralAsset",
    "InsufficientFunds",
    "InsufficientMargin",
    "InsufficientPosition",
    "CreditLimitExceeded",
    "RiskLimitExceeded",
    "OrderExceedsLimit",
    "OrderQtyExceedsLimit",
    "OrderNotionalExceedsLimit",
    "PositionLimitExceeded",
    "ConcentrationLimitExceeded",
    "LeverageLimitExceeded",
    "RateLimitExceeded",
    "PnlKillSwitchTriggered",
    "AccountBlocked",
    "AccountNotAuthorized",
    "ComplianceRestriction",
    "InstrumentRestricted",
    "JurisdictionRestriction",
    "WashTradePrevention",
    "SelfMatchPrevention",
    "ShortSaleRestriction",
    "RiskConfigurationMissing",
    "ReferenceDataUnavailable",
    "OrderValueCalculationFailed",
    "SystemUnavailable",
    "MarkPriceUnavailable",
    "AccountAdjustmentBoundsExceeded",
    "ArithmeticOverflow",
    "Custom",
    "Other",
];

#[test]
fn k26_numbers_and_names_are_as_published() {
    let ours: Vec<(u16, &str)> = RejectCode::ALL
        .iter()
        .map(|code| (code.number(), code.name()))
        .collect();
    assert_eq!(
        ours, PINNED,
        "a published code changed, or a new one is not pinned yet"
    );
}

#[test]
fn k26_every_code_of_the_peer_is_there() {
    for name in PEER {
        assert!(RejectCode::from_name(name).is_some(), "{name} is missing");
    }
}

#[test]
fn k26_numbers_and_names_are_unique() {
    let numbers: HashSet<u16> = RejectCode::ALL.iter().map(|code| code.number()).collect();
    let names: HashSet<String> = RejectCode::ALL
        .iter()
        .map(|code| code.name().to_ascii_lowercase())
        .collect();
    assert_eq!(numbers.len(), RejectCode::ALL.len());
    assert_eq!(
        names.len(),
        RejectCode::ALL.len(),
        "two names differ in case only"
    );
}

#[test]
fn k26_every_number_and_name_leads_back_to_its_code() {
    for &code in RejectCode::ALL {
        assert_eq!(RejectCode::from_number(code.number()), Some(code));
        assert_eq!(RejectCode::from_name(code.name()), Some(code));
        assert_eq!(
            RejectCode::from_name(&code.name().to_uppercase()),
            Some(code)
        );
        assert_eq!(code.to_string(), code.name());
    }
}

#[test]
fn k26_every_other_number_and_name_is_none() {
    let known = (0..=u16::MAX)
        .filter(|&number| RejectCode::from_number(number).is_some())
        .count();
    assert_eq!(known, RejectCode::ALL.len());
    for name in ["", "RateLimit", "RateLimitExceeded ", "1"] {
        assert_eq!(RejectCode::from_name(name), None);
    }
}
