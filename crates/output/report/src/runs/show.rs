// SPDX-License-Identifier: MIT OR Apache-2.0
//! One run in full: what came, what speaks against it, what was asked, and where it was.

use record::{
    Blocks, Course, Direction, Kind, Latency, Measured, Outcome, Pace, Pattern, PlacedThread, Run,
    Steady, Workload,
};
use units::{Cpu, CpuSet, NodeId};

use super::moment::sparkline;
use super::{grouped, iops, rate, time, time_of};
use crate::frame::{Table, field, field_in, paragraph};
use crate::style::{Line, Role, Style, paint};

/// Columns of the labels.
const LABEL: usize = 14;

/// Draws a run.
pub fn show(run: &Run, style: &Style) -> String {
    let columns = style.columns();
    let mut lines = vec![head(run)];
    lines.extend(run.note.iter().flat_map(|note| paragraph(Role::Plain, note, 0, columns)));
    lines.push(Line::default());
    match &run.outcome {
        Outcome::Measured(measured) => lines.extend(numbers(measured, columns)),
        Outcome::Failed(failed) => {
            lines.extend(field_in(Role::Bad, "failed", &failed.why, LABEL, columns));
            for failure in failed.failures.iter().skip(1) {
                let text = format!("{:?}", failure.kind);
                lines.extend(field("", &text, LABEL, columns));
            }
        }
        Outcome::Cancelled => {
            lines.extend(field_in(Role::Warn, "cancelled", "it has no numbers", LABEL, columns));
        }
    }
    lines.push(Line::default());
    lines.extend(asked(run, columns));
    lines.extend(place(run, columns));
    paint(&lines, style)
}

fn head(run: &Run) -> Line {
    let engine = format!(" · {} {}", run.engine.name, run.engine.version);
    let way = run.engine.way.iter().map(|way| format!(" ({way})")).collect::<String>();
    Line::of(Role::Strong, &run.id)
        .and(Role::Dim, format!(" · {}", run.started))
        .and(Role::Dim, engine + &way)
}

fn numbers(measured: &Measured, columns: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for direction in &measured.directions {
        lines.extend(of_direction(direction, columns));
    }
    let latencies: Vec<(&Direction, &Latency)> = measured
        .directions
        .iter()
        .filter_map(|direction| Some((direction, direction.latency.as_ref()?)))
        .collect();
    if !latencies.is_empty() {
        lines.push(Line::default());
        lines.extend(table(&latencies).lines(columns));
    }
    lines.extend(each_second(measured, columns));
    let mut facts = vec![format!("{} s", plain_seconds(measured.seconds))];
    facts.extend(measured.mean_depth.map(|depth| format!("{depth:.1} in flight on average")));
    let missed = measured.missed.filter(|missed| *missed > 0);
    facts.extend(missed.map(|missed| format!("{missed} came due and were never submitted")));
    facts.extend(measured.cpu_ns_per_op.map(|ns| format!("{} of CPU an operation", time(ns))));
    lines.push(Line::default());
    lines.extend(field("over", &facts.join(", "), LABEL, columns));
    lines.extend(measured.steady.iter().flat_map(|steady| course(*steady, columns)));
    for doubt in &measured.doubts {
        let about = doubt.target.iter().map(|target| format!("{target}: ")).collect::<String>();
        let text = format!("{about}{}", doubt.text);
        lines.extend(field_in(Role::Warn, "in doubt", &text, LABEL, columns));
    }
    lines
}

/// Whether the rate had settled, and where.
fn course(steady: Steady, columns: usize) -> Vec<Line> {
    let at = steady.mean.map_or_else(String::new, |mean| format!(" at {}", iops(mean)));
    let seconds = steady.warm_up_seconds;
    let text = match steady.course {
        Course::Flat => format!("the same from beginning to end{at}"),
        Course::WarmUp => format!("it rose for {seconds} s and then stayed{at}"),
        Course::SlowDown => format!("it fell for {seconds} s and then stayed{at}"),
        Course::Unsteady => "it did not settle".to_owned(),
        Course::TooShort => "too few seconds to tell whether it had settled".to_owned(),
    };
    field("course", &text, LABEL, columns)
}

