// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every console block of the README and the manual is run, so that none can age.
//!
//! `TRYCMD=overwrite cargo test --test docs` writes what the program prints today; read the
//! difference before committing it.

#[test]
fn console_blocks_are_what_the_program_prints() {
    trycmd::TestCases::new()
        .env("LANG", "C.UTF-8")
        .env("LC_ALL", "C.UTF-8")
        .env("NO_COLOR", "1")
        .env("COLUMNS", "")
        .case("../../../README.md")
        .case("../../../docs/*.md");
}
