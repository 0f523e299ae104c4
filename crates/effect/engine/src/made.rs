// SPDX-License-Identifier: MIT OR Apache-2.0
//! A workload and a folder for the tests of this crate.

use std::path::PathBuf;

use record::{Access, Blocks, Division, Limits, Mix, Pace, Pattern, Sharing, Target, Workload};

/// Random reads of 4 KiB, 8 deep, for a quarter of a second.
pub(crate) fn workload(path: &str) -> Workload {
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

/// A folder for files that go again, beside what is built: the one for temporary files may be in
/// memory, which takes no direct access.
pub(crate) fn folder() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    // target/debug/deps/PROGRAM, where integration tests have target/tmp.
    let folder = program.ancestors().nth(3).unwrap().join("tmp");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
