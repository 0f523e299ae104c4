// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interrupts and queues near their devices.
//!
//! A port's queues are served by the physical cores of its node, one each, siblings after, in turn
//! over its L3 domains; the ports of a node share its cores, none twice before each once. What the
//! kernel places by itself (managed vectors) is left and is right. Offline and isolated CPUs get
//! nothing unless they are named.
//!
//! virtio-net: its driver gives every CPU a queue where there are as many, and spreads them on
//! purpose; that is kept. With fewer queues than CPUs they belong near the port like any other's,
//! where the hypervisor says which node that is.

mod balance;
mod channels;
mod drives;
mod flows;
mod isolated;
mod pool;
mod ports;
mod spread;
mod steering;
mod vector;
mod wish;

use machine::Fact;
use setting::{Device, Form, Left, Place, Planned};
use units::{Cpu, CpuSet};

use crate::draft::{Draft, Drafted, Work};
use crate::request::Named;
use crate::want::missing;

pub(crate) use channels::fit_channels;
pub(crate) use spread::is_in_the_way;
pub(crate) use wish::Where;

use pool::Pools;
pub(crate) use spread::now as spread_now;
pub(crate) use vector::Vectors;

use vector::Vector;

pub(crate) const NIC: &str = "nic-irq-placement";
pub(crate) const DRIVE: &str = "drive-irq-placement";
pub(crate) const ISOLATED: &str = "isolated-cpu-interrupts";
pub(crate) const XPS: &str = "xps-placement";
pub(crate) const RPS: &str = "rps-placement";
pub(crate) const SPREAD: &str = "nic-receive-spread";
pub(crate) const SHARE: &str = "rps-flow-count";
pub(crate) const BALANCE: &str = "irqbalance";

/// Plans interrupts, XPS, RPS, RSS and irqbalance's exceptions.
pub(crate) fn place(work: &Work<'_>, draft: &mut Draft) {
    let vectors = Vectors::of(work.machine());
    let mut pools = Pools::of(work.machine());
    let mut taken = Taken::default();
    ports::place(work, &vectors, &mut pools, &mut taken, draft);
    drives::place(work, &vectors, &mut pools, &mut taken, draft);
    isolated::place(work, &mut pools, &mut taken, draft);
    steering::receive(work, &mut pools, draft);
    spread::plan(work, draft);
    flows::plan(work, draft);
    balance::plan(work, &taken, draft);
    for one in &work.request.named {
        let is_ours = [NIC, DRIVE, ISOLATED, XPS, RPS, SPREAD].contains(&one.setting.as_str());
        if is_ours && !draft.speaks_of(&one.setting) {
            let outside = one.device.as_deref().and_then(|name| work.outside(Some(name)));
            let because = outside.as_deref().unwrap_or(NOTHING_TO_MOVE);
            draft.leave(missing(one, because));
        }
    }
}

const NOTHING_TO_MOVE: &str = "no interrupt or queue that could be moved was seen";

/// Interrupts that were looked at, by number.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    /// Placed, or found in place: nothing else moves them.
    placed: std::collections::BTreeSet<u32>,
    /// Queues of ports, which irqbalance must leave alone.
    queues: std::collections::BTreeSet<u32>,
    /// Functions whose queues have no numbers yet: their channels change first.
    renumbered: std::collections::BTreeSet<units::PciAddress>,
}

/// Whether a vector's value was asked for, or found wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    ByName,
    ByGoal,
}

/// One interrupt's change; its words.
struct Move<'a> {
    setting: &'a str,
    device: Device,
    vector: &'a Vector<'a>,
    to: String,
    because: String,
}

impl Move<'_> {
    fn drafted(self, work: &Work<'_>, asked: Asked) -> Drafted {
        let affinity = self.vector.irq.map(|irq| irq.affinity.as_ref());
        let from: Fact<String> = match affinity {
            Some(Ok(cpus)) => Ok(cpus.to_string()),
            Some(Err(why)) => Err(why.clone()),
            None => Err(machine::Why::Absent),
        };
        let Vector { queue, ordinal, .. } = *self.vector;
        let place = Place::Interrupt { queue, ordinal };
        let is_named = asked == Asked::ByName;
        change(work, self.setting, self.device, place, Form::CpuList, from, self.to, self.because)
            .named(is_named)
    }
}

