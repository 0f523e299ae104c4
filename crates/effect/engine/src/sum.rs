// SPDX-License-Identifier: MIT OR Apache-2.0
//! What all threads counted, put together: numbers, or why there are none.

use std::collections::BTreeMap;

use analyse::{Limits, steady};
use record::{
    Agreement, Counted, DeviceCounters, Direction, Doubt, DoubtKind, DriveState, Failure,
    FailureKind, Flag, Kind, Latency, Measured, Outcome, Pace, Second, Steady, Workload,
};

use crate::counters::{Counts, Stat, compare};
use crate::session::{Ended, failed};
use crate::target::{Kind as TargetKind, Target};
use crate::worker::{KINDS, place};

/// Percent of operations submitted late, or never, above which a run was not paced.
const LATE_PERCENT: f64 = 1.0;

/// All that is known of a run when it has ended.
pub(crate) struct Summed<'a> {
    pub(crate) workload: &'a Workload,
    pub(crate) targets: &'a [Target],
    pub(crate) ended: Vec<Ended>,
    /// Counters of each target's device, before and after.
    pub(crate) stats: Vec<(Option<Stat>, Option<Stat>)>,
    /// CPU time of the kernel's helper threads, in ns.
    pub(crate) helper_ns: u64,
    pub(crate) flags: Vec<Flag>,
}

/// Numbers where all went well; nothing else has any.
pub(crate) fn sum(summed: Summed<'_>, doubts: &mut Vec<Doubt>) -> Outcome {
    if let Some(outcome) = gone_wrong(&summed) {
        return outcome;
    }
    let Summed { workload, ended, .. } = &summed;
    let from_ns = ended.iter().map(|one| one.tally.from_ns).min().unwrap_or(0);
    let to_ns = ended.iter().map(|one| one.tally.to_ns).max().unwrap_or(0);
    let seconds = seconds(to_ns.saturating_sub(from_ns));
    let kinds = KINDS.into_iter().filter(|kind| percent(workload, *kind) > 0);
    let mut directions: Vec<Direction> =
        kinds.map(|kind| direction(&summed, kind, seconds)).collect();
    let operations: u64 = directions.iter().map(|one| one.operations).sum();
    if operations == 0 || seconds <= 0.0 {
        return failed("no operation ended within the time that counts".to_owned(), Vec::new());
    }
    let cpu_ns = ended.iter().map(|one| one.tally.cpu_ns).sum::<u64>() + summed.helper_ns;
    let cpu_ns_per_op = real(cpu_ns) / real(operations);
    if let [only] = directions.as_mut_slice() {
        only.cpu_ns_per_op = Some(cpu_ns_per_op);
    }
    let busy_ns: u64 = ended.iter().map(|one| one.tally.busy_ns).sum();
    let mean_depth = real(busy_ns) / 1e9 / seconds;
    let devices = devices(&summed);
    let steady = course(workload, &directions, from_ns, to_ns);
    speak_against(workload, &directions, mean_depth, missed(ended), doubts);
    uneven_speaks(ended, doubts);
    counters_speak(&devices, doubts);
    unsteady_speaks(&steady, doubts);
    Outcome::Measured(Box::new(Measured {
        seconds,
        directions,
        cpu_ns_per_op: Some(cpu_ns_per_op),
        mean_depth: Some(mean_depth),
        missed: is_open(workload).then(|| missed(ended)),
        devices,
        steady: Some(steady),
        flags: summed.flags,
        drive_state: DriveState::Unknown,
        doubts: Vec::new(),
    }))
}

/// Failed, broken and cancelled runs have no number.
fn gone_wrong(summed: &Summed<'_>) -> Option<Outcome> {
    let tallies = || summed.ended.iter().map(|one| &one.tally);
    let failures = failures(summed);
    let broken = tallies().find_map(|tally| tally.broken.clone());
    if !failures.is_empty() || broken.is_some() {
        let count: u64 = failures.iter().filter_map(|failure| failure.count).sum();
        let why = broken.unwrap_or_else(|| format!("{count} operations failed"));
        return Some(failed(why, failures));
    }
    if tallies().any(|tally| tally.is_cancelled) {
        return Some(Outcome::Cancelled);
    }
    let is_short = tallies().any(|tally| !tally.has_begun);
    let why = "the amount was done before the ramp had ended".to_owned();
    is_short.then(|| failed(why, Vec::new()))
}

