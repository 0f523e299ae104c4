// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fields of a JSON object, with their path in what is said of wrong ones.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::error::Refused;
use super::job_file::canonical;

/// An object and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Object<'a> {
    map: &'a Map<String, Value>,
    path: String,
}

impl<'a> Object<'a> {
    /// The document itself.
    pub(super) fn top(value: &'a Value) -> Result<Self, Refused> {
        Self::of(value, String::new())
    }

    fn of(value: &'a Value, path: String) -> Result<Self, Refused> {
        match value {
            Value::Object(map) => Ok(Self { map, path }),
            _ => Err(Refused::field(&path, "it is no object")),
        }
    }

    fn path(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    pub(super) fn refuse(&self, key: &str, what: impl Into<String>) -> Refused {
        Refused::field(&self.path(key), what)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.map.contains_key(key)
    }

    /// An object in it; none where it is not there.
    pub(super) fn object(&self, key: &str) -> Result<Option<Object<'a>>, Refused> {
        self.map.get(key).map(|value| Self::of(value, self.path(key))).transpose()
    }

    /// The objects of an array; empty where it is not there.
    pub(super) fn objects(&self, key: &str) -> Result<Vec<Object<'a>>, Refused> {
        let values = match self.map.get(key) {
            None => return Ok(Vec::new()),
            Some(Value::Array(values)) => values,
            Some(_) => return Err(self.refuse(key, "it is no array")),
        };
        let object = |(n, value)| Self::of(value, format!("{}[{n}]", self.path(key)));
        values.iter().enumerate().map(object).collect()
    }

    /// A whole number from 0.
    pub(super) fn count(&self, key: &str) -> Result<Option<u64>, Refused> {
        let Some(value) = self.map.get(key) else { return Ok(None) };
        value.as_u64().map(Some).ok_or_else(|| self.refuse(key, format!("{value} is no count")))
    }

    /// A whole number.
    pub(super) fn number(&self, key: &str) -> Result<Option<i64>, Refused> {
        let Some(value) = self.map.get(key) else { return Ok(None) };
        value.as_i64().map(Some).ok_or_else(|| self.refuse(key, format!("{value} is no number")))
    }

    /// A number from 0.
    pub(super) fn amount(&self, key: &str) -> Result<Option<f64>, Refused> {
        let Some(value) = self.map.get(key) else { return Ok(None) };
        let amount = value.as_f64().filter(|amount| amount.is_finite() && *amount >= 0.0);
        amount.map(Some).ok_or_else(|| self.refuse(key, format!("{value} is no amount")))
    }

    /// A text.
    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>, Refused> {
        let Some(value) = self.map.get(key) else { return Ok(None) };
        value.as_str().map(Some).ok_or_else(|| self.refuse(key, format!("{value} is no text")))
    }

    /// The options in an object of texts, by the names that fio lists them by; empty where it is not there.
    pub(super) fn options(&self, key: &str) -> Result<BTreeMap<String, String>, Refused> {
        let Some(object) = self.object(key)? else { return Ok(BTreeMap::new()) };
        let option = |name: &String| {
            let value = match object.map.get(name) {
                Some(Value::Object(_) | Value::Array(_)) => {
                    return Err(object.refuse(name, "it is no option"));
                }
                Some(Value::String(text)) => text.clone(),
                // Whoever edited the file wrote a number without its quotes.
                Some(Value::Number(number)) => number.to_string(),
                _ => String::new(),
            };
            Ok((canonical(name).to_owned(), value))
        };
        object.map.keys().map(option).collect()
    }

    /// (number before the colon, count) of an object as `{"99.000000": 8160}`, by number.
    pub(super) fn pairs(&self, key: &str) -> Result<Vec<(f64, u64)>, Refused> {
        let Some(object) = self.object(key)? else { return Ok(Vec::new()) };
        let pair = |name: &String| {
            let number: Option<f64> = name.parse().ok().filter(|number: &f64| number.is_finite());
            let number = number.ok_or_else(|| object.refuse(name, "the key is no number"))?;
            Ok((number, object.count(name)?.unwrap_or(0)))
        };
        let mut pairs: Vec<(f64, u64)> = object.map.keys().map(pair).collect::<Result<_, _>>()?;
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(pairs)
    }

    /// (whole number before the colon, count) of an object as `{"8160": 17}`, by number.
    pub(super) fn bins(&self, key: &str) -> Result<Vec<(u64, u64)>, Refused> {
        let Some(object) = self.object(key)? else { return Ok(Vec::new()) };
        let bin = |name: &String| {
            let middle =
                name.parse().map_err(|_| object.refuse(name, "the key is no whole number"))?;
            Ok((middle, object.count(name)?.unwrap_or(0)))
        };
        let mut bins: Vec<(u64, u64)> = object.map.keys().map(bin).collect::<Result<_, _>>()?;
        bins.sort_unstable();
        Ok(bins)
    }

    /// (name, number) of an object of numbers.
    pub(super) fn shares(&self, key: &str) -> Result<BTreeMap<String, f64>, Refused> {
        let Some(object) = self.object(key)? else { return Ok(BTreeMap::new()) };
        let share = |name: &String| Ok((name.clone(), object.amount(name)?.unwrap_or(0.0)));
        object.map.keys().map(share).collect()
    }
}
