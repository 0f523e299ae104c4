// SPDX-License-Identifier: MIT OR Apache-2.0
//! `runs` from end to end: outputs of tools go in, lists and documents come out.

#![expect(clippy::unwrap_used, reason = "a panic is how these tests fail")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// An output of fio: one job that read for a second.
const FIO: &str = r#"note: both iodepth >= 1 and synchronous I/O engine are selected
{"fio version": "fio-3.33", "timestamp_ms": 1772366402000, "jobs": [{"jobname": "x", "groupid": 0,
"error": 0, "job options": {"filename": "/dev/nvme0n1", "rw": "randread", "bs": "4k", "runtime": "2",
"direct": "1", "ioengine": "io_uring"}, "read": {"io_bytes": 81920000, "bw_bytes": 40960000,
"bw": 40000, "iops": 10000.0, "runtime": 2000, "total_ios": 20000, "clat_ns": {"min": 200000,
"max": 900000, "mean": 399400.0, "N": 20000, "percentile": {"50.000000": 399360,
"99.000000": 602112}}}, "job_runtime": 2000, "usr_cpu": 5.0, "sys_cpu": 15.0}]}"#;

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        place.write("good.json", FIO);
        place.write("bad.json", &FIO.replace("\"error\": 0", "\"error\": 5"));
        place.write("broken.json", &FIO[..FIO.len() - 20]);
        place.write("terse.out", "3;fio-3.33;x;0;0;1;2;3\n");
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Runs `nearside runs ARGUMENTS` in the folder, with the store that is named.
    fn runs(&self, store: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nearside"));
        command.arg("runs").args(arguments).args(["--store", store]);
        command.current_dir(&self.folder).env("LC_ALL", "C.UTF-8").env("NO_COLOR", "1");
        command.output().unwrap()
    }

    fn answer(&self, store: &str, arguments: &[&str]) -> String {
        let output = self.runs(store, arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {error}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn document(&self, store: &str, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.answer(store, &[arguments, &["--json"]].concat())).unwrap()
    }

    fn refused(&self, store: &str, arguments: &[&str], code: i32, what: &str) {
        let output = self.runs(store, arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
        assert!(error.contains(what) && error.contains("\nhelp: "), "{arguments:?}: {error}");
    }
}

#[test]
fn what_fio_wrote_is_kept_shown_and_removed() {
    let place = Place::new();
    let said = place.answer("s", &["import", "good.json", "bad.json"]);
    assert!(said.contains("bad.json: failed: job x ended with error 5"), "{said}");
    assert!(said.ends_with("\n2 kept\n"), "{said}");
    let again = place.answer("s", &["import", "good.json"]);
    assert!(again.ends_with("\n0 kept, 1 had been before\n"), "{again}");

    let list = place.document("s", &["list"]);
    assert_eq!(list["schema"], "run-list/1");
    assert_eq!(list["total"], 2);
    let measured = place.document("s", &["list", "--outcome", "measured"]);
    let line = &measured["runs"][0];
    assert_eq!((line["iops"].as_f64(), line["p99_ns"].as_u64()), (Some(10_000.0), Some(602_112)));
    let failed = place.document("s", &["list", "--outcome", "failed"]);
    assert_eq!(
        (&failed["runs"][0]["iops"], &failed["runs"][0]["seconds"]),
        (&Value::Null, &Value::Null)
    );

    let id = line["id"].as_str().unwrap();
    let shown = place.document("s", &["show", id]);
    assert_eq!(shown["schema"], "run/1");
    assert_eq!(shown["id"], id);
    let shown = place.answer("s", &["show", id]);
    assert!(shown.contains("10,000 IOPS, 41 MB/s, 20,000 operations"), "{shown}");
    let listed = place.answer("s", &["list"]);
    assert!(listed.contains("10,000 IOPS") && listed.contains("p99 602 us"), "{listed}");

    place.answer("s", &["rm", id]);
    assert_eq!(place.document("s", &["list"])["total"], 1);
    place.refused("s", &["show", id], 2, "no run is called");
}

#[test]
fn a_store_goes_into_another_one_whole() {
    let place = Place::new();
    place.answer("s", &["import", "good.json", "bad.json", "--note", "before, \"quoted\""]);
    let bundle = place.answer("s", &["export"]);
    place.write("bundle.json", &bundle);
    place.answer("t", &["import", "bundle.json"]);
    assert_eq!(place.answer("t", &["export"]), bundle);
    let files = |store: &str| -> Vec<(String, String)> {
        let month = place.path(store).join("runs/202603");
        let entries = fs::read_dir(month).unwrap().map(|entry| entry.unwrap().path());
        let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
        let mut files: Vec<(String, String)> =
            entries.map(|path| (name(&path), fs::read_to_string(&path).unwrap())).collect();
        files.sort();
        files
    };
    assert_eq!(files("s"), files("t"));
    assert_eq!(files("s").len(), 2);
    place.write("bent.json", &bundle.replace("\"runs/1\"", "\"runs/2\""));
    place.refused("t", &["import", "bent.json"], 2, "bent.json: runs/2 is newer");
}

#[test]
fn other_programs_get_their_formats() {
    let place = Place::new();
    place.answer("s", &["import", "good.json", "bad.json"]);
    let csv = place.answer("s", &["export", "--format", "csv"]);
    assert!(csv.starts_with("id,started,engine,"), "{csv}");
    assert!(csv.contains(",measured,read,iops,1/s,10000\r\n"), "{csv}");
    assert!(csv.contains(",failed,,,,\r\n"), "{csv}");
    let metrics = place.answer("s", &["export", "--format", "openmetrics"]);
    assert!(metrics.contains("direction=\"read\"} 10000 1772366400\n"), "{metrics}");
    assert!(metrics.ends_with("# EOF\n"), "{metrics}");
    let one = place.answer("s", &["export", "--outcome", "failed"]);
    assert!(!one.contains("\"iops\""), "{one}");
}

#[test]
fn what_cannot_be_read_is_refused_and_the_rest_is_kept() {
    let place = Place::new();
    place.refused(
        "s",
        &["import", "broken.json", "good.json"],
        2,
        "broken.json: line 2: the document",
    );
    assert_eq!(place.document("s", &["list"])["total"], 1);
    place.refused(
        "s",
        &["import", "terse.out"],
        2,
        "terse.out: no JSON document of fio in it: these",
    );
    place.refused("s", &["import", "none.json"], 4, "cannot read none.json: No such file");
    place.refused("s", &["import", "."], 4, "cannot read .: it is no plain file");
    place.refused("s", &["import"], 2, "required arguments were not provided");
    place.refused("s", &["show", "3"], 2, "no run is called \"3\"");
    place.refused("s", &["rm", "../x"], 2, "no run is called \"../x\"");
    place.refused("s", &["list", "--since", "yesterday"], 2, "write it as 2026, 2026-03");
    place.refused("s", &["list", "--from", "synthetic:faulty"], 2, "not in a captured machine");
    place.refused(
        "good.json",
        &["import", "good.json"],
        4,
        "cannot list good.json/runs: Not a directory",
    );
    let output = place.runs("dry", &["import", "--dry-run", "good.json"]);
    assert!(String::from_utf8_lossy(&output.stdout).ends_with("1 would be kept\n"));
    assert!(!place.path("dry").exists());
}

#[test]
fn a_file_that_is_no_record_is_named_beside_the_list() {
    let place = Place::new();
    place.answer("s", &["import", "good.json"]);
    place.write("s/runs/202603/20260303-strange.json", "{}");
    let output = place.runs("s", &["list"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && error.contains("20260303-strange.json: no record"),
        "{error}"
    );
    assert!(String::from_utf8_lossy(&output.stdout).contains("10,000 IOPS"));
}
