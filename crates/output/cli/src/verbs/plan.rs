// SPDX-License-Identifier: MIT OR Apache-2.0
//! `nearside plan`: what would be changed, in which order, and what is left to others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use audit::Subject;
use machine::{Carries, Machine};
use plan::{BootTool, Named, Profile, Queues, Refusal, Request};
use report::findings::Detail;
use root::Root;
use setting::{Goal, Left};

use crate::args::{Common, Plan, Wishes};
use crate::expected::{Ended, Expected};
use crate::{source, subject, terminal, typed};

pub(crate) fn run(common: &Common, asked: &Plan) -> Result<Ended, Expected> {
    let made = make(common, &asked.wishes)?;
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

/// Reads the machine and plans what is wished.
pub(crate) fn make(common: &Common, wishes: &Wishes) -> Result<Made, Expected> {
    let catalogue = subject::catalogue(common.catalogue.as_deref())?;
    let mut request = request(wishes)?;
    let source = source::open(common)?;
    let mut read = subject::read(&*source.root, &catalogue);
    let around = Surroundings::ask(&*source.root);
    read.machine.carriers = around.carriers;
    request.boot = around.boot;
    find_again(&read.machine, &mut request);
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

/// What was typed, and what a profile adds to it. Where nothing is named, the goal is throughput.
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
    if request.goal.is_none() && request.named.is_empty() {
        request.goal = Some(Goal::Throughput);
    }
    Ok(request)
}

/// Devices that are named by what they are get the names that they have now. One that is not here
/// keeps its words, which no device has, and is refused.
fn find_again(machine: &Machine, request: &mut Request) {
    let named = request.named.iter_mut().filter_map(|named| named.device.as_mut());
    for device in named.chain(&mut request.devices).chain(&mut request.carries) {
        if let Some(name) = machine.called(device) {
            *device = name.to_owned();
        }
    }
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
