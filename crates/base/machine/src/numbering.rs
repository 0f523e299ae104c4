// SPDX-License-Identifier: MIT OR Apache-2.0
//! In what order the firmware numbered the CPUs, and where SMT siblings are among them.
//!
//! ```text
//! CPU                0 1 2 3 4 5 6 7
//! linear             A A A A B B B B     domains A and B: nodes where a package has several,
//! round-robin        A B A B A B A B     else packages
//! mixed              A A B A B B A B
//! ```
//!
//! Only the first thread of each core counts, so that the place of the siblings does not matter.

use std::collections::BTreeMap;
use std::fmt;

use crate::{Machine, Thread};

/// How CPU numbers run over the domains, and why this is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbering {
    /// The pattern.
    pub kind: NumberingKind,
    /// What was seen, in a sentence without a full stop.
    pub why: String,
}

/// Patterns of CPU numbers over domains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NumberingKind {
    /// Every domain is one contiguous stretch of cores.
    Linear,
    /// Successive cores are in different domains.
    RoundRobin,
    /// Neither, or too few cores to tell.
    Mixed,
    /// Only one domain.
    Undecided,
}

/// Where the second threads of the cores are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Siblings {
    /// Threads of a core have successive numbers: n, n + 1.
    Adjacent,
    /// All first threads come before all second ones: n, n + cores.
    SecondHalf,
    /// No core has more than one thread online.
    None,
    /// Neither pattern.
    Other,
}

impl fmt::Display for NumberingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Linear => "linear",
            Self::RoundRobin => "round-robin",
            Self::Mixed => "mixed",
            Self::Undecided => "undecided",
        })
    }
}

impl fmt::Display for Siblings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Adjacent => "adjacent",
            Self::SecondHalf => "second-half",
            Self::None => "none",
            Self::Other => "other",
        })
    }
}

/// What the domains are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Domain {
    Node,
    Package,
}

impl Machine {
    /// In what order CPU numbers run over the domains: nodes where a package has several, else
    /// packages (else nodes, where packages are unknown).
    ///
    /// Offline CPUs count only where those online show no pattern: an offline CPU does not tell
    /// its core.
    pub fn numbering(&self) -> Numbering {
        let domain = self.numbering_domain();
        let online = self.sequence(domain, |thread| thread.online && thread.rank == 0);
        let first = decide(&online, domain, "");
        let is_open = matches!(first.kind, NumberingKind::Mixed | NumberingKind::Undecided);
        if !is_open || self.cpus.offline.is_empty() {
            return first;
        }
        let note = ", offline CPUs counted";
        let all = self.sequence(domain, |thread| !thread.online || thread.rank == 0);
        let every = decide(&all, domain, note);
        if matches!(every.kind, NumberingKind::Linear | NumberingKind::RoundRobin) {
            return every;
        }
        let half = self.first_half(domain).map(|half| decide(&half, domain, note));
        half.filter(|half| half.kind != NumberingKind::Mixed).unwrap_or(first)
    }

    /// Where second threads are among CPU numbers.
    pub fn siblings(&self) -> Siblings {
        let online = || self.cpus.threads.iter().filter(|thread| thread.online);
        if online().all(|thread| thread.rank == 0) {
            return Siblings::None;
        }
        let last_first = online().filter(|thread| thread.rank == 0).map(|thread| thread.cpu).max();
        let mut others = online().filter(|thread| thread.rank > 0);
        match () {
            () if others.clone().all(|t| t.cpu.0 == t.core.0.saturating_add(t.rank)) => {
                Siblings::Adjacent
            }
            () if others.all(|thread| Some(thread.cpu) > last_first) => Siblings::SecondHalf,
            () => Siblings::Other,
        }
    }

    fn numbering_domain(&self) -> Domain {
        let packages = self.packages();
        let known = packages.iter().all(|package| package.id.is_some());
        let several = packages.iter().any(|package| package.nodes.len() > 1);
        // One node over all packages is interleaved memory, and no finer than a package.
        let finer = self.nodes_with_cpus().count() > packages.len();
        if (several && finer) || !known { Domain::Node } else { Domain::Package }
    }

