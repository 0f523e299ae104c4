// SPDX-License-Identifier: MIT OR Apache-2.0
//! A placement in the words of others.
//!
//! Each gives the same placement as far as its words go, and says in comments where they end: a
//! policy that a scheduler cannot express is not replaced by another in silence.

mod kubernetes;
mod slurm;

use units::CpuSet;

use crate::{Placement, Policy};

/// Whose words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dialect {
    /// A line of `numactl`.
    Numactl,
    /// A line of `taskset`.
    Taskset,
    /// A drop-in of a systemd service.
    Systemd,
    /// Flags of `docker run`, which podman and nerdctl take too.
    Docker,
    /// A part of a pod and what its kubelet needs.
    Kubernetes,
    /// A line of `srun`.
    Slurm,
}

/// The placement of a command, written as a shell reads it.
pub fn write(dialect: Dialect, placement: &Placement, command: &str) -> String {
    match dialect {
        Dialect::Numactl => numactl(placement, command),
        Dialect::Taskset => taskset(placement, command),
        Dialect::Systemd => systemd(placement),
        Dialect::Docker => docker(placement, command),
        Dialect::Kubernetes => kubernetes::write(placement),
        Dialect::Slurm => slurm::write(placement, command),
    }
}

fn numactl(placement: &Placement, command: &str) -> String {
    let nodes = &placement.memory.nodes;
    let memory = match placement.memory.policy {
        Policy::Bind => format!("--membind={nodes}"),
        Policy::Prefer if nodes.len() == 1 => format!("--preferred={nodes}"),
        // numactl 2.0.15 and Linux 5.15.
        Policy::Prefer => format!("--preferred-many={nodes}"),
        Policy::Local => "--localalloc".to_owned(),
    };
    format!("numactl --physcpubind={} {memory} -- {command}\n", placement.cpus)
}

fn taskset(placement: &Placement, command: &str) -> String {
    let mut text = String::new();
    if placement.memory.policy != Policy::Local {
        text.push_str(
            "# taskset knows no memory: pages come from the node of the CPU that first\n",
        );
        text.push_str("# writes to them while it has some, and from others after that\n");
    }
    text + &format!("taskset --cpu-list {} {}\n", placement.cpus, guarded(command))
}

/// systemd.exec(5): a list of CPUs, and a policy with a mask of nodes. The cgroup's AllowedCPUs=
/// and AllowedMemoryNodes= (systemd.resource-control(5)) hold for children that pin themselves too.
fn systemd(placement: &Placement) -> String {
    let Placement { cpus, memory, .. } = placement;
    let mut text = String::from(
        "# a drop-in: systemctl edit UNIT; NUMAPolicy= takes systemd 243, AllowedCPUs= 244\n[Service]\n",
    );
    text.push_str(&format!("CPUAffinity={cpus}\n"));
    let policy = match memory.policy {
        Policy::Bind => format!("NUMAPolicy=bind\nNUMAMask={}\n", memory.nodes),
        Policy::Prefer if memory.nodes.len() == 1 => {
            format!("NUMAPolicy=preferred\nNUMAMask={}\n", memory.nodes)
        }
        Policy::Prefer => format!(
            "# systemd prefers one node only, not {}: the node of the CPU that asks comes first\n\
             NUMAPolicy=local\n",
            memory.nodes
        ),
        Policy::Local => "NUMAPolicy=local\n".to_owned(),
    };
    text.push_str(&policy);
    text.push_str(
        "# to hold for children that choose CPUs or nodes themselves, too (cgroup v2):\n",
    );
    text.push_str(&format!("#AllowedCPUs={cpus}\n"));
    if memory.policy == Policy::Bind {
        text.push_str(&format!("#AllowedMemoryNodes={}\n", memory.nodes));
    }
    text
}

/// docker's cpuset is a cgroup's: memory is bound or not told at all.
fn docker(placement: &Placement, command: &str) -> String {
    let Placement { cpus, memory, .. } = placement;
    let bound = match memory.policy {
        Policy::Bind => format!(" --cpuset-mems={}", memory.nodes),
        Policy::Prefer | Policy::Local => String::new(),
    };
    let mut text = String::new();
    if memory.policy == Policy::Prefer {
        text.push_str(&format!(
            "# docker binds memory or leaves it: nodes {} cannot be preferred. Without\n\
             # --cpuset-mems pages come from the node of the CPU that first writes to them\n",
            memory.nodes
        ));
    }
    text + &format!("docker run --cpuset-cpus={cpus}{bound} IMAGE {command}\n")
}

