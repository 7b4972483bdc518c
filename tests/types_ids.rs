//! Ids as text and in configuration: shown as people and logs expect them, and a
//! group that is none cannot be named by mistake (rule K32).

use pitlane::types::{AccountId, ClientOrderId, GroupId, RejectScope, Side};
use proptest::prelude::*;
use serde::Deserialize;

#[derive(Debug, PartialEq, Deserialize)]
struct Named {
    account: AccountId,
    group: Option<GroupId>,
}

proptest! {
    /// O3's form: `co_` and 32 digits, from which the number can be read again.
    #[test]
    fn o03_an_order_id_is_shown_in_35_characters(high in any::<u64>(), low in any::<u64>()) {
        let id = ClientOrderId { high, low };
        let text = id.to_string();
        prop_assert_eq!(text.len(), 35);
        let digits = text.strip_prefix("co_").expect("its prefix");
        let number = u128::from_str_radix(digits, 16).expect("hex digits");
        prop_assert_eq!(number, u128::from(high) << 64 | u128::from(low));
        prop_assert_eq!(digits, digits.to_lowercase());
        prop_assert_eq!(format!("{id:?}"), text);
    }

    #[test]
    fn k32_every_number_but_zero_is_a_group(number in any::<u32>()) {
        prop_assert_eq!(GroupId::new(number).map(GroupId::get), Some(number).filter(|n| *n != 0));
    }
}

#[test]
fn k32_zero_is_no_group() {
    assert_eq!(GroupId::new(0), None);
    let with = |group: &str| toml::from_str::<Named>(&format!("account = 0\n{group}"));
    assert!(
        with("group = 0").is_err(),
        "an unset id must not name the default group"
    );
    let none = Named {
        account: AccountId(0),
        group: None,
    };
    assert_eq!(with(""), Ok(none));
    let seven = Named {
        account: AccountId(0),
        group: GroupId::new(7),
    };
    assert_eq!(with("group = 7"), Ok(seven));
    assert!(with("group = -1").is_err());
    assert_eq!(size_of::<Option<GroupId>>(), 4, "none costs nothing");
}

#[test]
fn k26_what_is_sent_as_a_number_keeps_it() {
    assert_eq!(
        (RejectScope::Order as u8, RejectScope::Account as u8),
        (1, 2)
    );
    assert_eq!((Side::Buy as u8, Side::Sell as u8), (1, 2));
    assert_eq!(Side::Buy.opposite(), Side::Sell);
    assert_eq!(Side::Sell.opposite(), Side::Buy);
}
