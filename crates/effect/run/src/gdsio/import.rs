// SPDX-License-Identifier: MIT OR Apache-2.0
//! From what gdsio printed to records of runs.

use record::{
    Direction, Doubt, DoubtKind, DriveState, Engine, Environment, Failed, Kind, Latency, Measured,
    Outcome, Run, SCHEMA, Unknown,
};

use super::parse::{Line, Output};
use crate::stamp;

/// What is known of runs beside what gdsio printed.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// When they are taken to have begun, in ms since 1970: gdsio does not say.
    pub started_ms: u64,
    /// What they were for, in the person's words; the transfer where there is nothing.
    pub note: Option<String>,
    /// The version, where it was asked.
    pub version: Option<String>,
    /// The command line, where nearside drove it.
    pub command: Vec<String>,
}

/// The runs of an output, one a line.
pub fn runs(output: &Output, about: &About) -> Vec<Run> {
    let mut started_ms = about.started_ms;
    let mut runs = Vec::new();
    for line in &output.lines {
        let mut run = run(line, about, started_ms);
        if let Some(what) = stamp::contradiction(&run) {
            let why = format!("the numbers contradict each other: {what}");
            run.outcome = Outcome::Failed(Failed { why, failures: Vec::new() });
        }
        run.id = stamp::id(&run);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a time from 0; what is beyond 2^64 ms saturates"
        )]
        let lasted_ms = (line.seconds * 1e3) as u64;
        started_ms = started_ms.saturating_add(lasted_ms);
        runs.push(run);
    }
    runs
}

fn run(line: &Line, about: &About, started_ms: u64) -> Run {
    let why = "gdsio does not print its options; the device is not told".to_owned();
    let unknown = vec![Unknown { what: "workload".to_owned(), why }];
    let summary = || {
        let sizes: Vec<String> = line.io_kib.iter().map(u64::to_string).collect();
        format!(
            "gdsio: {} {}, {} threads, {} KiB",
            line.transfer,
            line.io,
            line.threads,
            sizes.join("-")
        )
    };
    Run {
        schema: SCHEMA.to_owned(),
        id: String::new(),
        started: stamp::rfc3339(started_ms),
        note: about.note.clone().or_else(|| Some(summary())),
        workload: None,
        workload_hash: None,
        engine: Engine {
            name: "gdsio".to_owned(),
            version: about.version.clone().unwrap_or_else(|| "unknown".to_owned()),
            way: Some(line.transfer.clone()),
            command: about.command.clone(),
        },
        placement: None,
        environment: Environment { unknown, ..Environment::default() },
        outcome: Outcome::Measured(Box::new(measured(line))),
    }
}

fn measured(line: &Line) -> Measured {
    let direction = direction(line);
    Measured {
        seconds: line.seconds,
        // By Little's law, where a latency is told.
        mean_depth: direction
            .latency
            .as_ref()
            .and_then(|latency| latency.mean_ns)
            .map(|ns| ns / 1e9 * direction.iops),
        directions: vec![direction],
        missed: None,
        cpu_ns_per_op: None,
        devices: Vec::new(),
        steady: None,
        flags: Vec::new(),
        drive_state: DriveState::Unknown,
        doubts: doubts(line),
    }
}

#[expect(clippy::cast_precision_loss, reason = "rates need no more than 52 bits")]
fn direction(line: &Line) -> Direction {
    let bytes = line.done_kib.saturating_mul(1024);
    // Printed as 0 where it was not measured.
    let mean_ns = Some(line.latency_us * 1e3).filter(|ns| *ns > 0.0);
    Direction {
        kind: if line.io.to_ascii_uppercase().ends_with("READ") { Kind::Read } else { Kind::Write },
        operations: line.operations,
        bytes,
        seconds: line.seconds,
        iops: line.operations as f64 / line.seconds,
        bytes_per_second: bytes as f64 / line.seconds,
        latency: mean_ns.map(|_| Latency {
            count: Some(line.operations),
            mean_ns,
            ..Latency::default()
        }),
        service: None,
        cpu_ns_per_op: None,
        late: None,
        series: Vec::new(),
    }
}

fn doubts(line: &Line) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    if line.transfer == "GPUD" {
        let text =
            "GPUD is what was asked: in compatibility mode gdsio prints it too, while every \
                    byte goes through the memory of the CPU; see gdscheck -p and gds_stats"
                .to_owned();
        doubts.push(Doubt { kind: DoubtKind::Fallback, target: None, text });
    }
    if line.seconds < 1.0 {
        let text = format!("it ran for {} s", line.seconds);
        doubts.push(Doubt { kind: DoubtKind::Short, target: None, text });
    }
    doubts
}
