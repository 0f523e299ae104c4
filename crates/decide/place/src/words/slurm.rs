// SPDX-License-Identifier: MIT OR Apache-2.0
//! srun(1): one task with a mask of CPUs and nodes.

use super::{guarded, hexadecimal};
use crate::{Memory, Placement, Policy};

/// `--cpu-bind` with a mask binds the one task to all CPUs; with a map (`map_cpu`) each task gets one.
/// Slurm heeds either only in a job that has the whole node.
pub(super) fn write(placement: &Placement, command: &str) -> String {
    let cpus = hexadecimal(&placement.cpus);
    let map: Vec<String> = placement.cpus.iter().map(|cpu| cpu.to_string()).collect();
    let memory = memory(&placement.memory);
    format!(
        "# the masks hold only where the job has the whole node (--exclusive) and TaskPlugin has\n\
         # task/affinity; for a task on each CPU: --ntasks={n} --cpu-bind=map_cpu:{map}\n\
         srun --exclusive --ntasks=1 --cpus-per-task={n} --cpu-bind=mask_cpu:{cpus} \
         --mem-bind={memory} {}\n",
        guarded(command),
        n = placement.cpus.len(),
        map = map.join(","),
    )
}

fn memory(memory: &Memory) -> String {
    let mask = hexadecimal(&memory.nodes);
    match memory.policy {
        Policy::Bind => format!("mask_mem:{mask}"),
        Policy::Prefer => format!("prefer,mask_mem:{mask}"),
        Policy::Local => "local".to_owned(),
    }
}
