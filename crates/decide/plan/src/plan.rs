// SPDX-License-Identifier: MIT OR Apache-2.0
//! The order in which a plan is made, on one screen.

use audit::Subject;
use machine::Machine;
use setting::Plan;

use crate::draft::{Draft, Work};
use crate::request::Request;
use crate::{beside, conflict, guard, named, order, placement, resolve, want};

/// Plans what a request asks for. What cannot be done, or not by nearside, is in the plan as left,
/// with the reason.
pub fn plan(subject: &Subject<'_>, request: &Request) -> Plan {
    let goal = request.goal.unwrap_or(subject.goal);
    let subject = Subject { goal, ..*subject };
    let request = &with_hardware(subject.machine, request);
    let audit = audit::audit(&subject);
    let work = Work::new(&subject, request, &audit);
    let mut draft = Draft::default();
    for want in want::gather(&work, &mut draft) {
        resolve::resolve(&work, &want, &mut draft);
    }
    placement::fit_channels(&work, &mut draft);
    conflict::settle(&work, &mut draft);
    guard::lock_out(&work, &mut draft);
    // Only now is it known how many queues there will be.
    placement::place(&work, &mut draft);
    draft.keep_moved(&work);
    named::answer_only(&work, &mut draft);
    order::sort(&work, &mut draft.changes);
    let plan = draft.finish(request);
    Plan { beside: beside::of(&work, &plan.changes), ..plan }
}

/// A volume, bond or VLAN that a plan is narrowed to stands for the drives or ports below it as well.
fn with_hardware(machine: &Machine, request: &Request) -> Request {
    let mut devices = request.devices.clone();
    for below in request.devices.iter().flat_map(|device| machine.below(device)) {
        if !devices.contains(&below.device) {
            devices.push(below.device);
        }
    }
    Request { devices, ..request.clone() }
}
