// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks and chores of the house: `cargo xtask tidy | schemas | dist | bench | fuzz | lab | full`.
//!
//! `tidy` is the architecture as a test: who may use whom, how long a file may be, what every file
//! begins with, and that what is generated is fresh. The rest builds what people download and
//! measures what SPECIFICATION.md promises.
//!
//! Nothing here ships, so errors are plain text with their cause and printing is allowed.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a chore talks to the person who runs it")]

mod bench;
mod dist;
mod full;
mod fuzz;
mod lab;
mod project;
mod schemas;
mod tidy;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(about = "Checks and chores of the house")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// The architecture as a test: dependency rule, budgets, headers, generated files, catalogue.
    Tidy,
    /// Writes the JSON schemas afresh.
    Schemas,
    /// Builds the static binary, the tarball and the Debian package into `dist/`.
    Dist,
    /// Measures against the peers named in SPECIFICATION.md.
    Bench(bench::Options),
    /// Fuzzes every parser for a while.
    Fuzz(fuzz::Options),
    /// Virtual machines to learn and test with.
    #[command(subcommand)]
    Lab(lab::Chore),
    /// The full tier: everything of `tidy`, all tests, long mutation runs.
    Full,
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().chore {
        Chore::Tidy => tidy::run(),
        Chore::Schemas => schemas::write(),
        Chore::Dist => dist::run(),
        Chore::Bench(options) => bench::run(&options),
        Chore::Fuzz(options) => fuzz::run(&options),
        Chore::Lab(chore) => lab::run(chore),
        Chore::Full => full::run(),
    }
}
