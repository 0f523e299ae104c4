// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tells cargo that the catalogue's files are part of this crate: `include_dir` alone does not.

#[expect(clippy::print_stdout, reason = "this is how a build script speaks to cargo")]
fn main() {
    println!("cargo:rerun-if-changed=../../../catalogue");
}
