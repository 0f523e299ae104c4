// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a person asks a plan for, and what is wrong with it.

use std::fmt;

use audit::Subject;
use setting::{Form, Goal, Scope, Setting, WritePlace, canonical};

use crate::by_hand::BootTool;
use crate::placement::Where;
use crate::{resolve, words};

/// What a plan is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// Everything that the audit proposes for a goal; none for the named settings alone.
    pub goal: Option<Goal>,
    /// Settings by name. They win over the goal, and over the guard against being locked out.
    pub named: Vec<Named>,
    /// Of the goal only these settings; all where empty. What is listed counts as named for the
    /// guard. What is named is planned all the same.
    pub only: Vec<String>,
    /// Only these devices; all where empty.
    pub devices: Vec<String>,
    /// Network devices that carry the login, where that is known. Where it is not, every device
    /// that is in use may.
    pub carries: Vec<String>,
    /// What to do with more queues than near cores.
    pub queues: Queues,
    /// The tool that sets the kernel's command line here; none where it is not known.
    pub boot: Option<BootTool>,
}

/// One setting by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Id in the catalogue.
    pub setting: String,
    /// The value wanted.
    pub value: String,
    /// The device; every one that the setting was observed on, where none is named.
    pub device: Option<String>,
}

impl std::str::FromStr for Named {
    type Err = Refusal;

    /// `nic-rx-ring=4096@eth0`, `swappiness=10`.
    fn from_str(text: &str) -> Result<Self, Refusal> {
        let is_whole = |part: &str| !part.trim().is_empty();
        let refused = || {
            Refusal::new(
                format!("{text:?} is no setting with a value"),
                "write SETTING=VALUE or SETTING=VALUE@DEVICE",
            )
        };
        let (setting, value) = text.split_once('=').ok_or_else(refused)?;
        // No value has an @ in it, and the name of a device may (dev_valid_name, net/core/dev.c).
        let (value, device) = match value.split_once('@') {
            Some((value, device)) => (value, Some(device.trim().to_owned())),
            None => (value, None),
        };
        if !is_whole(setting) || device.as_deref().is_some_and(|device| !is_whole(device)) {
            return Err(refused());
        }
        Ok(Self { setting: setting.trim().to_owned(), value: value.trim().to_owned(), device })
    }
}

/// What to do with a port that has more queues than there are cores near it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Queues {
    /// Keep them: they share the cores in turn.
    #[default]
    Keep,
    /// Reduce the channels to the cores. Drops the link for a moment.
    Fit,
}

/// What is wrong with a request, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub help: String,
}

impl Refusal {
    pub(crate) fn new(what: impl Into<String>, help: impl Into<String>) -> Self {
        Self { what: what.into(), help: help.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\nhelp: {}", self.what, self.help)
    }
}

impl std::error::Error for Refusal {}

/// Whether a request can be planned at all: settings that there are, devices that the machine has,
/// values that fit. [`crate::plan`] leaves what does not pass here.
pub fn check(subject: &Subject<'_>, request: &Request) -> Result<(), Refusal> {
    for id in &request.only {
        entry(subject, id)?;
    }
    for named in &request.named {
        if is_guarded(&named.setting) {
            continue;
        }
        let entry = entry(subject, &named.setting)?;
        check_narrowed(entry, request)?;
        if let Some(device) = &named.device {
            check_device(subject, entry, named, device)?;
        }
        check_value(entry, &named.value)?;
        check_twice(request, named)?;
    }
    request.devices.iter().try_for_each(|device| known_device(subject, device))?;
    request.carries.iter().try_for_each(|name| known_nic(subject, name))
}

/// A name that guards nothing would let a person believe that the login is safe.
fn known_nic(subject: &Subject<'_>, name: &str) -> Result<(), Refusal> {
    let nics = &subject.machine.nics;
    if nics.iter().any(|nic| nic.name == name) {
        return Ok(());
    }
    let known: Vec<&str> = nics.iter().map(|nic| nic.name.as_str()).collect();
    let help = match known.is_empty() {
        true => "this machine has none".to_owned(),
        false => format!("it has {}", known.join(", ")),
    };
    Err(Refusal::new(format!("this machine has no network device called {name:?}"), help))
}

/// Whether a name is that of a sysctl that keeps the machine safe. It is planned, and left.
pub(crate) fn is_guarded(name: &str) -> bool {
    catalogue::file_of_sysctl(name).is_some_and(|file| setting::keeps_safe(&file))
}

fn entry<'a>(subject: &Subject<'a>, id: &str) -> Result<&'a Setting, Refusal> {
    subject.catalogue.get(id).ok_or_else(|| {
        let near = subject.catalogue.nearest(id);
        let help = match near.first() {
            Some(near) => {
                format!("did you mean {near:?}? `nearside explain --list` names them all")
            }
            None => "`nearside explain --list` names them all".to_owned(),
        };
        Refusal::new(format!("no setting is called {id:?}"), help)
    })
}

