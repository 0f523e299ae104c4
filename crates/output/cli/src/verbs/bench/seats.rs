// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the threads of a load sit, and how many there are.

use machine::Machine;
use place::{NoSeat, Where};
use record::QueueInterrupt;
use units::Cpu;

use super::targets::Chosen;
use crate::expected::Expected;

/// Threads with their seats, those of one target after those of another.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seated {
    /// Of each target.
    pub(crate) threads: u32,
    /// Empty where threads may be anywhere.
    pub(crate) seats: Vec<engine::Seat>,
    /// What was asked, where anything was.
    pub(crate) asked: Option<String>,
    /// What a person should know of it.
    pub(crate) said: Vec<String>,
}

/// How many threads a target has that were not asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Default {
    /// One.
    One,
    /// As many as its drive has queues, up to its share of the cores.
    OneAQueue,
}

/// The seats of so many threads on each target; near its drive where nothing is asked. Where it was
/// not asked for and is not possible, threads may be anywhere.
pub(crate) fn seats(
    machine: &Machine,
    chosen: &Chosen,
    asked: Option<&Where>,
    threads: Option<u32>,
    default: Default,
) -> Result<Seated, Expected> {
    let found = found(machine, chosen, asked.unwrap_or(&Where::Near), threads, default);
    let is_near_too = asked == Some(&Where::Far) && machine.nodes.len() < 2;
    let asked = asked.map(word);
    match (found, asked) {
        (Ok((threads, seats)), asked) => {
            let said = "this machine shows one NUMA node: what is far is as near as anything";
            let said = is_near_too.then(|| said.to_owned());
            Ok(Seated { threads, seats, asked, said: said.into_iter().collect() })
        }
        (Err(why), Some(_)) => Err(why),
        (Err(why), None) => {
            let said = vec![format!("threads are not bound to CPUs: {why}")];
            Ok(Seated { threads: threads.unwrap_or(1), said, ..Seated::default() })
        }
    }
}

type Found = (u32, Vec<engine::Seat>);

fn found(
    machine: &Machine,
    chosen: &Chosen,
    wanted: &Where,
    threads: Option<u32>,
    default: Default,
) -> Result<Found, Expected> {
    let named: Option<Vec<&str>> = chosen.drives.iter().map(Option::as_deref).collect();
    let Some(drives) = named else {
        return in_turn(machine, chosen, wanted, threads.unwrap_or(1)).ok_or_else(|| {
            let what = "the drive behind a target is none of this machine's, so that nobody knows \
                        what is near it";
            Expected::precondition(what, "name CPUs: --place 0-3")
        });
    };
    let count = match (threads, default) {
        (Some(threads), _) => threads,
        (None, Default::One) => 1,
        (None, Default::OneAQueue) => fewest(machine, &drives, wanted)?,
    };
    let wide = usize::try_from(count).unwrap_or(usize::MAX);
    match place::seats(machine, &drives, wanted, Some(wide)) {
        Ok(seats) => Ok((count, seats.iter().map(seat).collect())),
        // CPUs that were named are what is asked, however few they are.
        Err(why) => in_turn(machine, chosen, wanted, count).ok_or_else(|| explain(&why)),
    }
}

/// As many threads as every drive can have: a load is the same on all of its targets.
fn fewest(machine: &Machine, drives: &[&str], wanted: &Where) -> Result<u32, Expected> {
    let all = place::seats(machine, drives, wanted, None).map_err(|why| explain(&why))?;
    let of = |drive: &&str| all.iter().filter(|seat| seat.drive == **drive).count();
    let fewest = drives.iter().map(of).min().unwrap_or(1).max(1);
    Ok(u32::try_from(fewest).unwrap_or(1))
}

/// CPUs that were named, one a thread, from the first again where there are more threads.
fn in_turn(machine: &Machine, chosen: &Chosen, wanted: &Where, threads: u32) -> Option<Found> {
    let Where::On(cpus) = wanted else { return None };
    let usable = cpus.and(&machine.cpus.online).and(&machine.cpus.allowed);
    let cpus: Vec<Cpu> = usable.iter().collect();
    let count = chosen.targets.len().saturating_mul(usize::try_from(threads).ok()?);
    let seat = |cpu: &Cpu| engine::Seat { cpu: Some(*cpu), ..engine::Seat::default() };
    let seats: Vec<_> = cpus.iter().cycle().take(count).map(seat).collect();
    (!seats.is_empty()).then_some((threads, seats))
}

