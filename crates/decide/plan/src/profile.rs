// SPDX-License-Identifier: MIT OR Apache-2.0
//! A profile: a request in a TOML file, to be kept with a machine's other files.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use setting::Goal;

use crate::request::{Named, Queues, Request};

/// A profile as written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Profile {
    /// What it is for, for people.
    #[serde(default)]
    pub title: String,
    /// Everything that the audit proposes for this goal, too.
    #[serde(default)]
    pub goal: Option<Goal>,
    /// Whether channels are reduced to the near cores.
    #[serde(default)]
    pub fit_channels: bool,
    /// Settings of the machine, or of every device.
    #[serde(default)]
    pub set: BTreeMap<String, Value>,
    /// Settings of one device, by its name.
    #[serde(default)]
    pub device: BTreeMap<String, BTreeMap<String, Value>>,
}

/// A value as people write it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "a value is a text, a whole number, or true and false")]
pub enum Value {
    /// `true` is `on`.
    Switch(bool),
    /// A whole number.
    Number(i64),
    /// Anything else.
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch(true) => f.write_str("on"),
            Self::Switch(false) => f.write_str("off"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// What is wrong with a profile's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileError {
    /// (line, column), both from 1, where known.
    pub place: Option<(usize, usize)>,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some((line, column)) => write!(f, "line {line}, column {column}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl std::error::Error for ProfileError {}

impl Profile {
    /// Reads a profile:
    ///
    /// ```toml
    /// title = "Our database servers"
    /// goal = "latency"
    ///
    /// [set]
    /// swappiness = 1
    /// transparent-hugepages = "never"
    ///
    /// [device.eth0]
    /// nic-rx-ring = 4096
    /// nic-ntuple = true
    /// ```
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        toml::from_str(text).map_err(|error| ProfileError {
            place: error.span().map(|span| place(text, span.start)),
            what: match error.span().and_then(|span| text.get(span)) {
                Some(number) if is_too_large(number) => {
                    format!("{number} is too large: a whole number is at most {}", i64::MAX)
                }
                _ => error.message().lines().next().unwrap_or_default().to_owned(),
            },
        })
    }

    /// Adds the profile to a request. What the request names itself comes after, and so wins.
    pub fn add_to(self, request: &mut Request) {
        request.goal = request.goal.or(self.goal);
        if self.fit_channels {
            request.queues = Queues::Fit;
        }
        let mut named = settings(self.set, None);
        for (device, set) in self.device {
            named.extend(settings(set, Some(&device)));
        }
        let of_request = std::mem::take(&mut request.named);
        let is_renamed = |one: &Named| {
            of_request.iter().any(|own| own.setting == one.setting && own.device == one.device)
        };
        named.retain(|one| !is_renamed(one));
        request.named = named.into_iter().chain(of_request).collect();
    }
}

fn settings(set: BTreeMap<String, Value>, device: Option<&str>) -> Vec<Named> {
    let named = |(setting, value): (String, Value)| Named {
        setting,
        value: value.to_string(),
        device: device.map(str::to_owned),
    };
    set.into_iter().map(named).collect()
}

/// Whether a word is a whole number that no setting could take.
fn is_too_large(word: &str) -> bool {
    let digits = word.trim_start_matches(['+', '-']);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number && word.parse::<i64>().is_err()
}

/// (line, column) of a byte offset, both from 1.
fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let column = before.get(start..).map_or(0, |line| line.chars().count());
    (before.matches('\n').count() + 1, column + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_profile_becomes_a_request() {
        let text = "goal = \"latency\"\n[set]\nswappiness = 1\n[device.eth0]\nnic-ntuple = true\n";
        let mut request =
            Request { named: vec!["swappiness=7".parse().unwrap()], ..Request::default() };
        Profile::parse(text).unwrap().add_to(&mut request);
        assert_eq!(request.goal, Some(Goal::Latency));
        let named: Vec<_> = request
            .named
            .iter()
            .map(|one| format!("{}={}@{:?}", one.setting, one.value, one.device))
            .collect();
        assert_eq!(named, ["nic-ntuple=on@Some(\"eth0\")", "swappiness=7@None"]);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let wrong = |text: &str| Profile::parse(text).unwrap_err().to_string();
        assert_eq!(
            wrong("gaol = \"latency\"\n"),
            "line 1, column 1: unknown field `gaol`, expected one of `title`, `goal`, \
             `fit-channels`, `set`, `device`"
        );
        assert_eq!(
            wrong("[set]\nswappiness = 1.5\n"),
            "line 2, column 14: a value is a text, a whole number, or true and false"
        );
        assert!(wrong("goal = \"fast\"").contains("unknown variant `fast`"));
        let large = wrong("[set]\nswappiness = 99999999999999999999\n");
        assert!(large.contains("99999999999999999999 is too large"), "{large}");
    }

    proptest! {
        #[test]
        fn any_text_parses_or_is_refused(text in "\\PC{0,120}|(goal|set|device|[ =\"\n\\[\\].a-z0-9-]){0,60}") {
            let _ = Profile::parse(&text);
        }
    }
}