    /// Domains of the chosen threads in CPU order; threads of unknown domain are left out.
    fn sequence(&self, domain: Domain, chosen: impl Fn(&Thread) -> bool) -> Vec<u32> {
        let threads = self.cpus.threads.iter().filter(|thread| chosen(thread));
        threads.filter_map(|thread| place(thread, domain)).collect()
    }

    /// The first half of all present CPUs, if the second half repeats it wherever it is known:
    /// then its CPUs are second threads.
    fn first_half(&self, domain: Domain) -> Option<Vec<u32>> {
        let places: Vec<_> = self.cpus.threads.iter().map(|thread| place(thread, domain)).collect();
        let (first, second) = places.split_at(places.len() / 2);
        let mut pairs = first.iter().zip(second).filter(|(_, second)| second.is_some());
        let repeats = pairs.clone().count() > 0 && pairs.all(|(first, second)| first == second);
        repeats.then(|| first.iter().flatten().copied().collect())
    }
}

fn place(thread: &Thread, domain: Domain) -> Option<u32> {
    match domain {
        Domain::Node => thread.node.map(|node| node.0),
        Domain::Package => thread.package.as_ref().ok().map(|package| package.0),
    }
}

fn decide(sequence: &[u32], domain: Domain, note: &str) -> Numbering {
    let mut sizes: BTreeMap<u32, usize> = BTreeMap::new();
    sequence.iter().for_each(|domain| *sizes.entry(*domain).or_default() += 1);
    let plural = match domain {
        Domain::Node => "NUMA nodes",
        Domain::Package => "packages",
    };
    let (kind, what) = match sizes.len() {
        0 => (NumberingKind::Undecided, format!("the kernel does not tell the {plural} of CPUs")),
        1 => (NumberingKind::Undecided, format!("all cores are in one of the {plural}")),
        count if count == sequence.len() => {
            (NumberingKind::Mixed, format!("each of {count} {plural} has one core: any order fits"))
        }
        _ if is_linear(sequence, sizes.len()) => (
            NumberingKind::Linear,
            format!("the cores of each of {} {plural} are one stretch", sizes.len()),
        ),
        _ if is_round_robin(sequence, &sizes) => (
            NumberingKind::RoundRobin,
            format!("successive cores step through {} {plural}", sizes.len()),
        ),
        count => (
            NumberingKind::Mixed,
            format!("cores of {count} {plural} follow each other without a pattern"),
        ),
    };
    Numbering { kind, why: format!("{what} ({}{note})", beginning(sequence, domain)) }
}

/// As many changes of domain as there are domains less one.
fn is_linear(sequence: &[u32], domains: usize) -> bool {
    sequence.windows(2).filter(|pair| pair.first() != pair.last()).count() + 1 == domains
}

/// No two successive cores share a domain, but at the end, when only one domain has cores left.
fn is_round_robin(sequence: &[u32], sizes: &BTreeMap<u32, usize>) -> bool {
    let mut left = sizes.clone();
    let mut last = None;
    for domain in sequence {
        let others_left = left.iter().any(|(other, cores)| Some(*other) != last && *cores > 0);
        if last == Some(*domain) && others_left {
            return false;
        }
        last = Some(*domain);
        if let Some(cores) = left.get_mut(domain) {
            *cores -= 1;
        }
    }
    true
}

