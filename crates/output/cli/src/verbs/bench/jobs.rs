// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads from a job file of fio's: carried out by our own engine, or by fio itself.

use std::path::Path;

use record::{Run, Sharing, Workload};
use run::fio::job_file::{self, Step};
use units::{CpuSet, NodeId};

use super::carry::{self, Asked};
use super::ground::Ground;
use super::seats::Seated;
use crate::args::{EngineName, Means};
use crate::expected::Expected;
use crate::{subject, terminal};

/// The steps of a file, each as it is to be carried out.
pub(super) fn read(file: &Path, means: &Means) -> Result<Vec<Asked>, Expected> {
    let cannot = |error: std::io::Error| {
        let what = format!("cannot read {}: {error}", file.display());
        Expected::precondition(what, "name a job file of fio's")
    };
    let text = subject::read_text(file).map_err(cannot)?;
    let steps = job_file::parse(&text).map_err(|error| {
        let help = match means.engine {
            EngineName::Fio => {
                "fio is given what our own engine understands; run it by `fio` itself"
            }
            _ => "leave the option out, or run it by `fio` and keep that: nearside runs import",
        };
        Expected::usage(format!("{}: {error}", file.display()), help)
    })?;
    Ok(steps.into_iter().map(asked).collect())
}

/// Carries steps out, one after the other, until one is interrupted.
pub(super) fn out(ground: &Ground, steps: &[Asked], means: &Means) -> Result<Vec<Run>, Expected> {
    let mut runs = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        if ground.is_stopped() {
            break;
        }
        if steps.len() > 1 {
            terminal::hint(&format!("step {} of {}", number + 1, steps.len()));
        }
        runs.extend(carry::out(ground, step, means)?);
    }
    Ok(runs)
}

fn asked(step: Step) -> Asked {
    step.remarks.iter().for_each(|remark| terminal::hint(remark));
    let seated = seated(&step);
    Asked { workload: with_files_that_are_there(step.workload), seated }
}

/// What only reads a file that is there, and long enough, makes none.
fn with_files_that_are_there(mut workload: Workload) -> Workload {
    let reads = !workload.mix.destroys();
    for target in workload.targets.iter_mut().filter(|_| reads) {
        let length = std::fs::metadata(&target.path).ok().filter(std::fs::Metadata::is_file);
        if length.is_some_and(|there| Some(there.len()) >= target.make_bytes) {
            target.make_bytes = None;
        }
    }
    workload
}

/// Threads on the CPUs of their section, one each in turn, and its memory.
fn seated(step: &Step) -> Seated {
    let threads = step.workload.threads;
    let of_each = usize::try_from(threads).unwrap_or(usize::MAX);
    let places = match step.workload.sharing {
        Sharing::EachItsOwn => step.places.as_slice(),
        Sharing::EveryThreadAll => step.places.get(..1).unwrap_or_default(),
    };
    let is_placed = places.iter().any(|(cpus, nodes)| cpus.is_some() || nodes.is_some());
    let seats = |(cpus, nodes): &(Option<CpuSet>, Option<CpuSet>)| {
        let node = nodes.iter().flat_map(CpuSet::iter).next().map(|node| NodeId(node.0));
        let cpus: Vec<_> = cpus.iter().flat_map(CpuSet::iter).map(Some).collect();
        let cpus = if cpus.is_empty() { vec![None] } else { cpus };
        let seat = move |cpu| engine::Seat { cpu, memory_node: node, ..engine::Seat::default() };
        cpus.into_iter().cycle().take(of_each).map(seat).collect::<Vec<_>>()
    };
    let seats = if is_placed { places.iter().flat_map(seats).collect() } else { Vec::new() };
    Seated { threads, seats, ..Seated::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(text: &str) -> Vec<Seated> {
        job_file::parse(text).unwrap().iter().map(seated).collect()
    }

    #[test]
    fn threads_sit_where_their_section_says() {
        let text = "[global]\nruntime=1\ntime_based\nnumjobs=3\n[a]\nfilename=/dev/a\ncpus_allowed=4-5\n\
                    numa_mem_policy=bind:1\n[b]\nfilename=/dev/b\ncpus_allowed=8\n";
        let [seated] = steps(text).try_into().unwrap();
        let cpus: Vec<u32> = seated.seats.iter().filter_map(|seat| Some(seat.cpu?.0)).collect();
        assert_eq!(cpus, [4, 5, 4, 8, 8, 8]);
        let nodes: Vec<_> = seated.seats.iter().map(|seat| seat.memory_node).collect();
        assert_eq!((nodes[2], nodes[3]), (Some(NodeId(1)), None));
        let [free] = steps("[a]\nfilename=/dev/a\nruntime=1\ntime_based\n").try_into().unwrap();
        assert!(free.seats.is_empty() && free.threads == 1);
    }
}
