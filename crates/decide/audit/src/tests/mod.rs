// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the audit finds on machines made by hand, and what it must not.

mod chaos;
mod cpus;
mod drives;
mod grouping;
mod kernel;
mod links;
mod memory;
mod network;
mod power;
mod tagging;

use catalogue::Catalogue;
use machine::Machine;
use setting::{Finding, Goal};
pub(crate) use support::made;

use crate::{Subject, audit};

/// Everything that the rules find, without the catalogue's words. Each finding must stand on
/// evidence and must say why.
fn all(machine: &Machine, goal: Goal) -> Vec<Finding> {
    let catalogue = Catalogue::default();
    let subject = Subject { machine, observations: &[], catalogue: &catalogue, goal };
    let findings = audit(&subject).findings;
    for finding in &findings {
        assert!(!finding.evidence.is_empty(), "{finding:#?}");
        for line in &finding.evidence {
            assert!(line.path.starts_with('/') || line.path.starts_with("ethtool "), "{line:?}");
        }
        assert_eq!(well_said(finding), Ok(()));
    }
    findings
}

/// Whether a finding's words are in the style of the house, whatever value brought it.
fn well_said(finding: &Finding) -> Result<(), String> {
    let Finding { title, because, observed, wanted, severity_from, .. } = finding;
    support::words::well_said(&support::words::Told {
        title,
        because,
        observed,
        wanted,
        severity_from,
    })
}

/// Everything that is found, with the catalogue's own wishes and words.
fn whole(machine: &Machine, goal: Goal) -> Vec<Finding> {
    let catalogue = Catalogue::built_in();
    let subject = Subject { machine, observations: &[], catalogue: &catalogue, goal };
    let findings = audit(&subject).findings;
    findings.iter().for_each(|finding| assert_eq!(well_said(finding), Ok(())));
    findings
}

/// What one rule finds for throughput.
fn of(machine: &Machine, id: &str) -> Vec<Finding> {
    all(machine, Goal::Throughput).into_iter().filter(|finding| finding.id == id).collect()
}

/// The one finding of a rule.
fn one(machine: &Machine, id: &str) -> Finding {
    let mut found = of(machine, id);
    assert_eq!(found.len(), 1, "{id}: {found:#?}");
    found.remove(0)
}

#[test]
fn a_healthy_machine_has_no_findings() {
    for goal in [Goal::Throughput, Goal::Latency, Goal::Balanced] {
        assert_eq!(all(&made::healthy(), goal), [], "{goal:?}");
    }
}

#[test]
fn a_healthy_machine_has_no_findings_by_the_whole_catalogue() {
    for goal in [Goal::Throughput, Goal::Latency, Goal::Balanced] {
        let mut findings = whole(&made::healthy(), goal);
        findings.retain(|finding| finding.severity > setting::Severity::Note);
        assert_eq!(findings, [], "{goal:?}");
    }
}

#[test]
fn every_rule_has_its_entry() {
    let catalogue = Catalogue::built_in();
    for id in crate::rules::ids() {
        assert!(catalogue.get(id).is_some(), "the catalogue lacks {id}");
    }
}

#[test]
fn an_empty_machine_has_no_findings() {
    assert_eq!(all(&Machine::default(), Goal::Throughput), []);
}