/// Operations second by second, of all directions together.
fn each_second(measured: &Measured, columns: usize) -> Vec<Line> {
    let longest = measured.directions.iter().map(|direction| direction.series.len()).max();
    let mut sums = vec![0.0; longest.unwrap_or(0)];
    for second in measured.directions.iter().map(|direction| &direction.series) {
        sums.iter_mut().zip(second).for_each(|(sum, one)| *sum += number(one.operations));
    }
    // The last second is seldom a whole one.
    sums.pop();
    let bars = sparkline(&sums, columns.saturating_sub(LABEL));
    if bars.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![Line::default()];
    lines.extend(field("each second", &bars, LABEL, columns));
    lines
}

/// Seconds without digits that nobody needs.
fn plain_seconds(seconds: f64) -> String {
    let text = format!("{seconds:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn of_direction(direction: &Direction, columns: usize) -> Vec<Line> {
    let text = format!(
        "{}, {}, {} operations",
        iops(direction.iops),
        rate(direction.bytes_per_second),
        grouped(number(direction.operations)),
    );
    field_in(Role::Strong, word(direction.kind), &text, LABEL, columns)
}

#[expect(clippy::cast_precision_loss, reason = "a count that is shown to a person")]
fn number(count: u64) -> f64 {
    count as f64
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Read => "read",
        Kind::Write => "write",
        Kind::Trim => "trim",
        Kind::Mixed => "mixed",
    }
}

/// Latencies beside each other: a row a figure, a column a direction.
fn table(latencies: &[(&Direction, &Latency)]) -> Table {
    const SHOWN: [f64; 7] = [1.0, 50.0, 90.0, 95.0, 99.0, 99.9, 99.99];
    let mut table = Table::new(0);
    let words: Vec<&str> = latencies.iter().map(|(direction, _)| word(direction.kind)).collect();
    table.heading(&[&["latency"][..], &words].concat());
    let mut row = |name: String, of: &dyn Fn(&Latency) -> Option<String>| {
        let cells: Vec<Option<String>> = latencies.iter().map(|(_, latency)| of(latency)).collect();
        if cells.iter().any(Option::is_some) {
            let cells = cells.into_iter().map(|cell| (Role::Plain, cell.unwrap_or_default()));
            table.row(std::iter::once((Role::Dim, name)).chain(cells).collect());
        }
    };
    row("smallest".to_owned(), &|latency| latency.min_ns.map(time_of));
    row("mean".to_owned(), &|latency| latency.mean_ns.map(time));
    for percent in SHOWN {
        row(format!("p{percent}"), &|latency| latency.percentile(percent).map(time_of));
    }
    row("largest".to_owned(), &|latency| latency.max_ns.map(time_of));
    table
}

fn asked(run: &Run, columns: usize) -> Vec<Line> {
    let Some(workload) = &run.workload else {
        return field("asked", "not known", LABEL, columns);
    };
    let targets: Vec<&str> = workload.targets.iter().map(|target| target.path.as_str()).collect();
    let mut lines = field("targets", &targets.join(", "), LABEL, columns);
    lines.extend(field("asked", &load(workload), LABEL, columns));
    let hash = run.workload_hash.as_deref().and_then(|hash| hash.get(..16)).unwrap_or_default();
    lines.extend(field("workload", hash, LABEL, columns));
    lines
}

