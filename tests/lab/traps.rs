// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the vendors' placement scripts get wrong: `eth1` beside `eth10`, CPUs in the order that was
//! asked for, CPUs beyond the first 32.

use std::collections::BTreeMap;

use nearside_lab::{Guest, Kernel};
use support::{Failed, failed};

use crate::change::{self, ensure, knobs, ours, unchanged};
use crate::look::said;

/// Of each named interrupt: `eth1-rxtx-0`, and the CPUs that it may go to.
type Placed = BTreeMap<String, String>;

/// Two ports of which one's name begins with the other's.
const NAMES: &str = "for d in /sys/class/net/eth*; do n=${d##*/}; \
    case $(basename $(readlink $d/device/driver)) in \
    vmxnet3) to=one ;; e1000e) to=ten ;; *) to=other ;; esac; \
    ip link set $n down && ip link set $n name $to; done; \
    ip link set one name eth1; ip link set ten name eth10; ip link set other name eth0; \
    for n in eth0 eth1 eth10; do ip link set $n up; done";

pub(crate) fn names_and_order(kernel: Kernel) -> Result<(), Failed> {
    let mut guest = change::guest("nics", kernel, None)?;
    said(&mut guest, NAMES)?;
    let before = placed(&mut guest)?;
    let all = knobs(&mut guest)?;
    // The first queue goes to the first CPU that was named, and so on, again and again.
    let order = ["3", "1"].into_iter().cycle();
    moves(
        &mut guest,
        "eth1",
        "3,1",
        &before,
        &order.map(str::to_owned).take(8).collect::<Vec<_>>(),
    )?;
    unchanged("eth1 is not taken back", &all, &mut guest)?;
    moves(&mut guest, "eth10", "5", &before, &["5".to_owned()])?;
    unchanged("eth10 is not taken back", &all, &mut guest)?;
    guest.off().map_err(failed)?;
    Ok(())
}

/// Places a port's interrupts and takes it back; those of every other port stay where they were.
fn moves(
    guest: &mut Guest,
    nic: &str,
    cpus: &str,
    before: &Placed,
    wanted: &[String],
) -> Result<(), Failed> {
    ours(guest, &format!("apply --device {nic} --cpus {cpus} {IRQS}"), &[0])?;
    let now = placed(guest)?;
    let mut queues = 0;
    for (name, cpus) in &now {
        let own = name.strip_prefix(nic).and_then(|rest| rest.strip_prefix('-'));
        // Of an interface without queues in its names, and of its link's interrupt, there is one.
        let queue = own.and_then(|rest| rest.rsplit('-').next()?.parse::<usize>().ok());
        let is_queue = own.is_some_and(|rest| rest.starts_with("rx"));
        let expected = match queue.filter(|_| is_queue) {
            Some(queue) => {
                queues += 1;
                wanted.get(queue)
            }
            None if own.is_some() => continue,
            None => before.get(name),
        };
        ensure(expected == Some(cpus), || {
            format!("{name} is on {cpus} after {nic} went to {wanted:?}, {expected:?} was expected")
        })?;
    }
    ensure(queues == wanted.len(), || format!("{nic} has {queues} queues: {now:?}"))?;
    ours(guest, "revert", &[0]).map(drop)
}

const IRQS: &str = "--only nic-irq-placement";

fn placed(guest: &mut Guest) -> Result<Placed, Failed> {
    let text = said(
        guest,
        "grep -E 'eth[0-9]|virtio[0-9]+-(in|out)put' /proc/interrupts | while read -r n rest; do \
         echo ${rest##* } $(cat /proc/irq/${n%:}/smp_affinity_list); done",
    )?;
    let pair = |line: &str| {
        let (name, cpus) = line.split_once(' ')?;
        Some((name.to_owned(), cpus.to_owned()))
    };
    Ok(text.lines().filter_map(pair).collect())
}

/// Masks of more than one word: interrupts and transmit queues on CPUs 32 and up, in the order asked.
pub(crate) fn beyond_32(kernel: Kernel) -> Result<(), Failed> {
    let mut guest = change::guest("wide", kernel, None)?;
    let before = knobs(&mut guest)?;
    let words = "apply --device eth0 --cpus 34,33,2,35 --set xps-placement=matched@eth0";
    ours(&mut guest, words, &[0])?;
    let now = placed(&mut guest)?;
    for (queue, cpu) in ["34", "33", "2", "35"].into_iter().enumerate() {
        for way in ["input", "output"] {
            let end = format!("-{way}.{queue}");
            let one = now.iter().find(|(name, _)| name.ends_with(&end));
            ensure(one.is_some_and(|(_, cpus)| cpus == cpu), || {
                format!("{end} is to be on {cpu}: {now:?}")
            })?;
        }
    }
    let masks = "cd /sys/class/net/eth0/queues && cat tx-0/xps_cpus tx-1/xps_cpus tx-2/xps_cpus \
                 tx-3/xps_cpus";
    let masks = said(&mut guest, masks)?;
    eprintln!("transmit queues: {}", masks.split_whitespace().collect::<Vec<_>>().join(" "));
    let shares = masks.lines().filter(|mask| *mask != "0,00000000").count();
    ensure(shares == 4, || format!("a queue has no CPU: {masks}"))?;
    // The upper word begins with CPU 32.
    for (queue, cpu) in [(0, 34), (1, 33), (3, 35)] {
        let mask = masks.lines().nth(queue).unwrap_or_default();
        let upper = mask.split(',').next().and_then(|word| u32::from_str_radix(word, 16).ok());
        let has = upper.is_some_and(|word| word >> (cpu - 32) & 1 == 1);
        ensure(has, || format!("queue {queue} has no CPU {cpu}: {mask}"))?;
    }
    ours(&mut guest, "verify", &[0])?;
    ours(&mut guest, "revert", &[0])?;
    unchanged("CPUs beyond 32 are not taken back", &before, &mut guest)?;
    guest.off().map_err(failed)?;
    Ok(())
}
