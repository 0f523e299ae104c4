// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a setting wanted to the places that are written, or the reason why none is.

use machine::{Fact, Nic, Why};
use setting::{
    Device, Ethtool, Form, Left, LeftWhy, Owner, Place, Planned, Reboot, Scope, Setting, Write,
    WritePlace,
};

use crate::draft::{Draft, Drafted, Work};
use crate::want::Want;
use crate::{by_hand, device, ethtool, words};

/// Why a setting is left to others; none where nearside can write it.
pub(crate) fn unwritten(
    work: &Work<'_>,
    entry: &Setting,
    value: &str,
    devices: Vec<String>,
) -> Option<Left> {
    let write = entry.write.as_ref();
    if write.is_some_and(Write::is_at_once) && !setting::is_guard(entry) {
        return None;
    }
    let (why, because) = reason(entry);
    let boot = work.request.boot;
    Some(Left {
        setting: entry.id.clone(),
        devices,
        wanted: value.to_owned(),
        owner: entry.owner,
        reboot: entry.reboot,
        why,
        because,
        by_hand: write.map(|write| by_hand::lines(write, value, boot)).unwrap_or_default(),
    })
}

fn reason(entry: &Setting) -> (LeftWhy, String) {
    let when = match entry.reboot {
        Reboot::Reload => "counts only when the driver is loaded again",
        Reboot::Kexec | Reboot::Reboot => "counts only after a reboot",
        _ => "needs hands at the machine",
    };
    match entry.owner {
        _ if setting::is_guard(entry) => {
            (LeftWhy::Security, "guards what devices and programs may reach".to_owned())
        }
        Owner::Bios => (LeftWhy::Owner, "set it in the firmware's setup, then reboot".to_owned()),
        Owner::Person if entry.reboot == Reboot::Manual => (LeftWhy::Owner, when.to_owned()),
        Owner::Person => (LeftWhy::Owner, "a person decides where work runs".to_owned()),
        _ if entry.reboot != Reboot::None => (LeftWhy::Reboot, when.to_owned()),
        Owner::Device => (LeftWhy::Owner, "the device or its driver decides it".to_owned()),
        Owner::Os => (
            LeftWhy::Choice,
            "nearside has no way to write it; what else the machine is for decides".to_owned(),
        ),
    }
}

/// Adds the changes that a want comes to, or leaves it.
pub(crate) fn resolve(work: &Work<'_>, want: &Want<'_>, draft: &mut Draft) {
    match changes(work, want) {
        Ok(changes) => changes.into_iter().for_each(|planned| {
            draft.change(Drafted { planned, is_named: want.is_named, rank: want.rank });
        }),
        Err((why, because)) => draft.leave(Left {
            setting: want.entry.id.clone(),
            devices: want.device.iter().map(|device| device.name.clone()).collect(),
            wanted: want.to.clone(),
            owner: want.entry.owner,
            reboot: want.entry.reboot,
            why,
            because,
            by_hand: Vec::new(),
        }),
    }
}

type Unmade = (LeftWhy, String);

fn changes(work: &Work<'_>, want: &Want<'_>) -> Result<Vec<Planned>, Unmade> {
    let write = want.entry.write.as_ref().ok_or_else(|| no("nearside has no way to write it"))?;
    let to = written(write, &want.to).ok_or_else(|| {
        no(&format!("nearside cannot write {:?}, only {}", want.to, writable(write)))
    })?;
    let from = want.from.clone().and_then(|from| written(write, &from).ok_or(Why::Absent));
    match write.place {
        None => files(work, want, write, from, to),
        Some(WritePlace::Turbo) => Ok(vec![turbo(work, want)]),
        Some(WritePlace::IdleLatency) => {
            // What processes hold open now cannot be read; the fact is of the states themselves.
            Ok(vec![planned(want, None, Place::IdleLatency, Form::Number, Err(Why::Absent), to)])
        }
        Some(WritePlace::MaxReadRequest) => {
            let device = want.device.clone();
            Ok(vec![planned(want, device, Place::MaxReadRequest, Form::Number, from, to)])
        }
        Some(place) => match what(place) {
            Some(what) => ethtool_change(work, want, what, to).map(|planned| vec![planned]),
            None => Err(no("it is placed with its device's interrupts")),
        },
    }
}

fn no(because: &str) -> Unmade {
    (LeftWhy::Prerequisite, because.to_owned())
}

/// What is written for an observed value.
pub(crate) fn written(write: &Write, value: &str) -> Option<String> {
    let value = match (write.values.is_empty(), write.values.get(value)) {
        (true, _) => value.to_owned(),
        (false, mapped) => mapped?.clone(),
    };
    Some(match &write.spelled {
        Some(spelled) => spelled.replace("{value}", &value),
        None => value,
    })
}

fn writable(write: &Write) -> String {
    write.values.keys().map(|value| format!("{value:?}")).collect::<Vec<_>>().join(", ")
}

pub(crate) fn what(place: WritePlace) -> Option<Ethtool> {
    match place {
        WritePlace::Channels => Some(Ethtool::Channels),
        WritePlace::Rings => Some(Ethtool::Rings),
        WritePlace::Coalescing => Some(Ethtool::Coalescing),
        WritePlace::Features => Some(Ethtool::Features),
        WritePlace::Pause => Some(Ethtool::Pause),
        _ => None,
    }
}

fn planned(
    want: &Want<'_>,
    device: Option<Device>,
    place: Place,
    form: Form,
    from: Fact<String>,
    to: String,
) -> Planned {
    Planned {
        setting: want.entry.id.clone(),
        device,
        place,
        form,
        from,
        to,
        because: want.because.clone(),
        cost: want.entry.trade_off.clone(),
        drops_link: None,
    }
}