impl Drafted {
    fn named(mut self, is_named: bool) -> Self {
        self.is_named = is_named;
        self
    }
}

#[expect(clippy::too_many_arguments, reason = "they are the fields of a planned change")]
fn change(
    work: &Work<'_>,
    setting: &str,
    device: Device,
    place: Place,
    form: Form,
    from: Fact<String>,
    to: String,
    because: String,
) -> Drafted {
    let cost = work.entry(setting).map(|entry| entry.trade_off.clone()).unwrap_or_default();
    let planned = Planned {
        setting: setting.to_owned(),
        device: Some(device),
        place,
        form,
        from,
        to,
        because,
        cost,
        drops_link: None,
    };
    Drafted { planned, is_named: false, rank: usize::MAX }
}

/// Online CPUs that an interrupt may be taken on; none where that is not known.
fn reach(work: &Work<'_>, vector: &Vector<'_>) -> Option<CpuSet> {
    let affinity = vector.irq?.affinity.as_ref().ok()?;
    Some(affinity.and(&work.machine().cpus.online))
}

/// Whether more than one node has CPUs to be near or far from.
fn has_far_nodes(work: &Work<'_>) -> bool {
    let online = &work.machine().cpus.online;
    work.machine().nodes.iter().filter(|node| node.cpus.overlaps(online)).count() > 1
}

/// Whether the audit found something of this setting on a device.
fn found<'a>(work: &Work<'a>, setting: &str, device: &str) -> Option<&'a setting::Finding> {
    let mut findings = work.audit.findings.iter();
    findings.find(|finding| {
        finding.id == setting
            && finding.change.is_some()
            && finding.devices.iter().any(|name| name == device)
    })
}

/// What is said of a device that the audit has nothing against: its interrupts may be taken far away,
/// and it is slow, or they happen to be taken near now.
fn doubt(work: &Work<'_>, setting: &str, device: &str) -> &'static str {
    let mut findings = work.audit.findings.iter();
    let is_found = findings
        .any(|finding| finding.id == setting && audit::is_about(finding, work.machine(), device));
    if is_found { "" } else { NOT_FOUND }
}

const NOT_FOUND: &str =
    " (the audit does not find this: it brings little, or they are near by chance)";

/// The value that a setting was named with for a device.
fn named<'a>(work: &Work<'a>, setting: &str, device: &Device) -> Option<&'a str> {
    let mut all = work.request.named.iter().rev();
    let one = all.find(|one| {
        one.setting == setting && one.device.as_ref().is_none_or(|name| work.is_same(device, name))
    });
    one.filter(|_| work.wants_device(Some(device))).map(|one| one.value.as_str())
}

/// What was named and a device does not have.
fn missing_on(setting: &str, device: &str, value: &str, because: &str) -> Left {
    let named = Named {
        setting: setting.to_owned(),
        value: value.to_owned(),
        device: Some(device.to_owned()),
    };
    missing(&named, because)
}

/// Whether the goal may change a setting of a device.
fn by_goal(work: &Work<'_>, setting: &str, device: &Device) -> bool {
    work.request.goal.is_some() && work.wants_setting(setting) && work.wants_device(Some(device))
}

/// A place of interrupts that was asked for by name and cannot be.
fn impossible(setting: &str, device: &str, value: &str, because: &str) -> Left {
    let text = str::to_owned;
    missing(
        &Named { setting: text(setting), value: text(value), device: Some(text(device)) },
        because,
    )
}

/// CPUs that were named can take interrupts only while they are online.
fn demand_online(work: &Work<'_>, cpus: &[Cpu]) -> Result<(), String> {
    let online = &work.machine().cpus.online;
    let offline = cpus.iter().find(|cpu| !online.contains(**cpu));
    offline.map_or(Ok(()), |cpu| Err(format!("CPU {cpu} is not online")))
}
