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

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

/// The exit code of a bug.
const BUG: u8 = 1;

fn main() -> ExitCode {
    let may_change = Cell::new(false);
    let run = || {
        let arguments = args::parse()?;
        may_change.set(arguments.may_change());
        verbs::run(&arguments)
    };
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(ended)) => ended.into(),
        Ok(Err(expected)) => complaint::report(expected),
        Err(_) => {
            terminal::hint(match may_change.get() {
                true => {
                    "nearside: this is a bug; what was changed is in the journal: nearside revert"
                }
                false => "nearside: this is a bug; nothing was changed",
            });
            terminal::hint("help: report the lines above, with `nearside capture` if you can");
            if args::is_exec() { expected::EXEC_FAILED.into() } else { BUG.into() }
        }
    }
}