/// Whether a machine's setting is asked for where the plan is narrowed to devices.
fn check_narrowed(entry: &Setting, request: &Request) -> Result<(), Refusal> {
    if entry.scope != Scope::Machine || request.devices.is_empty() {
        return Ok(());
    }
    let what = format!(
        "{} is the machine's, and the plan is narrowed to {}",
        entry.id,
        request.devices.join(", ")
    );
    Err(Refusal::new(what, "plan it by itself, without --device"))
}

/// Whether a setting can be one of a device, and the device takes the value.
fn check_device(
    subject: &Subject<'_>,
    entry: &Setting,
    named: &Named,
    device: &str,
) -> Result<(), Refusal> {
    let Named { setting, value, .. } = named;
    if entry.scope == Scope::Machine {
        let what = format!("{setting} is the machine's, and {device} has none of its own");
        return Err(Refusal::new(what, format!("write {setting}={value}")));
    }
    known_device(subject, device)?;
    let place = entry.write.as_ref().and_then(|write| Some((write.place?, write)));
    let nic = crate::device::nic_called(subject.machine, device);
    let ethtool = place.and_then(|(place, write)| Some((resolve::what(place)?, write)));
    let Some(((what, write), nic)) = ethtool.zip(nic) else { return Ok(()) };
    let written = resolve::written(write, value).unwrap_or_default();
    match crate::ethtool::outside(nic, &what, &written) {
        Some(range) => Err(Refusal::new(
            format!("{setting} does not take {value:?} on {device}"),
            format!("{range}; `nearside topology --irqs {device}` shows its queues"),
        )),
        None => Ok(()),
    }
}

/// Refuses two values for one thing: which of them is meant?
fn check_twice(request: &Request, named: &Named) -> Result<(), Refusal> {
    let is_rival = |other: &&Named| {
        other.setting == named.setting && other.device == named.device && other.value != named.value
    };
    let Some(other) = request.named.iter().find(is_rival) else { return Ok(()) };
    let of = named.device.as_ref().map(|device| format!(" of {device}")).unwrap_or_default();
    let (setting, one, two) = (&named.setting, &named.value, &other.value);
    let what = format!("{setting}{of} is asked for twice: {one} and {two}");
    Err(Refusal::new(what, "leave one of them out"))
}

fn known_device(subject: &Subject<'_>, device: &str) -> Result<(), Refusal> {
    let machine = subject.machine;
    let is_host = || {
        let mut paths = machine.drives.iter().flat_map(|drive| &drive.controllers);
        paths.any(|path| path.name == device)
    };
    let is_group = || crate::device::cpus_of(device).is_some() || device.starts_with("node ");
    let is_observed = || {
        let mut seen = subject.observations.iter();
        seen.any(|seen| seen.device.as_deref() == Some(device))
    };
    if machine.near(device).is_some() || is_host() || is_group() || is_observed() {
        return Ok(());
    }
    let what = format!("this machine has no device called {device:?}");
    Err(Refusal::new(what, "name a drive, NIC, GPU, PCI address, `cpu N` or `node N`"))
}