fn ethtool_change(
    work: &Work<'_>,
    want: &Want<'_>,
    what: Ethtool,
    to: String,
) -> Result<Planned, Unmade> {
    let nic = nic_of(work, want).ok_or_else(|| no("it is a setting of network devices"))?;
    let to = ethtool::needed(nic, &what, &to);
    if let Some(obstacle) = ethtool::obstacle(nic, &what, &to) {
        return Err(no(&obstacle));
    }
    let from = ethtool::now(nic, &what, &to);
    if from == Err(Why::NotSupported) {
        return Err(no(&format!("the driver of {} does not support it", nic.name)));
    }
    let drops = ethtool::drops_link(&what, &to).then(|| nic.name.clone());
    let place = Place::Ethtool { what };
    let mut planned = planned(want, Some(device::nic(nic)), place, Form::Text, from, to);
    planned.drops_link = drops;
    Ok(planned)
}

fn nic_of<'a>(work: &Work<'a>, want: &Want<'_>) -> Option<&'a Nic> {
    device::nic_called(work.machine(), &want.device.as_ref()?.name)
}

/// `intel_pstate/no_turbo` says the opposite of `cpufreq/boost`
/// (Documentation/admin-guide/pm/intel_pstate.rst, cpufreq.rst).
fn turbo(work: &Work<'_>, want: &Want<'_>) -> Planned {
    let mut policies = work.machine().power.policies.iter();
    // In its passive mode the driver calls itself intel_cpufreq; the file is the same.
    let is_intel =
        policies.any(|policy| matches!(&*policy.driver, "intel_pstate" | "intel_cpufreq"));
    let (path, form) = match is_intel {
        true => ("/sys/devices/system/cpu/intel_pstate/no_turbo", Form::Opposite),
        false => ("/sys/devices/system/cpu/cpufreq/boost", Form::Switch),
    };
    // What is seen says who turned it off; the file does not.
    let word = |value: &str| if value == "on" { "on" } else { "off" }.to_owned();
    let from = want.from.clone().map(|from| word(&from));
    let place = Place::File { path: path.to_owned() };
    planned(want, None, place, form, from, word(&want.to))
}

fn files(
    work: &Work<'_>,
    want: &Want<'_>,
    write: &Write,
    from: Fact<String>,
    to: String,
) -> Result<Vec<Planned>, Unmade> {
    let observed = want.entry.observe.file.as_deref();
    let template = write.file.as_deref().or(observed).ok_or_else(|| no("it has no file"))?;
    let is_own = write.file.is_none();
    let form = write.form.unwrap_or(if is_own { want.entry.observe.form } else { Form::Text });
    let from = if is_own || write.form.is_none() { from } else { other_form(form, from) };
    if is_own && matches!(from, Err(Why::Absent)) {
        return Err(no("this kernel or device has no such file"));
    }
    let from = if template.ends_with(LINK_STATES) { link_states(work, want)? } else { from };
    let devices = devices(work, want, template);
    if devices.is_empty() {
        return Err(no("the device that it is written on is not known"));
    }
    let change = |device: Option<Device>| {
        let path = path(template);
        let mut planned =
            planned(want, device, Place::File { path }, form, from.clone(), to.clone());
        planned.drops_link = drops_link(work, want, template);
        planned
    };
    Ok(devices.into_iter().map(change).collect())
}

/// Files of a link's power saving: those of the states that it supports, and none where the kernel
/// does not manage it (drivers/pci/pcie/aspm.c).
pub(crate) const LINK_STATES: &str = "/link/*_aspm";

/// The value that all of a link's files have; unknown where they differ.
fn link_states(work: &Work<'_>, want: &Want<'_>) -> Result<Fact<String>, Unmade> {
    let function = want.device.as_ref().and_then(|device| device.function);
    let link = function.and_then(|at| work.machine().function(at)?.link.as_ref());
    let files = link.map(|link| link.aspm.files.as_slice()).unwrap_or_default();
    let mut states = files.iter().filter(|(name, _)| name.ends_with("_aspm")).map(|(_, on)| *on);
    let first = states.next().ok_or_else(|| no("the kernel does not manage this link's states"))?;
    let differ = || Why::unparsed("on for some states, off for others");
    let word = if first { "on" } else { "off" };
    Ok(if states.all(|on| on == first) { Ok(word.to_owned()) } else { Err(differ()) })
}

/// What was observed in other words is no value of the file.
fn other_form(form: Form, from: Fact<String>) -> Fact<String> {
    from.and_then(|from| setting::canonical(form, &from).ok_or(Why::Absent))
}

/// The devices that stand for `{...}` in a path: the want's own, or its functions.
fn devices(work: &Work<'_>, want: &Want<'_>, template: &str) -> Vec<Option<Device>> {
    let is_by_function = template.contains("{function}") && want.entry.scope != Scope::Function;
    match &want.device {
        None => vec![None],
        Some(own) if is_by_function => device::functions(work.machine(), &own.name)
            .into_iter()
            .map(|address| Some(device::function(address)))
            .collect(),
        Some(own) if words::is_name(&own.name) => vec![Some(own.clone())],
        Some(_) => Vec::new(),
    }
}

/// The template with `{device}` for its placeholder.
pub(crate) fn path(template: &str) -> String {
    let placeholders = ["{cpu}", "{node}", "{function}", "{drive}", "{nic}", "{host}"];
    placeholders.iter().fold(template.to_owned(), |path, word| path.replace(word, "{device}"))
}

/// Drivers reopen the device for another MTU.
fn drops_link(work: &Work<'_>, want: &Want<'_>, template: &str) -> Option<String> {
    let is_mtu = template.ends_with("/mtu");
    nic_of(work, want).filter(|_| is_mtu).map(|nic| nic.name.clone())
}
