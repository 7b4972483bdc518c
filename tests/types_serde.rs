//! Money in configuration and JSON: the text that it is shown as, a whole number
//! too, never a float (rule K10).

use pitlane::types::{Amount, Price, Quantity};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Money {
    price: Price,
    quantity: Quantity,
    amount: Amount,
}

fn price_in_toml(value: &str) -> Result<Price, String> {
    let text = format!("price = {value}\nquantity = \"1\"\namount = \"1\"\n");
    toml::from_str::<Money>(&text)
        .map(|money| money.price)
        .map_err(|error| error.to_string())
}

proptest! {
    #[test]
    fn k12_what_is_written_is_read_back(p in any::<i64>(), q in any::<i64>(), a in any::<i128>()) {
        let money = Money {
            price: Price::from_raw(p),
            quantity: Quantity::from_raw(q),
            amount: Amount::from_raw(a),
        };
        let toml = toml::to_string(&money).expect("money is text");
        prop_assert_eq!(&toml::from_str::<Money>(&toml).expect("its own text"), &money);
        let json = serde_json::to_string(&money).expect("money is text");
        prop_assert_eq!(&serde_json::from_str::<Money>(&json).expect("its own text"), &money);
    }
}

#[test]
fn k10_text_and_whole_numbers_are_exact_and_floats_are_refused() {
    assert_eq!(
        price_in_toml("\"12.5\""),
        Ok(Price::from_raw(12_500_000_000))
    );
    assert_eq!(price_in_toml("-3"), Ok(Price::from_raw(-3_000_000_000)));
    let float = price_in_toml("12.5").expect_err("a float");
    assert!(
        float.contains("12.5") && float.contains("in quotes"),
        "{float}"
    );
    let long = price_in_toml("\"0.0000000001\"").expect_err("ten decimals");
    assert!(long.contains("byte 11: more than 9 decimals"), "{long}");
    assert!(price_in_toml("9223372037").is_err(), "out of range");
    assert!(price_in_toml("true").is_err());

    let json = r#"{"price": 12.5, "quantity": "1", "amount": "1"}"#;
    assert!(
        serde_json::from_str::<Money>(json).is_err(),
        "a float in JSON"
    );
}
