// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a pod can ask for and its kubelet must be told.
//!
//! A pod names a number of CPUs and never which. Its kubelet chooses them, and aligns them with a
//! device only where a device plugin announces that device with its node
//! (kubernetes.io/docs/tasks/administer-cluster/topology-manager).

use crate::{Placement, Policy};

pub(super) fn write(placement: &Placement) -> String {
    let Placement { cpus, nodes, memory, .. } = placement;
    let n = cpus.len();
    let one_node = nodes.len() <= 1;
    let policy = if one_node { "single-numa-node" } else { "restricted" };
    let mut text = format!(
        "# A pod cannot name CPUs or nodes: CPUs {cpus} and memory of {} cannot be asked for, only\n\
         # {n} CPUs of their own that the kubelet aligns with a device. It knows the node of a\n\
         # device only where a device plugin (SR-IOV, GPU) announces it; a drive behind a local\n\
         # volume has none, and neither has the host's network.\n",
        nodes_text(placement),
    );
    if !one_node {
        text.push_str(&format!(
            "# Nodes {nodes} are several: single-numa-node would refuse the pod, restricted takes\n\
             # the smallest set of nodes that has all that it asks for.\n"
        ));
    }
    if memory.policy == Policy::Bind {
        text.push_str("# Memory is bound by the memory manager, which needs the amount.\n");
    } else {
        text.push_str(
            "# Memory cannot be preferred: leave out memoryManagerPolicy, and pages come from the\n\
             # node of the CPU that first writes to them.\n",
        );
    }
    text + &kubelet(policy, placement) + &pod(n)
}

fn nodes_text(placement: &Placement) -> String {
    let nodes = &placement.memory.nodes;
    if nodes.is_empty() { "their own nodes".to_owned() } else { format!("node {nodes}") }
}

/// Whether the placement is of whole cores, as far as cores were asked for.
fn whole_cores(placement: &Placement) -> bool {
    let first = placement.cores.first().map_or(0, units::CpuSet::len);
    first > 1 && placement.cores.iter().all(|core| core.len() == first)
}

fn kubelet(policy: &str, placement: &Placement) -> String {
    let mut text = String::from(
        "---\n# the node's kubelet, /var/lib/kubelet/config.yaml\ncpuManagerPolicy: static\n",
    );
    // A pod whose number is none of whole cores would be refused.
    if whole_cores(placement) {
        text.push_str("cpuManagerPolicyOptions: {full-pcpus-only: \"true\"}   # whole cores\n");
    }
    text.push_str(&format!("topologyManagerPolicy: {policy}\n"));
    if placement.memory.policy == Policy::Bind {
        text.push_str("memoryManagerPolicy: Static   # and reservedMemory of each node\n");
    }
    text
}

/// Requests equal limits and CPUs are whole: the pod is Guaranteed, and its CPUs are its own.
fn pod(cpus: usize) -> String {
    format!(
        "---\n# the container; AMOUNT and the device's resource are yours to fill in\nresources:\n  \
         requests: &all\n    cpu: \"{cpus}\"\n    memory: AMOUNT\n    VENDOR/DEVICE: \"1\"\n  \
         limits: *all\n"
    )
}