/// Failures alike, of all threads.
fn failures(summed: &Summed<'_>) -> Vec<Failure> {
    let mut alike: BTreeMap<(u32, FailureKind), (u64, u64)> = BTreeMap::new();
    for Ended { targets, tally } in &summed.ended {
        for ((file, kind), one) in &tally.failures {
            let Some(target) = targets.get(usize::from(*file)) else { continue };
            let sum = alike.entry((*target, kind.clone())).or_insert((0, one.offset));
            *sum = (sum.0 + one.count, sum.1.min(one.offset));
        }
    }
    let failure = |((target, kind), (count, offset)): ((u32, FailureKind), (u64, u64))| Failure {
        kind,
        target: summed.targets.get(target as usize).map(Target::name),
        count: Some(count),
        offset_bytes: Some(offset),
    };
    alike.into_iter().map(failure).collect()
}

fn percent(workload: &Workload, kind: Kind) -> u8 {
    match kind {
        Kind::Read | Kind::Mixed => workload.mix.read_percent,
        Kind::Write => workload.mix.write_percent,
        Kind::Trim => workload.mix.trim_percent,
    }
}

fn is_open(workload: &Workload) -> bool {
    workload.pace != Pace::Closed
}

fn direction(summed: &Summed<'_>, kind: Kind, seconds: f64) -> Direction {
    let lanes = || summed.ended.iter().filter_map(|one| one.tally.lanes.get(place(kind)));
    let (mut latency, mut service) = (record::Histogram::new(), record::Histogram::new());
    let (mut counted, mut late, mut series) = (Counted::default(), 0, Vec::new());
    for lane in lanes() {
        latency.merge(&lane.latency);
        service.merge(&lane.service);
        counted.operations += lane.counted.operations;
        counted.bytes += lane.counted.bytes;
        late += lane.late;
        add(&mut series, &lane.series);
    }
    let is_open = is_open(summed.workload);
    Direction {
        kind,
        operations: counted.operations,
        bytes: counted.bytes,
        seconds,
        iops: real(counted.operations) / seconds,
        bytes_per_second: real(counted.bytes) / seconds,
        latency: Some(Latency::from(latency)),
        service: is_open.then(|| Latency::from(service)),
        cpu_ns_per_op: None,
        late: is_open.then_some(late),
        series,
    }
}

fn add(sum: &mut Vec<Second>, series: &[Second]) {
    if sum.len() < series.len() {
        sum.resize(series.len(), Second::default());
    }
    for (sum, one) in sum.iter_mut().zip(series) {
        sum.operations += one.operations;
        sum.bytes += one.bytes;
        sum.max_ns = sum.max_ns.max(one.max_ns);
    }
}

fn missed(ended: &[Ended]) -> u64 {
    ended.iter().map(|one| one.tally.missed).sum()
}

/// One a device, of all targets that are or lie on it.
fn devices(summed: &Summed<'_>) -> Vec<DeviceCounters> {
    let mut own: BTreeMap<String, (Stat, usize)> = BTreeMap::new();
    for (at, target) in summed.targets.iter().enumerate() {
        let Some(device) = &target.device else { continue };
        let (sum, _) = own.entry(device.clone()).or_insert((Stat::default(), at));
        for Ended { targets, tally } in &summed.ended {
            let files = targets.iter().zip(&tally.all);
            for (_, all) in files.filter(|(target, _)| **target as usize == at) {
                for (sum, one) in sum.iter_mut().zip(all) {
                    sum.operations += one.operations;
                    sum.bytes += one.bytes;
                }
            }
        }
    }
    let counters = |(device, (own, at)): (String, (Stat, usize))| {
        let (before, after) = summed.stats.get(at).copied().unwrap_or_default();
        let is_passing = |target: &Target| target.kind == TargetKind::Commands;
        let passes = summed.targets.get(at).is_some_and(is_passing);
        let counts = if passes { Counts::PerhapsNot } else { Counts::All };
        compare(device, before, after, &own, counts)
    };
    own.into_iter().map(counters).collect()
}

/// How the rate went, over the whole seconds of the time that counts.
fn course(workload: &Workload, directions: &[Direction], from_ns: u64, to_ns: u64) -> Steady {
    const SECOND: u64 = 1_000_000_000;
    let whole = |ns: u64| usize::try_from(ns).unwrap_or(usize::MAX);
    let (first, last) = (whole(from_ns.div_ceil(SECOND)), whole(to_ns / SECOND));
    // A run begins some microseconds into its first second.
    let first = if from_ns < SECOND / 100 { 0 } else { first };
    let mut rates = vec![0.0; last.saturating_sub(first).min(40_000_000)];
    for one in directions {
        let seconds = one.series.iter().skip(first);
        rates.iter_mut().zip(seconds).for_each(|(sum, one)| *sum += real(one.operations));
    }
    let limits = if workload.mix.destroys() { Limits::WRITES } else { Limits::READS };
    steady(&rates, limits)
}

