// SPDX-License-Identifier: MIT OR Apache-2.0
//! Temperature and wear of an NVMe drive: the sensor that the kernel shows, and the SMART log.

use machine::{Fact, Why};
use root::{Dir, Question, Root};

use crate::pci::Files;

/// What matters here of the SMART / Health log page (NVM Express Base Specification, log 02h).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Log {
    /// Bytes 1 and 2: composite temperature in kelvin; 0 when not reported.
    kelvin: u16,
    /// Byte 5: part of the rated endurance that is used, in percent; 255 at most.
    pub(super) percentage_used: u8,
}

impl Log {
    /// Composite temperature in millidegrees Celsius.
    pub(super) fn temperature_mc(&self) -> Fact<i64> {
        match self.kelvin {
            0 => Err(Why::NotSupported),
            kelvin => Ok(i64::from(kelvin) * 1000 - 273_150),
        }
    }
}

/// The log of a controller. Only root on the live machine gets an answer.
pub(super) fn read(root: &dyn Root, controller: &str) -> Fact<Log> {
    let answer = root.ask(&Question::NvmeSmart(controller.to_owned()))?;
    parse(&answer).ok_or_else(|| Why::unparsed(&answer))
}

/// `"00f5016405…"`: the page as hexadecimal digits, in JSON's quotes.
pub(crate) fn parse(answer: &str) -> Option<Log> {
    let digits = answer.trim().trim_matches('"');
    let byte = |index: usize| {
        let text = digits.get(index * 2..index * 2 + 2)?;
        let plain = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        plain.then(|| u8::from_str_radix(text, 16).ok()).flatten()
    };
    let kelvin = u16::from_le_bytes([byte(1)?, byte(2)?]);
    Some(Log { kelvin, percentage_used: byte(5)? })
}

/// `temp1_input` of the controller's hwmon, in millidegrees Celsius.
pub(super) fn sensor(dir: &Dir<'_>, files: &Files) -> Fact<i64> {
    let direct = files.iter().find(|name| name.starts_with("hwmon") && *name != "hwmon");
    if let Some(name) = direct {
        return dir.sub(name).parse("temp1_input");
    }
    if !files.has("hwmon") {
        return Err(Why::Absent);
    }
    let below = dir.sub("hwmon");
    let first = below.list()?.into_iter().next().ok_or(Why::Absent)?;
    below.sub(&first).parse("temp1_input")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_log_page_is_read() {
        let log = parse("\"004401640a07\"").unwrap();
        assert_eq!((log.temperature_mc(), log.percentage_used), (Ok(50_850), 7));
        assert_eq!(parse("\"000000640a07\"").unwrap().temperature_mc(), Err(Why::NotSupported));
        assert_eq!(parse("\"0044\""), None);
    }

    proptest! {
        #[test]
        fn any_answer_is_read_or_refused(text in ".{0,40}") {
            let _ = parse(&text);
        }
    }
}
