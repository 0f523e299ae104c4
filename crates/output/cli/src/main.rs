// SPDX-License-Identifier: MIT OR Apache-2.0
//! The `nearside` command.

#![forbid(unsafe_code)]

mod args;
mod complaint;
mod expected;
mod source;
mod stop;
mod subject;
mod terminal;
mod typed;
mod verbs;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

/// The exit code of a bug.
const BUG: u8 = 1;

fn main() -> ExitCode {
    let run = || verbs::run(&args::parse()?);
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(ended)) => ended.into(),
        Ok(Err(expected)) => complaint::report(expected),
        Err(_) => {
            terminal::hint("nearside: this is a bug; nothing was changed");
            terminal::hint("help: report the lines above, with `nearside capture` if you can");
            if args::is_exec() { expected::EXEC_FAILED.into() } else { BUG.into() }
        }
    }
}
