// SPDX-License-Identifier: MIT OR Apache-2.0
//! `nearside plan`: what would be changed, in which order, and what is left to others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use audit::Subject;
use machine::{Carries, Machine, is_identity};
use plan::{BootTool, Named, Profile, Queues, Refusal, Request};
use report::findings::Detail;
use root::Root;
use setting::{Goal, Left};

use crate::args::{Common, Plan, Wishes};
use crate::expected::{Ended, Expected};
use crate::verbs::persist;
use crate::{source, subject, terminal, typed};

pub(crate) fn run(common: &Common, asked: &Plan) -> Result<Ended, Expected> {
    let made = make(common, &asked.wishes, None)?;
    if common.json {
        terminal::document(&report::json::plan(&made.plan))?;
    } else if asked.script {
        terminal::answer(&made.script())?;
    } else if asked.undo_script {
        terminal::answer(&plan::undo_script(&made.plan, &made.machine))?;
    } else {
        let detail = if asked.verbose { Detail::Full } else { Detail::Brief };
        terminal::answer(&report::plan::draw(&made.plan, detail, &terminal::style(common.color)))?;
    }
    Ok(Ended::Well)
}

/// A plan, and the machine it is for.
pub(crate) struct Made {
    pub(crate) plan: setting::Plan,
    pub(crate) machine: Machine,
    /// What of it was named, and is left all the same.
    pub(crate) impossible: Vec<Left>,
    /// Network devices whose link it may drop, each with what hangs on it.
    pub(crate) drops: BTreeMap<String, String>,
}

impl Made {
    /// The plan as a shell script.
    pub(crate) fn script(&self) -> String {
        plan::script(&self.plan, &self.machine)
    }
}

/// Reads the machine and plans what is wished. Names are those of the `kept` machine where the wish
/// was kept over boots, and nothing is planned where the machine is another one by now.
pub(crate) fn make(
    common: &Common,
    wishes: &Wishes,
    kept: Option<&Machine>,
) -> Result<Made, Expected> {
    let catalogue = subject::catalogue(common.catalogue.as_deref())?;
    let mut request = request(wishes)?;
    let source = source::open(common)?;
    let mut read = subject::read(&*source.root, &catalogue);
    let around = Surroundings::ask(&*source.root);
    read.machine.carriers = around.carriers;
    request.boot = around.boot;
    if let Some(kept) = kept {
        persist::check_machine(kept, &read.machine, &request)?;
    }
    find_again(kept, &read.machine, &mut request);
    if kept.is_some() {
        for device in leave_absent(&read.machine, &mut request) {
            terminal::hint(&format!("{device} is not here and is left out until it comes"));
        }
    }
    let subject = Subject {
        machine: &read.machine,
        observations: &read.observations,
        catalogue: &catalogue,
        goal: request.goal.unwrap_or_default(),
    };
    plan::check(&subject, &request)?;
    let mut plan = plan::plan(&subject, &request);
    for line in plan.left.iter_mut().flat_map(|left| &mut left.by_hand) {
        *line = typed::again(line);
    }
    let impossible = plan.left.iter().filter(|left| plan::was_named(&read.machine, &request, left));
    let impossible = impossible.cloned().collect();
    let drops = plan::dropped_links(&read.machine, &request, &plan);
    Ok(Made { plan, machine: read.machine, impossible, drops })
}

impl From<Refusal> for Expected {
    fn from(refusal: Refusal) -> Self {
        Self::usage(refusal.what, refusal.help)
    }
}

/// What was typed, and what a profile adds to it. Where nothing is named, or a goal is narrowed
/// down, the goal is throughput.
fn request(asked: &Wishes) -> Result<Request, Expected> {
    let mut request = Request {
        goal: asked.goal.map(Goal::from),
        named: asked.set.iter().map(|text| text.parse()).collect::<Result<_, Refusal>>()?,
        only: asked.only.clone(),
        devices: asked.device.clone(),
        carries: asked.carries.clone(),
        queues: if asked.fit_channels { Queues::Fit } else { Queues::Keep },
        ..Request::default()
    };
    request.named.extend(places(asked));
    if let Some(file) = &asked.profile {
        profile(file)?.add_to(&mut request);
    }
    if request.goal.is_none() && (request.named.is_empty() || !request.only.is_empty()) {
        request.goal = Some(Goal::Throughput);
    }
    Ok(request)
}

/// Devices that are named by what they are, or by what they were called on a `kept` machine, get the
/// names that they have now. One that is not here keeps its words, which no device has, and is refused.
fn find_again(kept: Option<&Machine>, now: &Machine, request: &mut Request) {
    let named = request.named.iter_mut().filter_map(|named| named.device.as_mut());
    for device in named.chain(&mut request.devices).chain(&mut request.carries) {
        if let Some(identity) = kept.and_then(|kept| kept.identity(device)) {
            *device = identity;
        }
        if let Some(name) = now.called(device) {
            *device = name.to_owned();
        }
    }
}

/// A kept wish is had for the devices that are here: one that is gone keeps no other from it. Where
/// none of those that were named is here, they stay, and are refused. Gives those that are left out.
fn leave_absent(now: &Machine, request: &mut Request) -> BTreeSet<String> {
    let is_gone = |device: &String| is_identity(device) && now.called(device).is_none();
    let of_named = |named: &Named| named.device.as_ref().is_some_and(is_gone);
    let mut gone = BTreeSet::new();
    if !request.named.iter().all(of_named) {
        let named = request.named.extract_if(.., |named| of_named(named));
        gone.extend(named.filter_map(|named| named.device));
    }
    for list in [&mut request.devices, &mut request.carries] {
        if !list.iter().all(is_gone) {
            gone.extend(list.extract_if(.., |device| is_gone(device)));
        }
    }
    gone
}

