// SPDX-License-Identifier: MIT OR Apache-2.0
//! A plan as a shell script that a person can read and run, and the script that takes it back.
//!
//! POSIX shell (dash runs it). The first stops at the first failure; the second goes on to its end,
//! the newest change first, and then fails. With `ROOT` set they write below that folder and run no
//! command: a copied or made-up /sys and /proc.

mod interrupt;
mod line;
mod pair;
mod quote;

use machine::Machine;
use setting::{Goal, Left, Movers, Place, Plan, Planned};

use self::interrupt::Numbers;
use self::line::{Direction, lines};
use self::quote::comment;
pub(crate) use self::quote::quote;
use crate::beside;
use crate::words::count;

/// The functions of a script: name, text, and what they need in turn.
const HELPERS: &[(&str, &str)] = &[
    (
        "put",
        "# put FILE VALUE\n\
         put() {\n\
         \x20   [ -e \"$1\" ] || { fail \"there is no $1\"; return 0; }\n\
         \x20   printf '%s\\n' \"$2\" > \"$1\" || fail \"cannot write $2 to $1\"\n\
         }",
    ),
    (
        "run",
        "# run COMMAND...: not where ROOT stands for another machine\n\
         run() {\n\
         \x20   if [ -n \"$ROOT\" ]; then printf 'not run: %s\\n' \"$*\"; return 0; fi\n\
         \x20   \"$@\" || fail \"$*\"\n\
         }",
    ),
    (
        "irq",
        "# irq NUMBER NAME CPUS: only while the number still is that device's\n\
         irq() {\n\
         \x20   grep \"^ *$1:\" \"$ROOT/proc/interrupts\" | grep -qF -e \"$2\" ||\n\
         \x20       { fail \"interrupt $1 is not $2\"; return 0; }\n\
         \x20   put \"$ROOT/proc/irq/$1/smp_affinity_list\" \"$3\"\n\
         }",
    ),
    (
        "irq_at",
        "# irq_at FUNCTION PLACE CPUS: numbers change with the channels, places do not\n\
         irq_at() {\n\
         \x20   number=$(ls \"$ROOT/sys/bus/pci/devices/$1/msi_irqs\" | sort -n | sed -n \"${2}p\")\n\
         \x20   [ -n \"$number\" ] || { fail \"$1 has no interrupt $2\"; return 0; }\n\
         \x20   put \"$ROOT/proc/irq/$number/smp_affinity_list\" \"$3\"\n\
         }",
    ),
    (
        "ban",
        "# ban INTERRUPTS: starts irqbalance anew as it runs now, without these; a function stands for\n\
         # all of its own\n\
         ban() {\n\
         \x20   pid=$(pidof -s irqbalance) || fail 'irqbalance does not run'\n\
         \x20   line=$(tr '\\0' ' ' < \"/proc/$pid/cmdline\")\n\
         \x20   for word in $1; do\n\
         \x20       case \"$word\" in\n\
         \x20           *:*) word=$(ls \"$ROOT/sys/bus/pci/devices/$word/msi_irqs\") ;;\n\
         \x20       esac\n\
         \x20       for number in $word; do line=\"$line --banirq=$number\"; done\n\
         \x20   done\n\
         \x20   mkdir -p /run/systemd/system/irqbalance.service.d\n\
         \x20   printf '[Service]\\nExecStart=\\nExecStart=%s\\n' \"$line\" \\\n\
         \x20       > /run/systemd/system/irqbalance.service.d/nearside.conf\n\
         \x20   systemctl daemon-reload && systemctl restart irqbalance.service\n\
         }",
    ),
    (
        "unban",
        "unban() {\n\
         \x20   rm -f /run/systemd/system/irqbalance.service.d/nearside.conf\n\
         \x20   systemctl daemon-reload && systemctl restart irqbalance.service\n\
         }",
    ),
    (
        "hold_latency",
        "# hold_latency MICROSECONDS: the bound lasts while the file is open\n\
         hold_latency() {\n\
         \x20   ( exec 3> /dev/cpu_dma_latency && printf '0x%08x' \"$1\" >&3 && exec sleep 2147483647 ) &\n\
         \x20   echo \"$!\" > /run/nearside-latency.pid\n\
         }",
    ),
    (
        "free_latency",
        "free_latency() {\n\
         \x20   kill \"$(cat /run/nearside-latency.pid)\" && rm -f /run/nearside-latency.pid\n\
         }",
    ),
];

/// The script that carries out a plan of `machine`.
pub fn script(plan: &Plan, machine: &Machine) -> String {
    let what = format!("{}{}.", count(plan.changes.len(), "change"), purpose(plan.goal));
    let changes: Vec<&Planned> = plan.changes.iter().collect();
    let mut text = write(&what, &changes, Direction::Forth, plan, machine);
    for left in &plan.left {
        text.push_str(&left_over(left));
    }
    text
}

