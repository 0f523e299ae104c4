// SPDX-License-Identifier: MIT OR Apache-2.0
//! How an expected error is told, and its exit code.
//!
//! It is printed as what failed, where and why in one line, then what to do next as `help:`.

use std::io::Write;
use std::process::ExitCode;

use clap::error::ErrorKind;

use crate::args;
use crate::expected::Expected;
use crate::terminal;

/// Prints the error and gives its exit code.
pub(crate) fn report(expected: Expected) -> ExitCode {
    let (code, help) = match &expected {
        Expected::Usage { help, .. } => (2, help.as_str()),
        Expected::Precondition { help, .. } => (4, help.as_str()),
        Expected::Undone { help, .. } => (5, help.as_str()),
        Expected::Stuck { help, .. } => (6, help.as_str()),
        Expected::NotStarted { help, code, .. } => (*code, help.as_str()),
        Expected::ClosedPipe => return ExitCode::SUCCESS,
        Expected::Arguments(error) if error.use_stderr() => {
            let misused = misused(error);
            return report(if args::is_exec() { misused.in_exec() } else { misused });
        }
        Expected::Arguments(error) => {
            let shown = error.print().and_then(|()| std::io::stdout().flush());
            return shown.map_or_else(|error| report(error.into()), |()| 0.into());
        }
    };
    terminal::hint(&format!("nearside: {expected}"));
    if !help.is_empty() {
        terminal::hint(&format!("help: {help}"));
    }
    code.into()
}

/// What clap says of a wrong argument, in the two lines that every error has.
fn misused(error: &clap::Error) -> Expected {
    if matches!(error.kind(), ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand) {
        let verb = args::typed_verb().unwrap_or_default();
        return Expected::usage("no command is named", format!("`nearside {verb} -h` lists them"));
    }
    let text = error.render().to_string();
    let mut paragraphs = text.split("\n\n");
    let first = paragraphs.next().unwrap_or_default().trim_start_matches("error: ");
    let what = first.split_whitespace().collect::<Vec<_>>().join(" ");
    let tips: Vec<_> =
        text.lines().filter_map(|line| line.trim_start().strip_prefix("tip: ")).collect();
    let help = match tips.as_slice() {
        [] => format!("`{} -h` shows what it takes", command_in(&text)),
        tips => tips.join("; "),
    };
    Expected::usage(what, help)
}

/// The command of a usage line: `Usage: nearside audit --goal <GOAL>` gives `nearside audit`.
/// Without one it is the verb that was typed.
fn command_in(text: &str) -> String {
    let Some(usage) = text.lines().find_map(|line| line.strip_prefix("Usage: ")) else {
        let words = std::iter::once("nearside".to_owned()).chain(args::typed_verb());
        return words.collect::<Vec<_>>().join(" ");
    };
    let is_verb = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase());
    let verbs: Vec<_> = usage.split_whitespace().skip(1).take_while(is_verb).collect();
    ["nearside"].into_iter().chain(verbs).collect::<Vec<_>>().join(" ")
}
