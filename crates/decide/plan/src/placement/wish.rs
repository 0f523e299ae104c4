// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where interrupts are wanted, as a person says it.

use std::str::FromStr;

use units::{Cpu, CpuSet, NodeId};

/// Where a device's interrupts are wanted: the forms of the vendors' scripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Where {
    /// One a core of the device's own node.
    Near,
    /// One a core of this node.
    Node(NodeId),
    /// In turn on these CPUs, in this order: the first queue on the first of them.
    Cpus(Vec<Cpu>),
    /// Each on all CPUs of a node: the device's own where none is named.
    Whole(Option<NodeId>),
}

/// More CPUs than any kernel is built for (`CONFIG_NR_CPUS` is at most 8192).
const MOST: usize = 8192;

impl Where {
    /// What may be written.
    pub(crate) const HELP: &str =
        "near, node:N, cpus:LIST in the order of the queues, whole-node or whole-node:N";
}

impl FromStr for Where {
    type Err = String;

    /// `near`, `node:1`, `cpus:3,1`, `whole-node`; a bare list is one of CPUs.
    fn from_str(text: &str) -> Result<Self, String> {
        let node =
            |text: &str| text.parse().map(NodeId).map_err(|_| format!("{text:?} is no node"));
        match text.trim().split_once(':') {
            None if text.trim() == "near" => Ok(Self::Near),
            None if text.trim() == "whole-node" => Ok(Self::Whole(None)),
            None => list(text).map(Self::Cpus),
            Some(("node", number)) => node(number).map(Self::Node),
            Some(("whole-node", number)) => node(number).map(|node| Self::Whole(Some(node))),
            Some(("cpus", text)) => list(text).map(Self::Cpus),
            Some((word, _)) => Err(format!("{word:?} is no place")),
        }
    }
}

/// `8-11,3,1`: CPUs in the order written. A set would sort them, and give queue 0 another CPU than
/// the one that was asked for.
fn list(text: &str) -> Result<Vec<Cpu>, String> {
    let mut cpus = Vec::new();
    for part in text.split(',').map(str::trim) {
        let range = CpuSet::from_list(part).map_err(|why| why.to_string())?;
        if range.is_empty() || cpus.len().saturating_add(range.len()) > MOST {
            return Err(format!("{part:?} is no CPU"));
        }
        cpus.extend(range.iter());
    }
    Ok(cpus)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cpus(numbers: &[u32]) -> Where {
        Where::Cpus(numbers.iter().copied().map(Cpu).collect())
    }

    #[test]
    fn the_forms_of_the_vendors_scripts() {
        let parse = |text: &str| text.parse::<Where>().unwrap();
        assert_eq!(parse("3,1"), cpus(&[3, 1]));
        assert_eq!(parse("cpus:8-9,0,1"), cpus(&[8, 9, 0, 1]));
        assert_eq!(parse("63,64,191"), cpus(&[63, 64, 191]));
        assert_eq!(parse("near"), Where::Near);
        assert_eq!(parse("node:1"), Where::Node(NodeId(1)));
        assert_eq!(parse("whole-node"), Where::Whole(None));
        assert_eq!(parse("whole-node:3"), Where::Whole(Some(NodeId(3))));
    }

    #[test]
    fn what_is_no_place_is_refused() {
        for text in ["", "far", "node:", "node:x", "cpus:", "1,,2", "cpu:1", "5-3"] {
            assert!(text.parse::<Where>().is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_place_or_refused(text in "\\PC{0,40}|(cpus:)?[0-9,-]{0,30}") {
            if let Ok(Where::Cpus(cpus)) = text.parse() {
                prop_assert!(!cpus.is_empty() && cpus.len() <= MOST);
            }
        }
    }
}