/// The script that takes a plan back to what was observed when it was made. What was not seen is
/// not restored: it says so. A failure does not keep it from the rest.
pub fn undo_script(plan: &Plan, machine: &Machine) -> String {
    let what = format!("Takes back {}.", count(plan.changes.len(), "change"));
    let text = write(&what, &backwards(plan), Direction::Back, plan, machine);
    format!("{text}\n{SUM}\n")
}

/// How an undoing ends.
const SUM: &str =
    "[ \"$failed\" = 0 ] || { printf '%s\\n' \"not taken back: $failed\" >&2; exit 1; }";

fn purpose(goal: Option<Goal>) -> &'static str {
    match goal {
        Some(Goal::Throughput) => " for the goal throughput",
        Some(Goal::Latency) => " for the goal latency",
        Some(Goal::Balanced) => " for the goal balanced",
        None => "",
    }
}

/// Changes in the order in which they are taken back: the newest first, as they may build on each
/// other. What moves other values (channels reset affinity, a scheduler `nr_requests`) comes before
/// those here as well, and irqbalance starts last. Where each file of a pattern is known, the
/// pattern stands for nothing more.
fn backwards(plan: &Plan) -> Vec<&Planned> {
    let is_service =
        |one: &&Planned| matches!(one.place, Place::Service { .. } | Place::BannedInterrupts);
    let is_known = |one: &&Planned| match &one.place {
        Place::File { path } if path.contains('*') && beside::is_whole(path) => plan
            .beside
            .iter()
            .any(|single| single.setting == one.setting && single.device == one.device),
        _ => false,
    };
    let changes = plan.changes.iter().filter(|one| !is_known(one));
    let all = plan.beside.iter().chain(changes).rev();
    let (services, mut rest): (Vec<&Planned>, Vec<&Planned>) = all.partition(is_service);
    let movers = Movers::of(rest.iter().copied());
    let none = |_: &Planned| 0;
    rest.sort_by_cached_key(|one| (movers.depth(one, &none), !setting::moves_others(&one.place)));
    rest.into_iter().chain(services).collect()
}

fn write(
    what: &str,
    changes: &[&Planned],
    direction: Direction,
    plan: &Plan,
    machine: &Machine,
) -> String {
    let numbers = Numbers::of(plan, machine);
    let mut body = String::new();
    let mut said = String::new();
    for planned in changes {
        let heading = heading(planned, direction);
        if heading != said {
            body.push_str(&format!("\n{heading}"));
            said = heading;
        }
        let zeroed =
            (direction == Direction::Back).then(|| pair::lines(planned, changes)).flatten();
        for line in zeroed.unwrap_or_else(|| lines(planned, direction, &numbers)) {
            body.push_str(&line);
            body.push('\n');
        }
    }
    format!("{}{}{body}", head(what, direction), helpers(&body))
}

fn head(what: &str, direction: Direction) -> String {
    let (manner, set, fail) = match direction {
        Direction::Forth => (
            "Stops at the first failure",
            "set -eu",
            "fail() { printf 'stopped: %s\\n' \"$1\" >&2; exit 1; }",
        ),
        Direction::Back => (
            "Goes on after a failure, and fails at its end",
            "set -u\nfailed=0",
            "fail() { printf 'failed: %s\\n' \"$1\" >&2; failed=$((failed + 1)); }",
        ),
    };
    format!(
        "#!/bin/sh\n\
         # {what}\n\
         # Made by nearside. {manner}; needs root.\n\
         # ROOT=/a/folder writes into a copied /sys and /proc there instead.\n\
         {set}\n\
         ROOT=${{ROOT:-}}\n\
         \n\
         {fail}\n"
    )
}

/// The functions that are used, in an order in which each is known before it is needed.
fn helpers(body: &str) -> String {
    let is_used = |name: &str| {
        let calls = |line: &str| line.trim_start().split(' ').any(|word| word == name);
        let by_other = |other: &str| {
            HELPERS.iter().any(|(own, text)| {
                *own == other
                    && text.contains(&format!("{name} "))
                    && body.contains(&format!("{own} "))
            })
        };
        body.lines().filter(|line| !line.starts_with('#')).any(calls)
            || (name == "put" && (by_other("irq") || by_other("irq_at")))
    };
    let used = HELPERS.iter().filter(|(name, _)| is_used(name));
    used.map(|(_, text)| format!("\n{text}\n")).collect()
}

fn heading(planned: &Planned, direction: Direction) -> String {
    let of = planned.device.as_ref().map(|device| format!(" of {}", device.name));
    let of = of.unwrap_or_default();
    let why = match direction {
        Direction::Forth => format!(": {}", planned.because),
        Direction::Back => String::new(),
    };
    format!("{}\n", comment(&format!("{}{of}{why}", planned.setting)))
}

fn left_over(left: &Left) -> String {
    let of = match left.devices.as_slice() {
        [] => String::new(),
        devices => format!(" of {}", devices.join(", ")),
    };
    let line = format!("left: {}{of}: {}: {}", left.setting, left.wanted, left.because);
    format!("\n{}\n", comment(&line))
}
