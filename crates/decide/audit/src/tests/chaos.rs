// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machines spoilt at random: the audit never panics, and says the same twice.

use machine::{Machine, Why};
use proptest::prelude::*;
use setting::Goal;
use units::{Bytes, Cpu, NodeId, PackageId, Transfers};

use super::{all, made};

/// One thing that a broken tree, or a strange machine, does to the model.
fn spoil(machine: &mut Machine, what: u8, at: usize, number: u32) {
    let small = u8::try_from(number % 256).unwrap_or(0);
    let pick = |length: usize| at.checked_rem(length);
    match what % 16 {
        0 => machine.cpus = machine::Cpus::default(),
        1 => machine.nodes.clear(),
        2 => pick(machine.nodes.len()).into_iter().for_each(|at| {
            machine.nodes[at].memory = Ok(Bytes(u64::from(number) << 32));
        }),
        3 => pick(machine.cpus.threads.len()).into_iter().for_each(|at| {
            machine.cpus.threads[at].package = Ok(PackageId(number));
            machine.cpus.threads[at].core = Cpu(number);
        }),
        4 => pick(machine.functions.len()).into_iter().for_each(|at| {
            machine.functions[at].node = Some(NodeId(number));
        }),
        5 => pick(machine.functions.len()).into_iter().for_each(|at| {
            let link = machine.functions[at].link.as_mut();
            link.into_iter().for_each(|link| {
                link.width = Ok(small);
                link.speed = Ok(Transfers(u16::from(small)));
            });
        }),
        6 => pick(machine.functions.len()).into_iter().for_each(|at| {
            machine.functions[at].parent = Some(made::address(small));
        }),
        7 => pick(machine.irqs.len()).into_iter().for_each(|at| {
            machine.irqs[at].affinity = Err(machine::Why::Absent);
            machine.irqs[at].counts = vec![(number, u64::MAX), (1, u64::MAX)];
        }),
        8 => pick(machine.drives.len()).into_iter().for_each(|at| {
            machine.drives[at].controllers.iter_mut().for_each(|path| path.queues = number);
        }),
        9 => pick(machine.drives.len())
            .into_iter()
            .for_each(|at| machine.drives[at].controllers.clear()),
        10 => pick(machine.nics.len()).into_iter().for_each(|at| {
            machine.nics[at].mtu = Ok(number);
            machine.nics[at].upper = vec!["eth1".into(), "no such".into()];
        }),
        11 => machine.dimms.push(made::dimm("CHANNEL", u64::from(small), number, 1)),
        12 => made::option(machine, "idle", Some("poll")),
        13 => pick(machine.functions.len())
            .into_iter()
            .for_each(|at| machine.functions[at].link = None),
        14 => machine.host.cpu_model = Err(Why::Unparsed("x".into())),
        _ => pick(machine.cpus.threads.len()).into_iter().for_each(|at| {
            machine.cpus.threads[at].online = false;
        }),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_machine_is_audited(
        faults in proptest::collection::vec((any::<u8>(), any::<usize>(), any::<u32>()), 0..24),
    ) {
        let mut machine = made::full();
        for (what, at, number) in faults {
            spoil(&mut machine, what, at, number);
        }
        for goal in [Goal::Throughput, Goal::Latency, Goal::Balanced] {
            let once = all(&machine, goal);
            prop_assert_eq!(&once, &all(&machine, goal));
        }
    }
}
