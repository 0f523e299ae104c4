// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tells cargo that the catalogue's files are part of this crate: `include_dir` alone does not.

fn main() {
    println!("cargo:rerun-if-changed=../../../catalogue");
}
