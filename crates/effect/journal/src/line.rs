// SPDX-License-Identifier: MIT OR Apache-2.0
//! A record as a line of text, with its number and checksum.
//!
//! `{"blake3":"<64 digits>","n":12,"body":{"record":"ready","transaction":3}}`
//!
//! The checksum is that of the bytes from `"n"` to the last brace but one, as they stand.

use serde::Deserialize;

use crate::Record;

/// How every line begins.
pub(crate) const BEGIN: &str = "{\"blake3\":\"";
const AFTER_SUM: &str = "\",";
const DIGITS: usize = 64;

/// Why a line is no record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Bad {
    /// The bytes are not those that were summed.
    Checksum,
    /// It has not the shape of a line.
    Shape(String),
}

#[derive(Deserialize)]
struct Numbered {
    n: u64,
    body: Record,
}

/// A record as a line, its end included.
pub(crate) fn encode(n: u64, record: &Record) -> Result<Vec<u8>, serde_json::Error> {
    let inner = format!("\"n\":{n},\"body\":{}", serde_json::to_string(record)?);
    Ok(seal(inner.as_bytes()))
}

/// A line around what is summed.
pub(crate) fn seal(inner: &[u8]) -> Vec<u8> {
    let sum = blake3::hash(inner).to_hex();
    [BEGIN.as_bytes(), sum.as_bytes(), AFTER_SUM.as_bytes(), inner, b"}\n"].concat()
}

/// Number and record of a line without its end.
pub(crate) fn decode(line: &[u8]) -> Result<(u64, Record), Bad> {
    let inner = verified(line)?;
    let mut text = Vec::with_capacity(inner.len() + 2);
    text.push(b'{');
    text.extend_from_slice(inner);
    text.push(b'}');
    let numbered: Numbered =
        serde_json::from_slice(&text).map_err(|error| Bad::Shape(error.to_string()))?;
    Ok((numbered.n, numbered.body))
}

/// Whether a line has the checksum that it claims.
pub(crate) fn is_sound(line: &[u8]) -> bool {
    verified(line).is_ok()
}

fn verified(line: &[u8]) -> Result<&[u8], Bad> {
    let shape = || Bad::Shape("it does not begin with a checksum".to_owned());
    let rest = line.strip_prefix(BEGIN.as_bytes()).ok_or_else(shape)?;
    let sum = rest.get(..DIGITS).ok_or_else(shape)?;
    let inner = rest.get(DIGITS..).and_then(|rest| rest.strip_prefix(AFTER_SUM.as_bytes()));
    let inner = inner.and_then(|inner| inner.strip_suffix(b"}")).ok_or_else(shape)?;
    let is_same = blake3::hash(inner).to_hex().as_bytes() == sum;
    if is_same { Ok(inner) } else { Err(Bad::Checksum) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_json_and_comes_back() {
        let record = Record::Ready { transaction: 3 };
        let line = encode(12, &record).unwrap();
        assert!(serde_json::from_slice::<serde_json::Value>(&line).is_ok());
        let line = line.trim_ascii_end();
        assert_eq!(decode(line), Ok((12, record)));
        for at in 0..line.len() {
            let mut other = line.to_vec();
            other[at] ^= 1;
            assert!(decode(&other).is_err(), "byte {at} may be altered");
        }
    }
}
