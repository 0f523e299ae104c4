// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interrupts that irqbalance leaves alone: as a value, and in the file that it reads.
//!
//! `IRQBALANCE_ARGS="--banirq=31 --banirq=32"`
//!
//! What nearside adds to that file is a block of lines of its own, so that the administrator's can
//! be told from it. A file is bytes: nothing says that it is UTF-8.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// Numbers of interrupts, as a value of [`crate::Place::BannedInterrupts`] says them: `7 101 102`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Interrupts(pub BTreeSet<u32>);

impl fmt::Display for Interrupts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, number) in self.0.iter().enumerate() {
            let space = if at == 0 { "" } else { " " };
            write!(f, "{space}{number}")?;
        }
        Ok(())
    }
}

impl FromStr for Interrupts {
    type Err = std::num::ParseIntError;

    /// Numbers with white space between them; none of them is an empty set.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.split_whitespace().map(str::parse).collect::<Result<_, _>>().map(Self)
    }
}

impl FromIterator<u32> for Interrupts {
    fn from_iter<T: IntoIterator<Item = u32>>(numbers: T) -> Self {
        Self(numbers.into_iter().collect())
    }
}

/// The line before those that nearside adds.
pub const BANS_BEGIN: &str =
    "# nearside: interrupts that it placed; `nearside revert` takes this out";
/// The line behind them.
pub const BANS_END: &str = "# nearside: end";
/// Variables that distributions give the program's arguments in.
pub const BAN_VARIABLES: [&str; 2] = ["IRQBALANCE_ARGS", "OPTIONS"];

/// A file without what nearside added. An administrator's line is never taken along, wherever it
/// was put.
pub fn without_bans(file: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(file.len());
    let mut is_ours = false;
    for line in file.split_inclusive(|byte| *byte == b'\n') {
        let text = line.trim_ascii();
        if text == BANS_BEGIN.as_bytes() {
            is_ours = true;
        } else if is_ours && text == BANS_END.as_bytes() {
            is_ours = false;
        } else if !(is_ours && is_ban(text)) {
            kept.extend_from_slice(line);
        }
    }
    kept
}

fn is_ban(line: &[u8]) -> bool {
    let is_variable = |name: &str| value_of(line, name).is_some();
    let ban = b"--banirq=";
    BAN_VARIABLES.iter().any(|name| is_variable(name)) && line.windows(ban.len()).any(|w| w == ban)
}

/// The value of a variable's last assignment as it stands in the file, quotes and all.
pub fn assigned<'a>(file: &'a [u8], variable: &str) -> Option<&'a [u8]> {
    file.split(|byte| *byte == b'\n').filter_map(|line| value_of(line, variable)).next_back()
}

fn value_of<'a>(line: &'a [u8], variable: &str) -> Option<&'a [u8]> {
    let rest = line.trim_ascii_start().strip_prefix(variable.as_bytes())?;
    Some(rest.strip_prefix(b"=")?.trim_ascii())
}

/// Interrupts that a file bans in these variables, by anybody.
pub fn banned(file: &[u8], variables: &[&str]) -> Interrupts {
    let values = variables.iter().filter_map(|variable| assigned(file, variable));
    values.flat_map(|value| of_arguments(value).0).collect()
}

/// Numbers after `--banirq=` and `-i`.
fn of_arguments(value: &[u8]) -> Interrupts {
    let is_end = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'');
    let mut words = value.split(is_end).filter(|word| !word.is_empty());
    let mut found = Interrupts::default();
    while let Some(word) = words.next() {
        let number = match word.strip_prefix(b"--banirq=") {
            Some(number) => Some(number),
            None if matches!(word, b"--banirq" | b"-i") => words.next(),
            None => word.strip_prefix(b"-i"),
        };
        let number = number.and_then(|number| std::str::from_utf8(number).ok());
        let number = number.and_then(|number| number.trim_start_matches('=').parse::<u32>().ok());
        found.0.extend(number);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(file: &str) -> String {
        banned(file.as_bytes(), &BAN_VARIABLES).to_string()
    }

    #[test]
    fn exceptions_are_read_in_each_distributions_spelling() {
        for (file, numbers) in [
            ("IRQBALANCE_ARGS=\"--banirq=31 --banirq=147\"", "31 147"),
            ("OPTIONS=--banirq=31", "31"),
            ("OPTIONS='-i 7 --hintpolicy=exact -i8 --banirq 9'", "7 8 9"),
            ("OPTIONS=-i7\nOPTIONS=-i8", "8"),
            ("#OPTIONS=-i7\nIRQBALANCE_BANNED_CPULIST=0-3", ""),
            ("OPTIONS=-i7 -ix -i 4294967296", "7"),
            ("", ""),
        ] {
            assert_eq!(read(file), numbers, "{file}");
        }
        assert_eq!(banned(b"# caf\xe9\nOPTIONS=\"-i 7\"\n", &BAN_VARIABLES).to_string(), "7");
    }

    #[test]
    fn only_our_lines_are_taken_out() {
        let ours = format!("{BANS_BEGIN}\nOPTIONS=\"-a --banirq=7\"\n{BANS_END}\n");
        let without = |file: &str| String::from_utf8(without_bans(file.as_bytes())).unwrap();
        assert_eq!(without(&format!("a\n{ours}b\n")), "a\nb\n");
        assert_eq!(without(&format!("a\n{ours}b\n{ours}")), "a\nb\n");
        // Somebody deleted the last line of ours, or wrote between them.
        let open = ours.replace(&format!("{BANS_END}\n"), "");
        assert_eq!(without(&format!("a\n{open}OTHER=1\nb\n")), "a\nOTHER=1\nb\n");
        let between = ours.replace(BANS_END, &format!("MINE=1\n{BANS_END}"));
        assert_eq!(without(&between), "MINE=1\n");
        assert_eq!(without_bans(b"\xff\xfe"), b"\xff\xfe");
    }

    #[test]
    fn numbers_come_back() {
        let numbers: Interrupts = "102 7 101 7".parse().unwrap();
        assert_eq!(numbers.to_string(), "7 101 102");
        assert_eq!("".parse(), Ok(Interrupts::default()));
        for odd in ["7,8", "-1", "4294967296", "eth0"] {
            assert!(odd.parse::<Interrupts>().is_err(), "{odd}");
        }
    }
}