/// Whether a value is one that the setting takes, spelled as it is observed.
fn check_value(entry: &Setting, value: &str) -> Result<(), Refusal> {
    let id = &entry.id;
    let refused = |help: String| {
        let typed = match value {
            "on" | "off" => "; in a profile, true and false are on and off",
            _ => "",
        };
        Err(Refusal::new(format!("{id} does not take {value:?}"), help + typed))
    };
    let write = entry.write.as_ref();
    match write.and_then(|write| write.place) {
        Some(WritePlace::Interrupt) => {
            let parsed = value.parse::<Where>();
            return parsed.map(|_| ()).map_err(|why| {
                Refusal::new(format!("{id} does not take {value:?}: {why}"), Where::HELP)
            });
        }
        Some(WritePlace::TransmitSteering) if value != "matched" => {
            return refused("value: matched".to_owned());
        }
        Some(WritePlace::ReceiveSteering) if !matches!(value, "off" | "near") => {
            return refused("values: off, near".to_owned());
        }
        // The other values say what is there, and are nothing to ask for.
        Some(WritePlace::Service) if !matches!(value, "running" | "stopped") => {
            return refused("values: running, stopped".to_owned());
        }
        Some(WritePlace::FlowSteering) if !matches!(value, "on" | "off") => {
            return refused("values: on, off".to_owned());
        }
        Some(WritePlace::ReceiveSpread) if value != "even" => {
            let is_number = value.parse::<u32>().is_ok_and(|queues| queues > 0);
            return if is_number {
                Ok(())
            } else {
                refused("even, or a number of queues".to_owned())
            };
        }
        _ => {}
    }
    if let Some((least, most)) = entry.range {
        let is_inside = value.parse::<i64>().is_ok_and(|number| (least..=most).contains(&number));
        return if is_inside {
            Ok(())
        } else {
            refused(format!("a number from {least} to {most}"))
        };
    }
    let is_free = is_free(entry);
    if is_free && fits(entry, value) {
        return Ok(());
    }
    let known: Vec<&str> = entry.values.iter().map(|meaning| meaning.value.as_str()).collect();
    let is_known = known.iter().any(|word| words::same(entry.observe.form, word, value));
    match (known.is_empty(), is_known) {
        (true, _) if fits(entry, value) => Ok(()),
        (true, _) if is_numeric(entry) => refused("its form is a number".to_owned()),
        (true, _) => refused(format!("its form is {}", words::form(entry.observe.form))),
        (false, true) => Ok(()),
        (false, false) => refused(format!("values: {}", known.join(", "))),
    }
}

/// Whether a setting takes more than the values that its entry explains.
fn is_free(entry: &Setting) -> bool {
    matches!(entry.observe.form, Form::Number | Form::Numbers | Form::CpuList | Form::CpuMask)
        && entry.observe.file.is_some()
}

fn is_numeric(entry: &Setting) -> bool {
    entry.observe.fact.as_deref().is_some_and(|fact| setting::NUMERIC_FACTS.contains(&fact))
}

fn fits(entry: &Setting, value: &str) -> bool {
    let numeric = is_numeric(entry);
    let is_mask = entry.observe.form == Form::CpuMask;
    match () {
        () if numeric => value.parse::<u32>().is_ok(),
        // Values are named as they are printed, and masks print as lists.
        () if is_mask => units::CpuSet::from_list(value).is_ok(),
        () if entry.observe.form == Form::Selected => !value.trim().is_empty(),
        () => {
            let is_plain = !value.trim().is_empty() && !value.contains(['\n', '\0']);
            is_plain && canonical(entry.observe.form, value).is_some()
        }
    }
}