fn seat(seat: &place::Seat) -> engine::Seat {
    let interrupt = |queue: u32| QueueInterrupt {
        device: seat.drive.clone(),
        queue,
        irq: seat.interrupt.as_ref().map(|(irq, _)| *irq),
        cpus: seat.interrupt.as_ref().map(|(_, cpus)| cpus.clone()),
    };
    engine::Seat {
        cpu: Some(seat.cpu),
        memory_node: seat.memory_node,
        interrupts: seat.queue.map(interrupt).into_iter().collect(),
    }
}

/// What was asked, as it was typed.
pub(crate) fn word(wanted: &Where) -> String {
    match wanted {
        Where::Near => "near".to_owned(),
        Where::Far => "far".to_owned(),
        Where::Spread => "spread".to_owned(),
        Where::On(cpus) => cpus.to_string(),
    }
}

fn explain(why: &NoSeat) -> Expected {
    let help = match why {
        NoSeat::NoDrive(_) => "`nearside topology` shows the drives",
        NoSeat::NoNode(_) => "--place 0-3 names CPUs, --place spread takes all nodes in turn",
        NoSeat::FewCores { .. } => "ask for fewer threads (--numjobs), or name CPUs (--place 0-3)",
    };
    Expected::precondition(why.to_string(), help)
}

#[cfg(test)]
mod tests {
    use record::Target;
    use support::made::{Order, Place, Shape, add_drive, server, set};

    use super::*;

    fn machine(drives: u8) -> Machine {
        let shape = Shape { packages: 2, nodes: 1, cores: 4, threads: 2, order: Order::Linear };
        let mut machine = server(shape);
        (0..drives).for_each(|number| add_drive(&mut machine, Place { number, node: 1 }));
        machine
    }

    fn chosen(drives: &[Option<&str>]) -> Chosen {
        let target = |n| Target { path: format!("/dev/t{n}"), make_bytes: None };
        Chosen {
            targets: (0..drives.len()).map(target).collect(),
            drives: drives.iter().map(|name| name.map(str::to_owned)).collect(),
            ..Chosen::default()
        }
    }

    fn cpus(seated: &Seated) -> Vec<u32> {
        seated.seats.iter().filter_map(|seat| Some(seat.cpu?.0)).collect()
    }

    #[test]
    fn drives_share_the_cores_of_their_node_evenly() {
        let both = chosen(&[Some("nvme0n1"), Some("nvme1n1")]);
        let seated = seats(&machine(2), &both, None, None, Default::OneAQueue).unwrap();
        assert_eq!((seated.threads, cpus(&seated)), (2, vec![4, 6, 5, 7]));
        assert_eq!(seated.asked, None);
        let far = seats(&machine(2), &both, Some(&Where::Far), Some(1), Default::One).unwrap();
        assert_eq!((cpus(&far), far.asked.as_deref()), (vec![0, 1], Some("far")));
    }

    #[test]
    fn named_cpus_are_taken_however_few() {
        let list = Where::On(set("2-3"));
        for one in [chosen(&[Some("nvme0n1")]), chosen(&[None])] {
            let seated = seats(&machine(1), &one, Some(&list), Some(5), Default::One).unwrap();
            assert_eq!(cpus(&seated), [2, 3, 2, 3, 2]);
        }
        let none = Where::On(set("900"));
        assert!(seats(&machine(1), &chosen(&[None]), Some(&none), None, Default::One).is_err());
    }

    #[test]
    fn what_was_not_asked_stops_nothing_and_what_was_does() {
        let unknown = chosen(&[None]);
        let seated = seats(&machine(1), &unknown, None, Some(3), Default::One).unwrap();
        assert_eq!((seated.threads, seated.seats.len(), seated.said.len()), (3, 0, 1));
        let asked = Some(&Where::Near);
        assert!(seats(&machine(1), &unknown, asked, None, Default::One).is_err());
        let one = chosen(&[Some("nvme0n1")]);
        let error = seats(&machine(1), &one, asked, Some(900), Default::One).unwrap_err();
        assert!(error.to_string().contains("900 cores are needed"), "{error}");
    }
}
