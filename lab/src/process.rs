// SPDX-License-Identifier: MIT OR Apache-2.0
//! Other people's programs.

use std::process::{Command, Stdio};

use crate::error::{At, Error, Result};

/// Runs a program and gives what it printed.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_owned();
    let output = command.stdin(Stdio::null()).output().at(&program)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(Error::Program {
        program: format!("{command:?}"),
        status: output.status.to_string(),
        stderr: tail(&text, 12),
    })
}

/// The last lines of a text.
pub(crate) fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

/// CPU seconds that a process has used; 0 once it is gone.
pub(crate) fn cpu_seconds(process: u32) -> f64 {
    // Example: `4242 (qemu-system-x86) S 1 4242 ...`, user and system ticks are fields 14 and 15
    // (proc_pid_stat(5)), a hundredth of a second each on every x86.
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields = text.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
    let ticks: u32 = fields.skip(11).take(2).filter_map(|field| field.parse::<u32>().ok()).sum();
    f64::from(ticks) / 100.0
}
