// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines as gdsio writes them, wraps them, and breaks them off.

use super::*;

const LINE: &str = "IoType: READ XferType: GPUD Threads: 8 DataSetSize: 818796544/4096000(KiB) \
                    IOSize: 1024(KiB) Throughput: 6.524658 GiB/sec, Avg_Latency: 1197.370995 usecs \
                    ops: 799606 total_time 119.679102 secs";

#[test]
fn a_line_is_read() {
    let output = parse(&format!("Verifying data\n{LINE}\n")).unwrap();
    assert_eq!(output.notes, ["Verifying data"]);
    let line = &output.lines[0];
    assert_eq!((line.io.as_str(), line.transfer.as_str(), line.threads), ("READ", "GPUD", 8));
    assert_eq!((line.done_kib, line.set_kib), (818_796_544, Some(4_096_000)));
    assert_eq!((line.operations, &line.io_kib[..]), (799_606, &[1024][..]));
}

#[test]
fn a_line_wrapped_anywhere_is_the_same() {
    let whole = parse(LINE).unwrap();
    let spaces: Vec<usize> = LINE.match_indices(' ').map(|(at, _)| at).collect();
    for &at in &spaces {
        let mut wrapped = LINE.to_owned();
        wrapped.replace_range(at..=at, "\n");
        assert_eq!(parse(&wrapped).unwrap(), whole, "{at}");
    }
    assert_eq!(parse(&format!("{LINE}\n{LINE}")).unwrap().lines.len(), 2);
}

#[test]
fn a_name_that_newer_versions_add_is_read_over() {
    let batch = LINE.replace("GPUD Threads: 8", "GPU_BATCH Threads: 8 IoDepth: 32");
    assert_eq!(parse(&batch).unwrap().lines[0].transfer, "GPU_BATCH");
}

#[test]
fn what_is_cut_or_contradicts_itself_is_refused() {
    for end in LINE.match_indices(' ').map(|(at, _)| at) {
        assert!(parse(&LINE[..end]).is_err(), "{}", &LINE[..end]);
    }
    for (from, to, wanted) in [
        (
            "6.524658",
            "65.24658",
            "Throughput is 65.24658, and DataSetSize over total_time 6.524658",
        ),
        ("ops: 799606", "ops: 7996060", "where IOSize is [1024]"),
        ("ops: 799606", "ops: -1", "ops is \"-1\""),
        ("119.679102", "nan", "total_time is \"nan\""),
        ("119.679102", "0.0", "nothing was done"),
        ("XferType:", "Xfer:", "it has no XferType"),
        ("READ XferType:", "READ", "\"GPUD\" stands where a name should"),
        ("GiB/sec,", "MiB/sec,", "Throughput is in \"MiB/sec,\", not \"GiB/sec,\""),
        ("ops:", "Threads:", "Threads is there twice"),
        ("1024(KiB)", "0(KiB)", "IOSize is \"0(KiB)\""),
    ] {
        let error = parse(&LINE.replace(from, to)).unwrap_err().to_string();
        assert!(error.starts_with("line 1: ") && error.contains(wanted), "{error}");
    }
}

#[test]
fn its_errors_are_told() {
    let text = "file register error: GPUDirect Storage not supported on current file filename:/x\n";
    let error = parse(&format!("{text}{LINE}")).unwrap_err();
    assert!(error.to_string().starts_with("gdsio says: file register error"), "{error}");
    assert_eq!(parse("").unwrap_err().to_string(), "no results of gdsio in it: it is empty");
    assert!(parse("hello").unwrap_err().to_string().contains("\"hello\""));
}