fn speak_against(
    workload: &Workload,
    directions: &[Direction],
    mean_depth: f64,
    missed: u64,
    doubts: &mut Vec<Doubt>,
) {
    let operations: u64 = directions.iter().map(|one| one.operations).sum();
    let seconds = directions.first().map_or(0.0, |one| one.seconds);
    if is_open(workload) {
        held_up(directions, missed, doubts);
        let late: u64 = directions.iter().filter_map(|one| one.late).sum::<u64>() + missed;
        let share = real(late) * 100.0 / real(operations + missed).max(1.0);
        if share > LATE_PERCENT {
            let text = format!(
                "{share:.1} % of the operations were submitted late or never: the rate asked was not kept"
            );
            doubts.push(Doubt { kind: DoubtKind::Late, target: None, text });
        }
    } else {
        let asked = f64::from(workload.thread_count()) * f64::from(workload.depth);
        if mean_depth < 0.9 * asked {
            let text = format!("on average {mean_depth:.1} operations were in flight, of {asked}");
            doubts.push(Doubt { kind: DoubtKind::Depth, target: None, text });
        }
    }
    if seconds < 1.0 || operations < 100 {
        let text = format!("{operations} operations in {seconds:.3} s are few to go by");
        doubts.push(Doubt { kind: DoubtKind::Short, target: None, text });
    }
}

/// Threads that had done their share of an amount long before the last one: the rate is over the
/// longest, and less than what the targets do together.
fn uneven_speaks(ended: &[Ended], doubts: &mut Vec<Doubt>) {
    let times = || ended.iter().map(|one| one.tally.to_ns.saturating_sub(one.tally.from_ns));
    let (Some(least), Some(most)) = (times().min(), times().max()) else { return };
    if most > 0 && real(least) < 0.9 * real(most) {
        let text = format!(
            "its threads ran for {:.3} to {:.3} s, each for a share of the amount; the rate is over \
             the longest",
            seconds(least),
            seconds(most)
        );
        doubts.push(Doubt { kind: DoubtKind::Uneven, target: None, text });
    }
}

/// An open loop whose operations ended after it: the rate that was reached is not the one asked.
fn held_up(directions: &[Direction], missed: u64, doubts: &mut Vec<Doubt>) {
    let ended: u64 = directions.iter().map(|one| one.operations).sum();
    let begun = directions.iter().filter_map(|one| one.latency.as_ref()?.count).sum::<u64>();
    let meant = begun + missed;
    if real(ended) < 0.99 * real(meant) {
        let text = format!(
            "{meant} operations were meant to start within the time that counts, and {ended} ended \
             within it: the rate asked was not reached"
        );
        doubts.push(Doubt { kind: DoubtKind::Late, target: None, text });
    }
}

fn counters_speak(devices: &[DeviceCounters], doubts: &mut Vec<Doubt>) {
    for one in devices {
        let own = one.own_read.bytes + one.own_written.bytes;
        let its = one.read.bytes + one.written.bytes;
        let counted =
            format!("the engine moved {own} bytes and the kernel counted {its} at the device");
        let (kind, follows) = match one.agreement {
            Agreement::Fewer => (DoubtKind::Counters, "something before it answered"),
            Agreement::More => (DoubtKind::Beside, "somebody else used it at the same time"),
            Agreement::Same | Agreement::Unknown => continue,
        };
        let target = Some(one.device.clone());
        doubts.push(Doubt { kind, target, text: format!("{counted}: {follows}") });
    }
}

fn unsteady_speaks(steady: &Steady, doubts: &mut Vec<Doubt>) {
    if steady.course == record::Course::Unsteady {
        let text = match (steady.range_percent, steady.slope_percent) {
            (Some(range), Some(slope)) => format!(
                "the rate had not settled: five windows differ by {range:.1} %, and it changed by \
                 {slope:.1} % from the first to the last"
            ),
            _ => "the rate had not settled".to_owned(),
        };
        doubts.push(Doubt { kind: DoubtKind::Unsteady, target: None, text });
    }
}

fn seconds(ns: u64) -> f64 {
    real(ns) / 1e9
}

#[expect(clippy::cast_precision_loss, reason = "rates and times need no more than 52 bits")]
fn real(number: u64) -> f64 {
    number as f64
}
