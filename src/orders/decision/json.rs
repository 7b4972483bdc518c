//! JSON as decisions use it: texts, true, false, null, lists and objects.
//!
//! Numbers are refused, because two readers may read one number differently;
//! so is a member that an object has twice, because they may read different
//! ones. What is read keeps nothing of white space or of the order of members.

use core::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Json>),
    /// Members; no name is there twice.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Reads one value and nothing behind it.
    ///
    /// # Errors
    /// What is wrong, with line and column.
    pub fn read(text: &[u8]) -> Result<Self, JsonError> {
        serde_json::from_slice(text).map_err(|error| JsonError(error.to_string()))
    }

    /// The canonical form of RFC 8785.
    #[must_use]
    pub fn canonical(&self) -> Vec<u8> {
        // A tree of texts has no value that the form cannot write.
        serde_json_canonicalizer::to_vec(self).unwrap_or_default()
    }

    /// A member of an object.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => members
                .iter()
                .find(|(own, _)| own == name)
                .map(|(_, value)| value),
            _ => None,
        }
    }

    /// The text, if it is one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// What kind of value it is, for a person.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }
}

/// Why a text is no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct JsonError(String);

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(values) => values.serialize(serializer),
            Self::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (name, value) in members {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, true, false, null, a list or an object; a number is written as a text")
    }

    fn visit_unit<E: Error>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Text(text.to_owned()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Json, E> {
        Ok(Json::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = items.next_element()? {
            values.push(value);
        }
        Ok(Json::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let mut members: Vec<(String, Json)> = Vec::new();
        // A set beside the list: a body of many members costs no square.
        let mut names = std::collections::HashSet::new();
        while let Some(name) = entries.next_key::<String>()? {
            if !names.insert(name.clone()) {
                return Err(A::Error::custom(format_args!(
                    "the member {name:?} is there twice"
                )));
            }
            let value = entries.next_value()?;
            members.push((name, value));
        }
        Ok(Json::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> String {
        String::from_utf8(Json::read(text.as_bytes()).unwrap().canonical()).unwrap()
    }

    #[test]
    fn o02_the_canonical_form_is_that_of_rfc_8785() {
        // Section 3.2.3: names in the order of their UTF-16 units.
        let names = concat!(
            r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter","#,
            r#""1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","#,
            r#""\u00f6":"Latin Small Letter O With Diaeresis"}"#
        );
        let sorted = concat!(
            r#"{"\r":"Carriage Return","1":"One","#,
            "\"\u{80}\":\"Control\",\"\u{f6}\":\"Latin Small Letter O With Diaeresis\",",
            "\"\u{20ac}\":\"Euro Sign\",\"\u{1f600}\":\"Emoji: Grinning Face\",",
            "\"\u{fb33}\":\"Hebrew Letter\"}"
        );
        assert_eq!(canonical(names), sorted);
        // Section 3.2.2: the texts and literals of its example.
        let texts = concat!(
            r#"{ "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "#,
            r#""literals": [null, true, false] }"#
        );
        let least = "{\"literals\":[null,true,false],\"string\":\"\u{20ac}$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}";
        assert_eq!(canonical(texts), least);
    }

    #[test]
    fn o05_numbers_repeated_members_and_trailing_text_are_no_json_here() {
        for bad in [
            "",
            "{",
            "1",
            r#"{"a":1}"#,
            r#"{"a":-0.5e1}"#,
            r#"{"a":[{"b":2}]}"#,
            r#"{"a":"1","a":"1"}"#,
            r#"{"x":{"a":null,"\u0061":null}}"#,
            r#"{} {}"#,
            r#"{"a":"\ud800"}"#,
            "\"\u{1}\"",
            "{\"a\":\"1\",}",
        ] {
            assert!(Json::read(bad.as_bytes()).is_err(), "{bad}");
        }
        assert!(Json::read(b"\"\xff\"").is_err(), "not UTF-8");
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert!(
            Json::read(deep.as_bytes()).is_err(),
            "too deep, and no overflow"
        );
    }
}
