// SPDX-License-Identifier: MIT OR Apache-2.0
//! What somebody says of a machine, as comparable lines.

use std::collections::{BTreeMap, BTreeSet};

use support::Failed;

/// Statements: what they are about, and the text.
#[derive(Debug, Default)]
pub(crate) struct Facts(BTreeMap<String, String>);

impl Facts {
    pub(crate) fn say(&mut self, about: impl Into<String>, text: impl ToString) {
        self.0.insert(about.into(), text.to_string());
    }

    /// Whether this is said about it.
    pub(crate) fn is(&self, about: &str, text: &str) -> bool {
        self.0.get(about).is_some_and(|said| said == text)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// A difference that is no mistake: (machine, start of what it is about, reason).
pub(crate) type Excuse = (&'static str, &'static str, &'static str);

/// What the tool says and the document does not, and the other way round. A tool that says `?` of
/// a thing cannot tell.
pub(crate) fn differences(tool: &str, said: &Facts, ours: &Facts) -> Vec<String> {
    let all: BTreeSet<&String> = said.0.keys().chain(ours.0.keys()).collect();
    let differs =
        |about: &&String| !said.is(about, "?") && said.0.get(*about) != ours.0.get(*about);
    let text = |about: &String| {
        let of = |facts: &Facts| facts.0.get(about).map_or("nothing", String::as_str).to_owned();
        format!("{about}: {tool} says {}, the document {}", of(said), of(ours))
    };
    all.into_iter().filter(differs).map(text).collect()
}

/// Fails with the differences that no excuse covers, and with the excuses that cover none.
pub(crate) fn judge(machine: &str, found: Vec<String>, excuses: &[Excuse]) -> Result<(), Failed> {
    let mine: Vec<_> = excuses.iter().filter(|excuse| excuse.0 == machine).collect();
    let idle = mine.iter().filter(|excuse| !found.iter().any(|text| text.starts_with(excuse.1)));
    let idle: Vec<_> = idle.map(|excuse| format!("excused without need: {excuse:?}")).collect();
    let is_excused = |text: &String| mine.iter().any(|excuse| text.starts_with(excuse.1));
    let mut wrong: Vec<_> = found.into_iter().filter(|text| !is_excused(text)).collect();
    wrong.extend(idle);
    if wrong.is_empty() { Ok(()) } else { Err(format!("{machine}: {}", wrong.join("\n")).into()) }
}
