// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is exported.

use super::{failed, measured, run};
use crate::{bundle, csv, open_metrics, read_bundle};

#[test]
fn a_bundle_goes_there_and_back() {
    let runs = [run(1, measured()), run(2, failed())];
    let text = serde_json::to_string(&bundle(&runs)).unwrap();
    assert_eq!(read_bundle(&text).unwrap(), runs);
    let one = serde_json::to_string(&runs[0]).unwrap();
    assert_eq!(read_bundle(&one).unwrap(), runs[..1]);
}

#[test]
fn other_documents_are_refused_by_name() {
    let runs = [run(1, measured())];
    let text = serde_json::to_string(&bundle(&runs)).unwrap();
    for (from, to, wanted) in [
        ("\"runs/1\"", "\"runs/2\"", "runs/2 is newer"),
        ("\"runs/1\"", "\"audit/1\"", "a document of the schema \"audit/1\""),
        ("\"run/1\"", "\"run/2\"", "runs[0]: run/2 is newer"),
        ("\"depth\":32", "\"depth\":33", "runs[0]: the workload's hash"),
    ] {
        let error = read_bundle(&text.replacen(from, to, 1)).unwrap_err();
        assert!(error.contains(wanted), "{error}");
    }
    assert!(read_bundle("{}").is_err() && read_bundle("[").is_err() && read_bundle("").is_err());
}

#[test]
fn a_table_has_one_value_a_row_and_a_failed_run_none() {
    let runs = [run(1, measured()), run(2, failed())];
    let text = csv(&runs);
    let mut table = ::csv::Reader::from_reader(text.as_bytes());
    let head = table.headers().unwrap().clone();
    let column = |name: &str| head.iter().position(|column| column == name).unwrap();
    let rows: Vec<::csv::StringRecord> = table.records().map(Result::unwrap).collect();
    let of = |metric: &str| rows.iter().find(|row| &row[column("metric")] == metric).unwrap();
    assert_eq!(&of("iops")[column("value")], "2");
    assert_eq!(&of("latency_p50")[column("value")], "20096");
    assert_eq!(&of("latency_p50")[column("unit")], "ns");
    assert_eq!(&of("iops")[column("note")], "day 1, \"quoted\"");
    let last = rows.last().unwrap();
    assert_eq!((&last[column("outcome")], &last[column("value")]), ("failed", ""));
    assert_eq!(rows.iter().filter(|row| row[0] == *runs[1].id).count(), 1);
}

#[test]
fn a_note_is_no_formula() {
    let runs = [record::Run { note: Some("=1+1".to_owned()), ..run(1, failed()) }];
    assert!(csv(&runs).contains(",'=1+1,"), "{}", csv(&runs));
}

#[test]
fn metrics_have_types_units_labels_times_and_an_end() {
    let runs = [run(1, measured()), run(2, failed())];
    let text = open_metrics(&runs, &|_| Some(1_772_366_400.5));
    for line in [
        "# TYPE nearside_run_latency_seconds gauge\n# UNIT nearside_run_latency_seconds seconds\n",
        "nearside_run_measured{run=\"20260302-120000-0002\",engine=\"fio\"",
        "note=\"day 1, \\\"quoted\\\"\",direction=\"read\",quantile=\"0.5\"} 0.000020096 1772366400.5\n",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(text.ends_with("\n# EOF\n") && text.matches("# EOF").count() == 1);
    let failed: Vec<&str> = text.lines().filter(|line| line.contains("20260302")).collect();
    assert_eq!(failed.len(), 1);
    assert!(failed[0].ends_with("} 0 1772366400.5"), "{}", failed[0]);
}
