// SPDX-License-Identifier: MIT OR Apache-2.0
//! A load to begin with: tests change what they are about.

use record::{Access, Blocks, Division, Limits, Mix, Pace, Pattern, Sharing, Target, Workload};

/// Random reads of 4 KiB, 8 deep, for a quarter of a second.
pub fn workload(path: &str) -> Workload {
    Workload {
        targets: vec![Target { path: path.to_owned(), make_bytes: None }],
        sharing: Sharing::EachItsOwn,
        threads: 1,
        depth: 8,
        mix: Mix::READS,
        pattern: Pattern::Uniform,
        blocks: Blocks::One { bytes: 4096 },
        write_blocks: None,
        offset_bytes: 0,
        length_bytes: None,
        division: Division::Whole,
        pace: Pace::Closed,
        limits: Limits { seconds: Some(0.25), ..Limits::default() },
        access: Access::default(),
        verify: None,
        seed: 1,
    }
}
