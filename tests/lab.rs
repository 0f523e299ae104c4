// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lab's machines against what their files say, and the runner against its own promises.
//!
//! Each machine is booted once and many things are looked at: what nearside, hwloc and numactl say
//! of it is laid beside its TOML file, one line of text a fact. Only `NEARSIDE_LAB=1` starts QEMU;
//! `NEARSIDE_LAB=full` boots every machine with both kernels.

#![expect(clippy::print_stderr, reason = "a boot's times are told beside its verdict")]

#[path = "lab/change.rs"]
mod change;
#[path = "lab/facts.rs"]
mod facts;
#[path = "lab/kept.rs"]
mod kept;
#[path = "lab/life.rs"]
mod life;
#[path = "lab/lockout.rs"]
mod lockout;
#[path = "lab/look.rs"]
mod look;
#[path = "lab/moved.rs"]
mod moved;
#[path = "lab/near.rs"]
mod near;
#[path = "lab/others.rs"]
mod others;
#[path = "lab/ours.rs"]
mod ours;
#[path = "lab/peers.rs"]
mod peers;
#[path = "lab/served.rs"]
mod served;
#[path = "lab/traps.rs"]
mod traps;
#[path = "lab/undo.rs"]
mod undo;
#[path = "lab/wanted.rs"]
mod wanted;

use nearside_lab::{Kernel, Lab, machine};
use support::{Failed, Trial, failed};

/// How much of the lab was asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tier {
    /// Nothing.
    None,
    /// Each machine with one kernel.
    Short,
    /// Each machine with both.
    Full,
}

fn main() {
    let tier = match std::env::var("NEARSIDE_LAB").as_deref() {
        Ok("full") => Tier::Full,
        Ok("1") => Tier::Short,
        _ => Tier::None,
    };
    let mut trials = Vec::new();
    for (number, name) in machine::names().unwrap_or_default().into_iter().enumerate() {
        for kernel in kernels(tier, number) {
            let machine = name.clone();
            let body = move || look::look(&machine, kernel);
            trials.push(trial(tier, format!("{name}/{kernel}"), body));
        }
    }
    for (name, body) in life::TRIALS {
        trials.push(trial(tier, name.to_owned(), body));
    }
    trials.extend(changes(tier));
    support::run(trials)
}

/// Changes made and taken back: a goal on two machines, or each goal, machine and kernel.
fn changes(tier: Tier) -> Vec<Trial> {
    let (goals, kills, cuts): (&[&str], _, _) = match tier {
        Tier::Full => (&["throughput", "latency", "balanced"], 50, 20),
        Tier::Short | Tier::None => (&["throughput"], 5, 2),
    };
    let machines = match tier {
        Tier::Full => machine::names().unwrap_or_default(),
        Tier::Short | Tier::None => ["nics", "r770-snc-on"].map(str::to_owned).to_vec(),
    };
    let mut trials = Vec::new();
    for (number, name) in machines.into_iter().enumerate() {
        for kernel in kernels(tier, number) {
            let machine = name.clone();
            let body = move || undo::exact(&machine, kernel, goals);
            trials.push(trial(tier, format!("change/undo/{name}/{kernel}"), body));
        }
    }
    let kernel = Kernel::V6_12;
    trials.push(trial(tier, "change/kills".to_owned(), move || undo::kills("nics", kernel, kills)));
    let cut = move || undo::power_cuts("pair", Kernel::V6_1, cuts);
    trials.push(trial(tier, "change/power-cuts".to_owned(), cut));
    let named = |name: &str, body: fn() -> Result<(), Failed>| trial(tier, name.to_owned(), body);
    trials.extend([
        named("change/served-near/nics", || served::near("nics", Kernel::V6_1)),
        named("change/served-near/snc2-linear", || served::near("snc2-linear", Kernel::V6_12)),
        named("change/lock-out", || lockout::comes_back(Kernel::V6_12)),
        named("change/others", || others::keep_theirs("pair", Kernel::V6_1)),
        named("change/peers", || peers::agree("r770-snc-on", Kernel::V6_1)),
        named("change/moved/drives", || moved::drives(Kernel::V6_1)),
        named("change/moved/nics", || moved::nics(Kernel::V6_12)),
        named("change/traps/names-and-order", || traps::names_and_order(Kernel::V6_1)),
        named("change/traps/beyond-32", || traps::beyond_32(Kernel::V6_1)),
        named("change/exec", || near::like_numactl("snc2-linear", Kernel::V6_1)),
    ]);
    if tier == Tier::Full {
        trials.push(named("change/kept", || kept::over_boots(Kernel::V6_1)));
    }
    trials
}

/// The kernels that a machine is booted with: in turn where only one is asked for.
fn kernels(tier: Tier, number: usize) -> Vec<Kernel> {
    match tier {
        Tier::Full => Kernel::ALL.to_vec(),
        Tier::Short | Tier::None => Kernel::ALL.into_iter().cycle().skip(number).take(1).collect(),
    }
}

fn trial(
    tier: Tier,
    name: String,
    body: impl FnOnce() -> Result<(), Failed> + Send + 'static,
) -> Trial {
    if tier == Tier::None {
        return support::ignored(name, "NEARSIDE_LAB is not set");
    }
    support::trial_unless(name, nearside_lab::missing(), body)
}

fn images() -> Result<Lab, Failed> {
    Lab::ready().map_err(failed)
}
