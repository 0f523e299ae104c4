// SPDX-License-Identifier: MIT OR Apache-2.0
//! A workload and a folder for the tests of this crate.

use std::path::PathBuf;

pub(crate) use support::made::workload;

/// A folder for files that go again, beside what is built: the one for temporary files may be in
/// memory, which takes no direct access.
pub(crate) fn folder() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    // target/debug/deps/PROGRAM, where integration tests have target/tmp.
    let folder = program.ancestors().nth(3).unwrap().join("tmp");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
