// SPDX-License-Identifier: MIT OR Apache-2.0
//! Facts: questions by name that the machine model answers, so that catalogue files can ask them.

mod cpu;
mod drive;
mod function;
mod kernel;
mod memory;
mod nic;
mod power;

pub(crate) use memory::slowed;

use machine::{Fact, Why};
use setting::{Evidence, Observation};

use crate::context::Context;

/// One answer to a fact: of the machine or of one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    device: Option<String>,
    value: Fact<String>,
    /// Why it is that, in words.
    reason: String,
    evidence: Vec<Evidence>,
}

impl Answer {
    /// An answer about the machine, concluded from `evidence`, with the reason in words.
    fn machine(value: Fact<String>, evidence: Vec<Evidence>, reason: impl Into<String>) -> Self {
        Self { device: None, value, reason: reason.into(), evidence }
    }

    /// An answer about one device, whose value is its reason.
    fn device(device: impl Into<String>, value: Fact<String>, evidence: Vec<Evidence>) -> Self {
        let reason = value.as_ref().map_or_else(crate::words::unknown, Clone::clone);
        Self { device: Some(device.into()), value, reason, evidence }
    }
}

/// Answers every fact that an entry of the catalogue asks for, in the catalogue's order.
pub(crate) fn observe(context: &Context<'_>) -> Vec<Observation> {
    let mut observations = Vec::new();
    for entry in context.catalogue.settings() {
        let Some(fact) = &entry.observe.fact else { continue };
        for answer in answer(context, fact).unwrap_or_default() {
            observations.push(Observation {
                setting: entry.id.clone(),
                device: answer.device,
                value: answer.value,
                reason: answer.reason,
                evidence: answer.evidence,
            });
        }
    }
    observations
}

/// The answers to one fact; none for a name that is no fact.
pub(crate) fn answer(context: &Context<'_>, fact: &str) -> Option<Vec<Answer>> {
    cpu::answer(context, fact)
        .or_else(|| power::answer(context, fact))
        .or_else(|| kernel::answer(context, fact))
        .or_else(|| memory::answer(context, fact))
        .or_else(|| function::answer(context, fact))
        .or_else(|| drive::answer(context, fact))
        .or_else(|| nic::answer(context, fact))
}

/// `on` or `off`.
fn switch(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}

/// The value, or absent.
fn known(value: Option<impl Into<String>>) -> Fact<String> {
    value.map(Into::into).ok_or(Why::Absent)
}

#[cfg(test)]
mod tests {
    use catalogue::Catalogue;
    use setting::{FACTS, Goal, Scope};

    use super::*;
    use crate::tests::made;

    #[test]
    fn every_fact_of_the_vocabulary_is_answered() {
        let machine = made::full();
        let catalogue = Catalogue::default();
        let context = Context::new(&machine, &catalogue, Goal::Throughput, &[]);
        for (name, scope, _) in FACTS {
            let answers = answer(&context, name);
            let answers = answers.unwrap_or_else(|| panic!("fact {name} has no answer"));
            assert!(!answers.is_empty(), "{name} says nothing");
            for answer in answers {
                assert_eq!(answer.device.is_none(), *scope == Scope::Machine, "{name}");
                let real = |line: &Evidence| !line.path.contains(['*', '{', '}']);
                assert!(answer.evidence.iter().all(real), "{name}: {answer:?}");
                assert!(!answer.evidence.is_empty(), "{name} names no file");
            }
        }
        assert_eq!(answer(&context, "no-such-fact"), None);
    }
}
