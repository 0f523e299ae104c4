// SPDX-License-Identifier: MIT OR Apache-2.0
//! `nearside exec`: a command on the CPUs and memory near the devices that it works with.
//!
//! Only what the question needs is read, and the process becomes the command: what stands before
//! its first instruction is a few dozen small files.

pub(crate) mod named;

use std::ffi::OsString;

use linux::{Addresses, Asked, Part};
use machine::{Lost, LostWhy, Site};
use place::words::Dialect;
use place::{Ask, Interrupts, Placement, Policy};
use root::{LiveRoot, Root};
use run::Extras;

use crate::args::{Common, Exec, Memory, Print};
use crate::expected::{EXEC_FAILED, Ended, Expected};
use crate::typed::quoted;
use crate::{source, terminal};

pub(crate) fn run(common: &Common, exec: &Exec) -> Result<Ended, Expected> {
    placed(common, exec).map_err(Expected::in_exec)
}

fn placed(common: &Common, exec: &Exec) -> Result<Ended, Expected> {
    let is_shown = exec.print.is_some() || common.json;
    refuse_early(common, exec, is_shown)?;
    if is_shown {
        let source = source::open(common)?;
        let asked = named::all(&exec.near, source.kind)?;
        let is_redacted = source.about.as_ref().is_some_and(|about| about.redacted);
        let addresses = if is_redacted { Addresses::Redacted } else { Addresses::Kept };
        let (site, placement) = place(&*source.root, addresses, &asked, exec)?;
        return show(common, exec, &site, &placement);
    }
    let live = source::live()?;
    let asked = named::all(&exec.near, source::Kind::Live)?;
    let (_, placement) = place(&live, Addresses::Kept, &asked, exec)?;
    tell(&placement);
    start(&live, exec, &placement)
}

fn refuse_early(common: &Common, exec: &Exec, is_shown: bool) -> Result<(), Expected> {
    let only_shown = common.from.is_some() && !is_shown;
    match (exec.print, common.json) {
        (Some(_), true) => {
            let what = "--json and --print are two answers, and one is printed";
            Err(Expected::usage(what, "leave one of them out"))
        }
        _ if only_shown => {
            let what = "a captured machine cannot run a command";
            Err(Expected::usage(
                what,
                "add --print numactl (or another) or --json, or leave --from",
            ))
        }
        _ if exec.command.is_empty() && !is_shown => {
            let what = "no command is named";
            Err(Expected::usage(what, "nearside exec --near nvme0n1 -- COMMAND, or --print why"))
        }
        _ => Ok(()),
    }
}

fn place(
    root: &dyn Root,
    addresses: Addresses,
    asked: &[Asked],
    exec: &Exec,
) -> Result<(Site, Placement), Expected> {
    let ask = ask(exec);
    let mut parts = Vec::new();
    if ask.cores.is_some() || ask.threads_per_core.is_some() || exec.avoid_irqs {
        parts.push(Part::Cores);
    }
    if exec.avoid_irqs {
        parts.push(Part::Interrupts);
    }
    let site = linux::site(root, addresses, asked, &parts).map_err(|lost| explain(root, lost))?;
    let placement = place::place(&site, &ask)
        .map_err(|refusal| Expected::precondition(refusal.to_string(), refusal.help()))?;
    Ok((site, placement))
}

fn ask(exec: &Exec) -> Ask {
    Ask {
        cores: exec.cores,
        threads_per_core: exec.threads_per_core,
        among: exec.cpus.clone(),
        policy: match exec.memory {
            Memory::Bind => Policy::Bind,
            Memory::Prefer => Policy::Prefer,
            Memory::Local => Policy::Local,
        },
        interrupts: if exec.avoid_irqs { Interrupts::Avoid } else { Interrupts::Share },
    }
}

/// Only now is the whole machine read: for the names that there are.
fn explain(root: &dyn Root, lost: Lost) -> Expected {
    match lost.why {
        LostWhy::NoSuchName => report::UnknownDevice::of(&linux::read(root), &lost.asked).into(),
        LostWhy::NoDevice(_) => {
            let help = "name the drive, NIC or GPU itself: `nearside topology` shows them";
            Expected::precondition(lost.to_string(), help)
        }
    }
}

fn show(
    common: &Common,
    exec: &Exec,
    site: &Site,
    placement: &Placement,
) -> Result<Ended, Expected> {
    let dialect = match exec.print {
        None => {
            terminal::document(&report::json::placement(site, placement))?;
            return Ok(Ended::Well);
        }
        Some(Print::Why) => {
            let style = terminal::style(common.color);
            terminal::answer(&report::placement::draw(placement, &style))?;
            return Ok(Ended::Well);
        }
        Some(Print::Numactl) => Dialect::Numactl,
        Some(Print::Taskset) => Dialect::Taskset,
        Some(Print::Systemd) => Dialect::Systemd,
        Some(Print::Docker) => Dialect::Docker,
        Some(Print::Kubernetes) => Dialect::Kubernetes,
        Some(Print::Slurm) => Dialect::Slurm,
    };
    tell(placement);
    terminal::answer(&place::words::write(dialect, placement, &line(&exec.command)))?;
    Ok(Ended::Well)
}

/// The command as a shell reads it.
fn line(command: &[OsString]) -> String {
    if command.is_empty() {
        return "COMMAND".to_owned();
    }
    command.iter().map(|word| quoted(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
}

fn tell(placement: &Placement) {
    placement.doubts.iter().for_each(|doubt| terminal::hint(&format!("nearside: {doubt}")));
}

/// Takes the placement and becomes the command.
fn start(live: &LiveRoot, exec: &Exec, placement: &Placement) -> Result<Ended, Expected> {
    let Some((command, arguments)) = exec.command.split_first() else { return Ok(Ended::Well) };
    let extras = Extras { nice: exec.nice, io: exec.ioprio, cgroup: exec.cgroup.as_deref() };
    let _carried =
        run::carry_out(live, placement, &extras).map_err(|error| Expected::NotStarted {
            what: error.to_string(),
            help: error.help().to_owned(),
            code: EXEC_FAILED,
        })?;
    let failed = run::become_command(command, arguments);
    let code = failed.exit_code();
    let help = if code == 127 {
        "name a command that is in PATH, or its path"
    } else {
        "look at its permissions, and at the interpreter that its first line names"
    };
    Err(Expected::NotStarted { what: failed.to_string(), help: help.to_owned(), code })
}