/// A command that begins like an option, told apart from those of the tool before it.
fn guarded(command: &str) -> String {
    let first = command.trim_start_matches(['\'', '"']);
    if first.starts_with('-') { format!("-- {command}") } else { command.to_owned() }
}

/// A set as one hexadecimal number, as masks of user-space tools are: `0x3c`.
fn hexadecimal(set: &CpuSet) -> String {
    let digits = set.to_mask(0).replace(',', "");
    let digits = digits.trim_start_matches('0');
    format!("0x{}", if digits.is_empty() { "0" } else { digits })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Memory;
    use proptest::prelude::*;

    fn placement(policy: Policy, nodes: &str) -> Placement {
        let list = |text| CpuSet::from_list(text).unwrap();
        let memory = Memory { policy, nodes: list(nodes) };
        Placement { cpus: list("2,6,34"), nodes: list(nodes), memory, ..Placement::default() }
    }

    fn code(dialect: Dialect, policy: Policy, nodes: &str) -> String {
        let text = write(dialect, &placement(policy, nodes), "fio job");
        text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn each_dialect_says_the_same() {
        let cases = [
            (
                Dialect::Numactl,
                Policy::Bind,
                "1",
                "numactl --physcpubind=2,6,34 --membind=1 -- fio job",
            ),
            (
                Dialect::Numactl,
                Policy::Prefer,
                "1",
                "numactl --physcpubind=2,6,34 --preferred=1 -- fio job",
            ),
            (
                Dialect::Numactl,
                Policy::Prefer,
                "0-1",
                "numactl --physcpubind=2,6,34 --preferred-many=0-1 -- fio job",
            ),
            (
                Dialect::Numactl,
                Policy::Local,
                "",
                "numactl --physcpubind=2,6,34 --localalloc -- fio job",
            ),
            (Dialect::Taskset, Policy::Bind, "1", "taskset --cpu-list 2,6,34 fio job"),
            (
                Dialect::Systemd,
                Policy::Bind,
                "0-1",
                "[Service]\nCPUAffinity=2,6,34\nNUMAPolicy=bind\nNUMAMask=0-1",
            ),
            (
                Dialect::Systemd,
                Policy::Prefer,
                "0-1",
                "[Service]\nCPUAffinity=2,6,34\nNUMAPolicy=local",
            ),
            (
                Dialect::Docker,
                Policy::Bind,
                "1",
                "docker run --cpuset-cpus=2,6,34 --cpuset-mems=1 IMAGE fio job",
            ),
            (Dialect::Docker, Policy::Local, "", "docker run --cpuset-cpus=2,6,34 IMAGE fio job"),
            (
                Dialect::Slurm,
                Policy::Bind,
                "0-1",
                "srun --exclusive --ntasks=1 --cpus-per-task=3 --cpu-bind=mask_cpu:0x400000044 \
                 --mem-bind=mask_mem:0x3 fio job",
            ),
        ];
        for (dialect, policy, nodes, wanted) in cases {
            assert_eq!(code(dialect, policy, nodes), wanted);
        }
    }

    #[test]
    fn a_command_is_no_option_of_the_tool() {
        for dialect in [Dialect::Numactl, Dialect::Taskset, Dialect::Slurm] {
            for command in ["-x", "'-x y'"] {
                let text = write(dialect, &placement(Policy::Bind, "1"), command);
                assert!(text.ends_with(&format!(" -- {command}\n")), "{text}");
            }
        }
    }

    #[test]
    fn what_cannot_be_said_is_said_so() {
        let text = |dialect, policy| write(dialect, &placement(policy, "0-1"), "x");
        assert!(text(Dialect::Docker, Policy::Prefer).contains("cannot be preferred"));
        assert!(text(Dialect::Systemd, Policy::Prefer).contains("prefers one node only"));
        assert!(text(Dialect::Taskset, Policy::Bind).contains("knows no memory"));
        assert!(text(Dialect::Kubernetes, Policy::Bind).contains("cannot name CPUs"));
        assert!(text(Dialect::Slurm, Policy::Prefer).contains("prefer,"));
    }

    proptest! {
        #[test]
        fn masks_are_the_set(cpus in proptest::collection::btree_set(0_u32..128, 0..40)) {
            let set: CpuSet = cpus.iter().map(|cpu| units::Cpu(*cpu)).collect();
            let wanted = cpus.iter().fold(0_u128, |mask, cpu| mask | 1 << cpu);
            prop_assert_eq!(hexadecimal(&set), format!("{wanted:#x}"));
        }
    }
}
