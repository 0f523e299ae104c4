// SPDX-License-Identifier: MIT OR Apache-2.0
//! JSON in which an object that says two things under one key is refused.
//!
//! serde_json takes the last of several; where a key counts what was measured, either could be the
//! wrong one. Options are different: fio itself takes the last where one is given twice.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Objects that list options as they were given.
const OPTIONS: [&str; 2] = ["job options", "global options"];

/// A document without contradictions.
pub(super) struct Document(pub(super) Value);

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        Twice::Refused.deserialize(input).map(Self)
    }
}

/// What becomes of a key that is there twice with different values.
#[derive(Clone, Copy)]
enum Twice {
    Refused,
    LastCounts,
}

impl<'de> DeserializeSeed<'de> for Twice {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<Value, D::Error> {
        input.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Twice {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut input: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = input.next_element_seed(self)? {
            values.push(value);
        }
        Ok(values.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut input: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = input.next_key::<String>()? {
            let is_options = OPTIONS.contains(&key.as_str());
            let value = input.next_value_seed(if is_options { Self::LastCounts } else { self })?;
            // fio 2 pads its percentiles with "0.00" : 0 several times: the same said twice is no
            // contradiction.
            let contradicts = map.get(&key).is_some_and(|earlier| *earlier != value);
            if contradicts && matches!(self, Self::Refused) {
                return Err(A::Error::custom(format_args!(
                    "{key:?} is there twice with different values"
                )));
            }
            map.insert(key, value);
        }
        Ok(map.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Value, String> {
        serde_json::from_str(text).map(|Document(value)| value).map_err(|error| error.to_string())
    }

    #[test]
    fn what_serde_reads_is_read_alike() {
        for text in [
            "null",
            "[1, -2, 3.5, \"a\\u0001\", true, null, [], {}]",
            "{\"a\": {\"b\": [{\"c\": 18446744073709551615}]}}",
        ] {
            assert_eq!(read(text).unwrap(), serde_json::from_str::<Value>(text).unwrap());
        }
    }

    #[test]
    fn contradictions_are_refused_and_repetitions_are_not() {
        let error = read("{\"read\": {\"iops\": 1, \"iops\": 2}}").unwrap_err();
        assert!(error.starts_with("\"iops\" is there twice with different values"), "{error}");
        assert!(read("{\"0.00\": 0, \"0.00\": 0}").is_ok());
        let options = "{\"job options\": {\"bs\": \"4k\", \"bs\": \"8k\"}}";
        assert_eq!(read(options).unwrap()["job options"]["bs"], "8k");
        assert!(read("{\"job options\": {}, \"job options\": {\"a\": \"1\"}}").is_err());
    }
}