fn load(workload: &Workload) -> String {
    let mix = workload.mix;
    let shares =
        [("reads", mix.read_percent), ("writes", mix.write_percent), ("trims", mix.trim_percent)];
    let shares = shares.into_iter().filter(|(_, percent)| *percent > 0);
    let shares: Vec<String> = shares.map(|(name, percent)| format!("{percent} % {name}")).collect();
    let pattern = match workload.pattern {
        Pattern::Sequential => "sequential".to_owned(),
        Pattern::Uniform => "random".to_owned(),
        Pattern::Zipf { theta } => format!("Zipf {theta}"),
        Pattern::HotSpot { operations_percent, places_percent } => {
            format!("{operations_percent} % of operations to {places_percent} % of places")
        }
    };
    let pace = match workload.pace {
        Pace::Closed => String::new(),
        Pace::Constant { iops, .. } => format!(", {iops} a second"),
        Pace::Poisson { iops, .. } => format!(", {iops} a second at random"),
    };
    let (threads, depth) = (workload.thread_count(), workload.depth);
    let (shares, blocks) = (shares.join(" and "), blocks(&workload.blocks));
    let threads = if threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") };
    format!("{shares}, {pattern}, {blocks}, {threads}, depth {depth}{pace}")
}

fn blocks(blocks: &Blocks) -> String {
    let bytes = |bytes: u64| units::Bytes(bytes).to_string();
    match blocks {
        Blocks::One { bytes: one } => bytes(*one),
        Blocks::Range { min_bytes, max_bytes } => {
            format!("{} to {}", bytes(*min_bytes), bytes(*max_bytes))
        }
        Blocks::Shares { shares } => {
            let share =
                shares.iter().map(|share| format!("{} % {}", share.percent, bytes(share.bytes)));
            share.collect::<Vec<_>>().join(" and ")
        }
    }
}

/// `CPU 3`, `CPUs 0-3`.
fn several(what: &str, set: &CpuSet) -> String {
    let plural = if set.len() == 1 { "" } else { "s" };
    format!("{what}{plural} {set}")
}

/// Where the threads were: their CPUs, the node of their memory, and who heard of completions.
fn seats(run: &Run, columns: usize) -> Vec<Line> {
    let threads = run.placement.iter().flat_map(|placement| &placement.threads);
    let threads: Vec<&PlacedThread> = threads.collect();
    let cpus: CpuSet = threads.iter().filter_map(|thread| thread.cpu).collect();
    if cpus.is_empty() {
        return Vec::new();
    }
    let nodes = |of: fn(&PlacedThread) -> Option<NodeId>| -> CpuSet {
        threads.iter().filter_map(|thread| of(thread)).map(|node| Cpu(node.0)).collect()
    };
    let heard = threads.iter().flat_map(|thread| &thread.interrupts);
    let heard = heard.filter_map(|one| one.cpus.as_ref());
    let heard = heard.fold(CpuSet::new(), |all, cpus| all.or(cpus));
    let asked = run.placement.as_ref().and_then(|placement| placement.asked.as_deref());
    let mut text = asked.map_or_else(String::new, |asked| format!("{asked}: "));
    text.push_str(&several("CPU", &cpus));
    for (words, what, set) in [
        (" of ", "node", nodes(|thread| thread.node)),
        (", memory of ", "node", nodes(|thread| thread.memory_node)),
        (", interrupts on ", "CPU", heard),
    ] {
        if !set.is_empty() {
            text.push_str(&format!("{words}{}", several(what, &set)));
        }
    }
    field("placed", &text, LABEL, columns)
}

fn place(run: &Run, columns: usize) -> Vec<Line> {
    let environment = &run.environment;
    let facts = [
        ("host", &environment.host),
        ("firmware", &environment.firmware),
        ("kernel", &environment.kernel),
    ];
    let mut lines = Vec::new();
    for (label, value) in facts {
        lines.extend(value.iter().flat_map(|value| field(label, value, LABEL, columns)));
    }
    lines.extend(seats(run, columns));
    if !run.engine.command.is_empty() {
        lines.extend(field("command", &run.engine.command.join(" "), LABEL, columns));
    }
    for unknown in &environment.unknown {
        let text = format!("{}: {}", unknown.what, unknown.why);
        lines.extend(field_in(Role::Dim, "not known", &text, LABEL, columns));
    }
    lines
}