/// The two forms of the vendors' scripts: `--cpus LIST` and `--node N`, for each device.
fn places(asked: &Wishes) -> Vec<Named> {
    let value = match (&asked.cpus, asked.node) {
        (Some(list), _) => format!("cpus:{list}"),
        (None, Some(node)) => format!("node:{node}"),
        (None, None) => return Vec::new(),
    };
    let named = |setting: &str, device: &String| Named {
        setting: setting.to_owned(),
        value: value.clone(),
        device: Some(device.clone()),
    };
    let is_drive = |device: &str| {
        device.trim_start_matches("/dev/").starts_with("nvme") || device.starts_with("serial:")
    };
    let setting = |device: &String| match is_drive(device) {
        true => named("drive-irq-placement", device),
        false => named("nic-irq-placement", device),
    };
    asked.device.iter().map(setting).collect()
}

fn profile(file: &Path) -> Result<Profile, Expected> {
    let text = subject::read_text(file).map_err(|error| {
        let what = format!("cannot read the profile {}: {error}", file.display());
        Expected::precondition(what, "name a TOML file; docs/plan.md shows one")
    })?;
    Profile::parse(&text).map_err(|error| {
        Expected::usage(format!("{}: {error}", file.display()), "docs/plan.md shows a profile")
    })
}

/// What a plan asks of a root beside the machine. A capture asks it too, so that it can be planned
/// for.
pub(crate) struct Surroundings {
    carriers: BTreeMap<String, BTreeSet<Carries>>,
    boot: Option<BootTool>,
}

impl Surroundings {
    pub(crate) fn ask(root: &dyn Root) -> Self {
        let signs = [
            ("/usr/bin/kernelstub", BootTool::Kernelstub),
            ("/usr/sbin/grubby", BootTool::Grubby),
            ("/etc/default/grub", BootTool::Grub),
            ("/etc/kernel/cmdline", BootTool::SystemdBoot),
        ];
        let boot = signs.into_iter().find(|(path, _)| root.mode(path).is_ok());
        Self { carriers: linux::carriers(root), boot: boot.map(|(_, tool)| tool) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two ports and two drives that swapped their names since the profile was kept.
    #[test]
    fn devices_of_a_kept_profile_are_found_by_what_they_were() {
        let root = synthetic::parse(synthetic::named("healthy-two-socket").unwrap()).unwrap();
        let kept = linux::read(&root.build());
        let mut now = kept.clone();
        let own = |nic: &&machine::Nic| kept.identity(&nic.name).is_some();
        let nics: Vec<String> = kept.nics.iter().filter(own).map(|n| n.name.clone()).collect();
        let drives: Vec<String> = kept.drives.iter().map(|drive| drive.name.clone()).collect();
        let (nic, drive) = ([&nics[0], &nics[1]], [&drives[0], &drives[1]]);
        let swapped = |name: &String, [a, b]: [&String; 2]| match name {
            name if name == a => b.clone(),
            name if name == b => a.clone(),
            name => name.clone(),
        };
        now.nics.iter_mut().for_each(|one| one.name = swapped(&one.name, nic));
        now.drives.iter_mut().for_each(|one| one.name = swapped(&one.name, drive));
        let text = format!(
            "[device.{}]\nnic-rx-ring = 4096\n[device.\"/dev/{}\"]\nblock-scheduler = \"none\"\n\
             [device.gone0]\nnic-rx-ring = 1\n",
            nic[0], drive[0]
        );
        let found = |kept: Option<&Machine>| {
            let mut request = Request::default();
            Profile::parse(&text).unwrap().add_to(&mut request);
            find_again(kept, &now, &mut request);
            request.named.into_iter().filter_map(|named| named.device).collect::<BTreeSet<_>>()
        };
        let set = |names: [&str; 3]| names.map(str::to_owned).into_iter().collect::<BTreeSet<_>>();
        assert_eq!(found(Some(&kept)), set([nic[1], drive[1], "gone0"]));
        // Typed today, a name is one of today.
        assert_eq!(found(None), set([nic[0], &format!("/dev/{}", drive[0]), "gone0"]));
    }

    #[test]
    fn a_device_that_is_gone_keeps_no_other_from_its_wish() {
        let root = synthetic::parse(synthetic::named("healthy-two-socket").unwrap()).unwrap();
        let kept = linux::read(&root.build());
        let mut now = kept.clone();
        let gone = now.drives.remove(0).name;
        let there = now.drives[0].name.clone();
        let identity = kept.identity(&gone).unwrap();
        let asked = |devices: &[&String]| {
            let set = |on: &&String| format!("block-scheduler=none@{on}").parse().unwrap();
            let mut request = Request {
                named: devices.iter().map(set).collect(),
                devices: devices.iter().map(|device| (*device).clone()).collect(),
                ..Request::default()
            };
            find_again(Some(&kept), &now, &mut request);
            let left = leave_absent(&now, &mut request);
            let named = request.named.into_iter().filter_map(|named| named.device);
            (left.into_iter().collect::<Vec<_>>(), named.collect::<Vec<_>>(), request.devices)
        };
        let (one, all) = (vec![there.clone()], vec![identity.clone()]);
        assert_eq!(asked(&[&gone, &there]), (all.clone(), one.clone(), one));
        assert_eq!(asked(&[&gone]), (Vec::new(), all.clone(), all));
    }
}
