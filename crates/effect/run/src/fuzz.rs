// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every pure parser of this crate under one signature, for fuzzing; not part of the interface.

use root::fuzz::Parser;

use crate::{fio, gdsio};

/// All of them.
pub const PARSERS: &[Parser] = &[
    Parser { name: "fio output", example: FIO, parse: fio_output },
    Parser { name: "fio job file", example: JOBS, parse: job_file },
    Parser { name: "gdsio output", example: GDSIO, parse: gdsio_output },
];

const FIO: &[u8] = br#"fio: a note
{"fio version": "fio-3.33", "timestamp_ms": 1796023391400, "jobs": [{"jobname": "x", "groupid": 0,
"error": 0, "job options": {"rw": "randread", "bs": "4k", "runtime": "1", "numjobs": "2"},
"read": {"io_bytes": 8192, "bw_bytes": 8192, "bw": 8, "iops": 2.0, "runtime": 1000, "total_ios": 2,
"clat_ns": {"min": 128, "max": 499, "mean": 300.0, "N": 2, "percentile": {"99.000000": 498},
"bins": {"129": 1, "498": 1}}}, "job_runtime": 2000, "usr_cpu": 1.0, "sys_cpu": 2.0}],
"disk_util": [{"name": "vda", "read_ios": 2, "write_ios": 0}]}"#;

const JOBS: &[u8] = b"[global]\nbs=4k ; x\n[a]\nfilename=/dev/x\nrw=randrw\nruntime=10\n\
                      random_distribution=zoned:90/10:10/90\nbssplit=4k/50:8k/50\ncpus_allowed=0-3\n";

const GDSIO: &[u8] = b"IoType: READ XferType: GPUD Threads: 1 DataSetSize: 1048576/1048576(KiB) \
                       IOSize: 1024(KiB) Throughput: 1.0 GiB/sec, Avg_Latency: 976.5 usecs ops: \
                       1024 total_time 1.0 secs";

/// What is imported has the shape of a record: it comes back from its own JSON.
fn fio_output(bytes: &[u8]) {
    let Ok(output) = fio::parse(&String::from_utf8_lossy(bytes)) else { return };
    for run in fio::runs(&output, &fio::About::default()).iter().flatten() {
        assert!(serde_json::to_string(run).is_ok_and(|text| record::Run::parse(&text).is_ok()));
    }
}

/// What is read and can be written for fio reads back the same.
fn job_file(bytes: &[u8]) {
    let Ok(steps) = fio::job_file::parse(&String::from_utf8_lossy(bytes)) else { return };
    for step in steps {
        let _ = fio::job_file::write(&step.workload, "io_uring", &[]);
    }
}

fn gdsio_output(bytes: &[u8]) {
    let Ok(output) = gdsio::parse(&String::from_utf8_lossy(bytes)) else { return };
    for run in gdsio::runs(&output, &gdsio::About::default()) {
        assert!(serde_json::to_string(&run).is_ok_and(|text| record::Run::parse(&text).is_ok()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_is_read() {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let output = fio::parse(&text(FIO)).unwrap();
        let runs = fio::runs(&output, &fio::About::default()).unwrap();
        assert!(runs[0].outcome.measured().is_some() && runs[0].workload.is_some());
        assert!(fio::job_file::parse(&text(JOBS)).is_ok());
        assert_eq!(gdsio::parse(&text(GDSIO)).unwrap().lines.len(), 1);
    }
}
