// SPDX-License-Identifier: MIT OR Apache-2.0
//! fio's job files: read as workloads of the own engine, and written for fio.
//!
//! What the own engine does not know is refused by its name and line, never left out: a workload
//! that lacks an option measures something else under the same name.

mod blocks;
mod error;
mod ini;
mod options;
mod quantity;
mod workload;
mod write;

use record::{Pace, Sharing, Workload};
use units::CpuSet;

pub use error::NotTaken;
pub use ini::{Given, Section, sections};
pub use workload::{Job, job};
pub use write::{Place, Unwritten, write};

pub use ini::canonical;
pub(super) use quantity::seconds;
pub use quantity::size;
pub(super) use workload::is_one_at_a_time;

/// Sections that run at the same time, as one workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The names of its sections.
    pub names: Vec<String>,
    /// What they ask together.
    pub workload: Workload,
    /// For each target, where its threads may run and whose memory they take; none where the
    /// section does not say.
    pub places: Vec<(Option<CpuSet>, Option<CpuSet>)>,
    /// What the own engine does otherwise than fio, a sentence each.
    pub remarks: Vec<String>,
}

/// Reads a job file: its steps, one after the other (`stonewall`).
///
/// # Errors
/// An option or a value that the own engine does not know, or sections that run at the same time
/// and differ in more than their target and place.
pub fn parse(text: &str) -> Result<Vec<Step>, NotTaken> {
    together(sections(text)?)
}

/// The steps of sections, as [`parse`].
///
/// # Errors
/// As [`parse`].
pub fn together(sections: Vec<Section>) -> Result<Vec<Step>, NotTaken> {
    let mut steps: Vec<Step> = Vec::new();
    for section in sections {
        let job = job(&section)?;
        match steps.last_mut() {
            Some(step) if !job.waits => join(step, job).map_err(|what| NotTaken {
                line: section.line,
                section: Some(section.name),
                option: None,
                what,
            })?,
            _ => steps.push(alone(job)),
        }
    }
    Ok(steps)
}

fn alone(job: Job) -> Step {
    let place = (job.cpus, job.memory_nodes);
    Step {
        names: vec![job.name],
        places: job.workload.targets.iter().map(|_| place.clone()).collect(),
        workload: job.workload,
        remarks: job.remarks,
    }
}

/// Adds a job that runs beside a step's.
fn join(step: &mut Step, job: Job) -> Result<(), String> {
    let beside = format!("it runs beside [{}]", step.names.last().map_or("", String::as_str));
    if common(&step.workload) != common(&job.workload) {
        return Err(format!(
            "{beside} and asks for something else: one workload is one load; add stonewall"
        ));
    }
    if step.workload.sharing == Sharing::EveryThreadAll {
        return Err(format!("{beside}, and each has several targets; name them in one section"));
    }
    let count = step.workload.targets.len().saturating_add(job.workload.targets.len());
    if count > workload::MOST_FILES as usize {
        return Err(format!("{beside}: {count} files are more than {}", workload::MOST_FILES));
    }
    let (one, other) = (step.workload.limits.bytes, job.workload.limits.bytes);
    step.workload.limits.bytes = one.zip(other).map(|(one, other)| one.saturating_add(other));
    add_pace(&mut step.workload.pace, job.workload.pace);
    let place = (job.cpus, job.memory_nodes);
    step.places.extend(job.workload.targets.iter().map(|_| place.clone()));
    step.workload.targets.extend(job.workload.targets);
    step.names.push(job.name);
    job.remarks.into_iter().for_each(|remark| {
        if !step.remarks.contains(&remark) {
            step.remarks.push(remark);
        }
    });
    step.workload.check().map_err(|error| error.to_string())
}

/// A workload without what is of its targets or adds up.
fn common(workload: &Workload) -> Workload {
    let mut common = workload.clone();
    common.targets.clear();
    common.limits.bytes = common.limits.bytes.map(|_| 0);
    match &mut common.pace {
        Pace::Closed => {}
        Pace::Constant { iops, .. } | Pace::Poisson { iops, .. } => *iops = 0.0,
    }
    common
}

fn add_pace(pace: &mut Pace, more: Pace) {
    let (Pace::Constant { iops, .. } | Pace::Poisson { iops, .. }) = pace else { return };
    if let Pace::Constant { iops: more, .. } | Pace::Poisson { iops: more, .. } = more {
        *iops += more;
    }
}