/// `packages in CPU order 0 1 0 1 0 1 0 1 ...`
fn beginning(sequence: &[u32], domain: Domain) -> String {
    let shown: Vec<String> = sequence.iter().take(8).map(u32::to_string).collect();
    if sequence.is_empty() {
        return "no core told".to_owned();
    }
    let more = if sequence.len() > shown.len() { " ..." } else { "" };
    let word = match domain {
        Domain::Node => "nodes",
        Domain::Package => "packages",
    };
    format!("{word} in CPU order {}{more}", shown.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Cpu, NodeId, PackageId};

    /// A machine whose cores are in the given packages; each core has one thread.
    fn machine(packages: &[u32]) -> Machine {
        let mut machine = Machine::default();
        for (cpu, package) in (0..).zip(packages) {
            machine.cpus.threads.push(Thread {
                package: Ok(PackageId(*package)),
                node: Some(NodeId(*package)),
                ..Thread::new(Cpu(cpu))
            });
        }
        machine
    }

    #[test]
    fn patterns() {
        use NumberingKind::{Linear, Mixed, RoundRobin, Undecided};
        for (packages, expected) in [
            (&[0, 0, 1, 1][..], Linear),
            (&[1, 1, 0, 0, 0], Linear),
            (&[0, 1, 1], Linear),
            (&[36, 36, 8442, 8442], Linear),
            (&[0, 1, 0, 1], RoundRobin),
            (&[0, 1, 2, 3, 0, 1, 2, 3], RoundRobin),
            // Nodes 0 and 2 are of the first package: it steps through packages, then nodes.
            (&[0, 2, 0, 2, 1, 3, 1, 3], RoundRobin),
            (&[0, 1, 0, 1, 0, 0, 0], RoundRobin),
            (&[0, 1, 0, 0, 1, 0], Mixed),
            (&[0, 0, 1, 1, 0, 0, 1, 1], Mixed),
            (&[0, 1], Mixed),
            (&[0, 0, 0], Undecided),
            (&[], Undecided),
        ] {
            assert_eq!(machine(packages).numbering().kind, expected, "{packages:?}");
        }
    }

    #[test]
    fn the_reason_names_what_was_seen() {
        assert_eq!(
            machine(&[0, 1, 0, 1, 0, 1, 0, 1, 0, 1]).numbering().why,
            "successive cores step through 2 packages (packages in CPU order 0 1 0 1 0 1 0 1 ...)"
        );
    }

    #[test]
    fn siblings_follow_from_the_threads() {
        let with_cores = |cores: &[u32]| {
            let mut machine = machine(&vec![0; cores.len()]);
            for (index, core) in cores.iter().enumerate() {
                let before = cores[..index].iter().filter(|other| *other == core).count();
                machine.cpus.threads[index].core = Cpu(*core);
                machine.cpus.threads[index].rank = before.try_into().unwrap();
            }
            machine.siblings()
        };
        assert_eq!(with_cores(&[0, 1, 2]), Siblings::None);
        assert_eq!(with_cores(&[0, 0, 2, 2]), Siblings::Adjacent);
        // Small cores of a hybrid processor have one thread.
        assert_eq!(with_cores(&[0, 0, 2, 2, 4, 5]), Siblings::Adjacent);
        assert_eq!(with_cores(&[0, 1, 0, 1]), Siblings::SecondHalf);
        assert_eq!(with_cores(&[0, 1, 0, 1, 4]), Siblings::Other);
    }

    #[test]
    fn offline_cpus_decide_only_where_those_online_do_not() {
        let mut machine = machine(&[0, 1, 0, 1, 0, 1, 0, 1]);
        for cpu in [0, 2, 6] {
            machine.cpus.threads[cpu].online = false;
            machine.cpus.offline.insert(Cpu(cpu.try_into().unwrap()));
        }
        let numbering = machine.numbering();
        assert_eq!(numbering.kind, NumberingKind::RoundRobin);
        assert!(numbering.why.contains("offline"), "{}", numbering.why);
    }

    #[test]
    fn offline_second_threads_are_seen_by_their_repetition() {
        let mut machine = machine(&[0, 0, 1, 1, 0, 0, 1, 1]);
        for cpu in [0, 1, 2, 4, 5, 6, 7] {
            machine.cpus.threads[cpu].online = false;
            machine.cpus.offline.insert(Cpu(cpu.try_into().unwrap()));
        }
        assert_eq!(machine.numbering().kind, NumberingKind::Linear);
    }
}
