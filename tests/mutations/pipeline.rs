// SPDX-License-Identifier: MIT OR Apache-2.0
//! All that the reading verbs do with a root, without a process of their own.

use audit::Subject;
use catalogue::Catalogue;
use machine::Machine;
use report::Style;
use report::findings::{Detail, Found};
use report::screen::Standing;
use root::Root;
use serde_json::Value;
use setting::Goal;

/// What the verbs say of a machine.
pub(crate) struct Said {
    /// The machine as read.
    pub(crate) machine: Machine,
    /// `topology/1`.
    pub(crate) topology: Value,
    /// `audit/1`, one a goal.
    pub(crate) audits: Vec<Value>,
    /// Every drawing.
    pub(crate) drawings: Vec<String>,
}

const GOALS: [Goal; 3] = [Goal::Throughput, Goal::Latency, Goal::Balanced];

/// Reads, observes, audits and draws.
pub(crate) fn run(root: &dyn Root, catalogue: &Catalogue) -> Said {
    let machine = linux::read(root);
    let observations = linux::observe(root, &machine, catalogue.settings());
    let style = Style { width: 100, color: false, unicode: true };
    let mut drawings = drawings(&machine, &style);
    let mut audits = Vec::new();
    for goal in GOALS {
        let subject = Subject { machine: &machine, observations: &observations, catalogue, goal };
        let audit::Audit { mut settings, mut findings } = audit::audit(&subject);
        let of_settings = settings.iter_mut().flat_map(|seen| &mut seen.evidence);
        let of_findings = findings.iter_mut().flat_map(|finding| &mut finding.evidence);
        linux::quote(root, of_settings.chain(of_findings));
        let unknown = &machine.unknown;
        let found =
            Found { goal, findings: &findings, observations: &settings, unknown, named: "" };
        drawings.push(report::findings::draw(&found, Detail::Full, &style));
        drawings.push(report::screen::draw(&machine, &found, Standing::User, &style));
        audits.push(json(&report::json::audit(goal, &settings, &findings, unknown)));
    }
    Said { topology: json(&report::json::topology(&machine)), machine, audits, drawings }
}

fn drawings(machine: &Machine, style: &Style) -> Vec<String> {
    let first = machine.drives.first().map_or("sda", |drive| &drive.name);
    let nic = machine.nics.last().map_or("eth0", |nic| &nic.name);
    let asked = [
        report::irqs::draw(machine, nic, style),
        report::near::draw(machine, first, style),
        report::path::draw(machine, first, nic, style),
    ];
    let whole = [
        report::topology::draw(machine, style),
        report::tree::draw(machine, style),
        report::lanes::draw(machine, style),
        report::svg::draw(machine),
    ];
    asked.into_iter().flatten().chain(whole).collect()
}

fn json(document: &impl serde::Serialize) -> Value {
    serde_json::to_value(document).unwrap_or(Value::Null)
}
