// SPDX-License-Identifier: MIT OR Apache-2.0
//! Becoming a command.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// Why a command was not started.
#[derive(Debug, thiserror::Error)]
#[error("cannot run {}: {source}", .command.to_string_lossy())]
pub struct NotStarted {
    /// The command.
    pub command: OsString,
    /// What the kernel said.
    pub source: io::Error,
}

impl NotStarted {
    /// The exit code that `env` has for it: 127 where there is no such command, else 126.
    pub fn exit_code(&self) -> u8 {
        if self.source.kind() == io::ErrorKind::NotFound { 127 } else { 126 }
    }
}

/// Replaces this process by a command, looked for in PATH. It returns only where that failed.
///
/// The standard library gives the command the default action of SIGPIPE, which it had taken away
/// from this process, and an empty signal mask.
pub fn become_command(command: &OsString, arguments: &[OsString]) -> NotStarted {
    let source = Command::new(command).args(arguments).exec();
    NotStarted { command: command.clone(), source }
}
