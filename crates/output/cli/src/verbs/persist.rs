// SPDX-License-Identifier: MIT OR Apache-2.0
//! `nearside persist`: keeps a plan over boots and hot-plug.

use std::path::Path;

use ::plan::{Named, Request};
use apply::persist::{self, Wish};
use clap::ValueEnum as _;
use machine::{Difference, Machine};
use root::About;

use crate::args::{Common, Persist};
use crate::expected::{Ended, Expected};
use crate::terminal;
use crate::verbs::{change, plan};

pub(crate) fn run(common: &Common, asked: &Persist) -> Result<Ended, Expected> {
    if asked.remove {
        return remove(asked);
    }
    let kernel = change::kernel(common)?;
    // A wish that cannot be planned is not kept.
    let made = plan::make(common, &asked.wishes, None)?;
    let words = words(common, asked, &made.machine)?;
    let wish = Wish { words, verify_every: asked.verify_every };
    if asked.dry_run {
        return terminal::answer(&persist::install_script(&wish)?).map(|()| Ended::Well);
    }
    change::demand_root("persist")?;
    if !persist::is_possible() {
        let help = "call `nearside apply …` from what starts services here";
        return Err(Expected::precondition("systemd does not run here, and a unit needs it", help));
    }
    let about = About {
        nearside: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: made.machine.host.kernel.unwrap_or_default(),
        time: change::now(),
        redacted: false,
    };
    persist::install(&kernel, &wish, &about).map_err(|error| cannot("keep it", &error))?;
    terminal::answer("Kept: the plan is made afresh and carried out at each boot.\n")?;
    terminal::hint("carry it out now:  systemctl start nearside.service");
    terminal::hint("look at it:        systemctl cat nearside.service");
    match wish.verify_every {
        Some(_) => terminal::hint("whether it holds:  systemctl status nearside-verify.service"),
        None => terminal::hint(UNTOLD),
    }
    terminal::hint("let it go:         nearside persist --remove");
    Ok(Ended::Well)
}

/// What comes without an event of the kernel, and so starts no unit.
const UNTOLD: &str = "not seen by itself: an interface that is opened again, a driver that is reset, \
                      a CPU that comes back; --verify-every 5m would tell";

/// Takes away all that was put there; what is applied now stays until `nearside revert`.
fn remove(asked: &Persist) -> Result<Ended, Expected> {
    if asked.dry_run {
        return terminal::answer(&persist::remove_script()).map(|()| Ended::Well);
    }
    change::demand_root("persist --remove")?;
    let removed = persist::remove().map_err(|error| cannot("let it go", &error))?;
    let text = match removed.as_slice() {
        [] => "Nothing is kept over boots.\n".to_owned(),
        removed => format!("Removed {}; nothing is kept over boots.\n", removed.join(", ")),
    };
    terminal::answer(&text)?;
    terminal::hint("what is applied now stays until the next boot, or: nearside revert");
    Ok(Ended::Well)
}

/// The machine that the kept plan was made for.
pub(crate) fn kept_machine() -> Result<Machine, Expected> {
    persist::kept_machine().map_err(|error| {
        let what = format!("cannot read the machine that the plan was made for: {error}");
        Expected::precondition(what, "make it again: nearside persist …")
    })
}

/// Refuses where the machine is not the one that the kept plan was made for. Which CPUs are online
/// does not count where the wish itself switches them.
pub(crate) fn check_machine(
    kept: &Machine,
    now: &Machine,
    request: &Request,
) -> Result<(), Expected> {
    let mut moved = kept.moved(now);
    if ::plan::reshapes_cpus(request) {
        moved.retain(|each| !each.is_of_online_cpus());
    }
    let Some((first, others)) = moved.split_first() else { return Ok(()) };
    let more =
        if others.is_empty() { String::new() } else { format!(", and {} more", others.len()) };
    let what = format!(
        "the machine is not the one that the plan was made for, and nothing was changed: {}{more}",
        difference(first)
    );
    Err(Expected::precondition(
        what,
        "look at `nearside plan`, then keep it again: nearside persist …",
    ))
}

fn difference(each: &Difference) -> String {
    let side = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
    let (then, now) = (side(&each.here), side(&each.there));
    format!("{} of {} was {then} and is {now}", each.property, each.device)
}

