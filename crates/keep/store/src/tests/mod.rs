// SPDX-License-Identifier: MIT OR Apache-2.0
//! The store as a whole, with runs made up here.

mod crash;
mod formats;
mod keeping;

use record::{
    Direction, DriveState, Engine, Environment, Failed, Histogram, Kind, Latency, Measured, Mix,
    Outcome, Run, SCHEMA, Workload,
};

pub(super) fn workload() -> Workload {
    let text = r#"{"targets": [{"path": "/dev/nvme0n1"}], "threads": 4, "depth": 32,
        "mix": {"read_percent": 100}, "pattern": {"kind": "uniform"},
        "blocks": {"kind": "one", "bytes": 4096}, "limits": {"seconds": 30.0}}"#;
    let workload: Workload = serde_json::from_str(text).unwrap();
    assert_eq!(workload.mix, Mix::READS);
    workload
}

fn measured() -> Outcome {
    let mut histogram = Histogram::new();
    [10_000, 20_000, 400_000].iter().for_each(|ns| histogram.record(*ns));
    let direction = Direction {
        kind: Kind::Read,
        operations: 3,
        bytes: 12_288,
        seconds: 1.5,
        iops: 2.0,
        bytes_per_second: 8192.0,
        latency: Some(Latency::from(histogram)),
        service: None,
        cpu_ns_per_op: Some(700.5),
        late: None,
        series: Vec::new(),
    };
    Outcome::Measured(Box::new(Measured {
        seconds: 1.5,
        directions: vec![direction],
        cpu_ns_per_op: Some(700.5),
        mean_depth: None,
        missed: None,
        devices: Vec::new(),
        steady: None,
        flags: Vec::new(),
        drive_state: DriveState::Unknown,
        doubts: Vec::new(),
    }))
}

fn failed() -> Outcome {
    Outcome::Failed(Failed { why: "3 reads failed, \"all\"".to_owned(), failures: Vec::new() })
}

/// A run of the given day of March 2026.
pub(super) fn run(day: u32, outcome: Outcome) -> Run {
    let workload = workload();
    Run {
        schema: SCHEMA.to_owned(),
        id: format!("202603{day:02}-120000-{day:04x}"),
        started: format!("2026-03-{day:02}T12:00:00.000Z"),
        note: Some(format!("day {day}, \"quoted\"")),
        workload_hash: Some(workload.hash()),
        workload: Some(workload),
        engine: Engine {
            name: "fio".to_owned(),
            version: "3.33".to_owned(),
            way: None,
            command: Vec::new(),
        },
        placement: None,
        environment: Environment { host: Some("made up".to_owned()), ..Environment::default() },
        outcome,
    }
}
