// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sweeps as they are drawn.

use super::*;
use crate::json::{SweepAxis, SweepDrift, SweepKnee};

fn axis(name: &str, values: &[&str]) -> SweepAxis {
    let values = values.iter().map(|value| (*value).to_owned()).collect();
    SweepAxis { name: name.to_owned(), values }
}

fn measured(at: &[usize], iops: f64, p99_ns: u64) -> SweepCell {
    SweepCell {
        iops: Some(iops),
        bytes_per_second: Some(iops * 4096.0),
        p50_ns: Some(p99_ns / 2),
        p99_ns: Some(p99_ns),
        ..SweepCell::without(at.to_vec(), "measured", None)
    }
}

/// A depth sweep that was cut short at 64, with its knee at 8.
fn depths() -> Sweep {
    let rates = [10_000.0, 20_000.0, 40_000.0, 79_000.0, 80_000.0, 80_500.0];
    let cells = (0..).zip(rates).map(|(at, iops)| measured(&[at], iops, 100_000 << at));
    let skipped = SweepCell::without(vec![6], "skipped", None);
    Sweep {
        schema: "sweep/1".to_owned(),
        started: "2026-03-01T12:00:00.000Z".to_owned(),
        targets: vec!["/dev/nvme0n1".to_owned()],
        axes: vec![axis("iodepth", &["1", "2", "4", "8", "16", "32", "64"])],
        cells: cells.chain([skipped]).collect(),
        knees: vec![SweepKnee { at: vec![3], why: "twice as much brought 1 %".to_owned() }],
        drift: Some(SweepDrift { first_iops: 10_000.0, last_iops: 9_000.0, percent: -10.0 }),
    }
}

/// Sizes by patterns by places, one cell of which failed.
fn grid() -> Sweep {
    let axes = vec![
        axis("place", &["near", "far"]),
        axis("bs", &["4k", "64k", "1m"]),
        axis("rw", &["read", "randread"]),
    ];
    let all = (0..2).flat_map(|place| (0..3).map(move |bs| (place, bs)));
    let all = all.flat_map(|(place, bs)| [[place, bs, 0], [place, bs, 1]]);
    let mut cells: Vec<SweepCell> = all
        .zip(1_u32..)
        .map(|(at, n)| measured(&at, f64::from(n) * 1e4, u64::from(n) * 50_000))
        .collect();
    cells[5] = SweepCell::without(vec![0, 2, 1], "failed", Some("3 operations failed".to_owned()));
    Sweep { axes, cells, knees: Vec::new(), drift: None, ..depths() }
}

fn text(sweep: &Sweep, width: usize) -> String {
    draw(sweep, &Style { width, ..Style::default() })
}

#[test]
fn one_thing_that_varies_is_a_table_with_its_knee() {
    let text = text(&depths(), 100);
    let rows: Vec<&str> = text.lines().collect();
    let knee = rows.iter().find(|row| row.contains("◀ knee")).unwrap();
    assert!(knee.trim_start().starts_with('8') && knee.contains("79,000"), "{text}");
    assert!(text.contains("knee          iodepth=8: twice as much brought 1 %"), "{text}");
    assert!(text.contains("-10.0 %:"), "{text}");
    assert!(text.contains("- was not run"), "{text}");
}

#[test]
fn several_are_maps_and_a_failed_cell_has_no_number() {
    let text = text(&grid(), 100);
    assert!(text.contains("place=near · bytes a second\n"), "{text}");
    assert!(text.contains("place=far · 99th percentile of latency\n"), "{text}");
    assert!(text.contains("failed        place=near bs=1m rw=randread: 3 operations"), "{text}");
    let near = text.split("place=far").next().unwrap();
    assert!(near.contains("failed") && near.contains("██"), "{text}");
}

#[test]
fn nothing_is_wider_than_the_terminal_or_breaks_on_less() {
    for width in [60, 80, 200] {
        for sweep in [depths(), grid()] {
            let text = text(&sweep, width);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}\n{text}");
        }
    }
    let empty = Sweep { axes: Vec::new(), cells: Vec::new(), ..depths() };
    text(&empty, 80);
    assert!(picture(&empty).ends_with("</svg>\n"));
}

#[test]
fn a_picture_is_a_document_with_all_values() {
    for sweep in [depths(), grid()] {
        let svg = picture(&sweep);
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
    assert_eq!(picture(&depths()).matches("class=\"onedot\"").count(), 12);
    assert!(picture(&grid()).contains(">failed</text>"));
}

#[test]
fn doubts_alike_are_one_line() {
    let mut sweep = depths();
    for (cell, share) in sweep.cells.iter_mut().zip([1.5, 2.5, 9.0]) {
        cell.doubts.push(format!("the hypervisor gave {share} % to others"));
    }
    let told = doubts(&sweep);
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].1, "iodepth=1 and 2 others");
}

#[test]
fn figures_are_short() {
    assert_eq!([0.5, 12.34, 904_000.0, 1.52e6].map(thousands), ["0.50", "12.3", "904k", "1.52M"]);
}