/// The words of the `apply` that a unit calls: what was understood, not what was typed. Units start
/// in `/`, so paths begin there; devices are named by what they are, since names are given anew at
/// each boot.
fn words(common: &Common, asked: &Persist, machine: &Machine) -> Result<Vec<String>, Expected> {
    let wishes = &asked.wishes;
    let device = |name: &String| machine.identity(name).unwrap_or_else(|| name.clone());
    let mut words = Vec::new();
    let mut add = |option: &str, value: &str| words.push(format!("--{option}={value}"));
    if let Some(goal) = wishes.goal.and_then(|goal| goal.to_possible_value()) {
        add("goal", goal.get_name());
    }
    for text in &wishes.set {
        let named: Named = text.parse()?;
        let at = named.device.as_ref().map_or_else(String::new, |on| format!("@{}", device(on)));
        add("set", &format!("{}={}{at}", named.setting, named.value));
    }
    wishes.only.iter().for_each(|only| add("only", only));
    wishes.device.iter().for_each(|on| add("device", &device(on)));
    wishes.cpus.iter().for_each(|cpus| add("cpus", cpus));
    wishes.node.iter().for_each(|node| add("node", &node.to_string()));
    wishes.carries.iter().for_each(|nic| add("carries", &device(nic)));
    let paths = [
        ("profile", &wishes.profile),
        ("catalogue", &common.catalogue),
        ("journal", &asked.journal),
    ];
    for (option, path) in paths {
        if let Some(path) = path {
            add(option, &from_top(path)?);
        }
    }
    if wishes.fit_channels {
        words.push("--fit-channels".to_owned());
    }
    Ok(words)
}

fn from_top(path: &Path) -> Result<String, Expected> {
    let path = std::path::absolute(path).map_err(|error| cannot("keep it", &error))?;
    path.into_os_string().into_string().map_err(|path| {
        let what = format!("{} is no UTF-8, which a unit's file has to be", path.display());
        Expected::usage(what, "call it otherwise")
    })
}

fn cannot(what: &str, error: &std::io::Error) -> Expected {
    Expected::precondition(
        format!("cannot {what}: {error}"),
        "look at the file system and at journalctl -b",
    )
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{Arguments, Verb};

    fn kept(typed: &[&str]) -> Vec<String> {
        let arguments = Arguments::try_parse_from([&["nearside"], typed].concat()).unwrap();
        let Some(Verb::Persist(asked)) = &arguments.verb else { panic!("{typed:?}") };
        let root = synthetic::parse(synthetic::named(MACHINE).unwrap()).unwrap().build();
        let machine = linux::read(&root);
        words(&arguments.common, asked, &machine).unwrap()
    }

    const MACHINE: &str = "healthy-two-socket";

    /// At each boot SMT is on again, and a second start in one boot finds it off.
    #[test]
    fn a_wish_for_smt_takes_the_machine_in_either_state() {
        let off = synthetic::parse(synthetic::named(MACHINE).unwrap()).unwrap();
        let on = linux::read(&off.build());
        let mut halved = on.clone();
        let few: Vec<units::Cpu> = on.cpus.online.iter().step_by(2).collect();
        halved.cpus.online = few.into_iter().collect();
        let node = halved.nodes.first_mut().unwrap();
        node.cpus = node.cpus.and(&halved.cpus.online);
        let request =
            |set: &str| Request { named: vec![set.parse().unwrap()], ..Request::default() };
        let smt = request("logical-processor=off");
        check_machine(&on, &halved, &smt).unwrap();
        check_machine(&halved, &on, &smt).unwrap();
        check_machine(&on, &halved, &request("swappiness=10")).unwrap_err();
        halved.nodes.pop();
        check_machine(&on, &halved, &smt).unwrap_err();
    }

    #[test]
    fn what_is_kept_is_what_was_understood() {
        let here = |name: &str| std::env::current_dir().unwrap().join(name).display().to_string();
        let words = [
            format!("--profile={}", here("db.toml")),
            format!("--catalogue={}", here("own")),
            format!("--journal={}", here("j")),
        ];
        let after = ["persist", "--profile", "db.toml", "--journal", "j", "--catalogue", "own"];
        let before = ["--catalogue=own", "persist", "--journal=j", "--profile=db.toml"];
        assert_eq!(kept(&after), words);
        assert_eq!(kept(&before), words);
        let typed = ["persist", "--goal", "latency", "--dry-run", "--set", "swappiness=1"];
        assert_eq!(kept(&typed), ["--goal=latency", "--set=swappiness=1"]);
    }

    #[test]
    fn devices_are_kept_by_what_they_are() {
        let root = synthetic::parse(synthetic::named(MACHINE).unwrap()).unwrap().build();
        let machine = linux::read(&root);
        let drive = machine.drives.first().unwrap();
        let nic = machine.nics.iter().find(|nic| nic.function.is_some()).unwrap();
        let set = format!("nic-rx-ring=4096@{}", nic.name);
        let typed = ["persist", "--device", &drive.name, "--set", &set];
        let serial = drive.serial.as_ref().unwrap().trim().to_owned();
        let function = nic.function.unwrap();
        let words = kept(&typed);
        assert_eq!(
            words,
            [format!("--set=nic-rx-ring=4096@nic:{function}"), format!("--device=serial:{serial}")]
        );
        let again: Vec<Option<&str>> = words
            .iter()
            .map(|word| machine.called(word.rsplit(['@', '=']).next().unwrap()))
            .collect();
        assert_eq!(again, [Some(nic.name.as_str()), Some(drive.name.as_str())]);
    }
}
