// SPDX-License-Identifier: MIT OR Apache-2.0
//! A child process within limits, of which nothing is left running.
//!
//! The child leads a process group of its own. When it has ended, was cancelled or went past a
//! limit, what is left of the group is ended too, before the child is reaped: until then nobody
//! else can be given the group's number. Where nearside itself is killed, the kernel kills the child.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use crate::kernel;

#[cfg(test)]
mod tests;

/// How often the child is looked at.
const GLANCE: Duration = Duration::from_millis(10);

/// What a child may use.
#[derive(Debug, Clone)]
pub struct Limits {
    /// How long it may run.
    pub time: Duration,
    /// How much it may write to each of standard output, standard error and [`Limits::files`].
    pub output_bytes: u64,
    /// How long it has to end by itself after SIGTERM, before SIGKILL.
    pub grace: Duration,
    /// Files that it writes its results to.
    pub files: Vec<PathBuf>,
}

/// Why a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// By itself.
    Done,
    /// It ran too long.
    Time,
    /// It wrote too much.
    Output,
    /// Somebody asked for it.
    Cancelled,
}

/// What is left of a child.
#[derive(Debug)]
pub struct Ended {
    /// Why.
    pub why: Why,
    /// Its exit code; none where a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// What it wrote to standard output, to the limit.
    pub stdout: String,
    /// What it wrote to standard error, to the limit.
    pub stderr: String,
}

/// Starts a command and waits for its end, which is that of its whole process group.
///
/// `is_cancelled` is asked a hundred times a second.
///
/// # Errors
/// The command cannot be started, or there is no room for what it writes.
pub fn supervise(
    mut command: Command,
    limits: &Limits,
    is_cancelled: &dyn Fn() -> bool,
) -> io::Result<Ended> {
    let (mut stdout, mut stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command.stdin(Stdio::null()).stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
    command.process_group(0);
    kernel::die_with_parent(&mut command);
    let mut child = command.spawn()?;
    let group = group(&child);
    let why = watch(group, limits, &[&stdout, &stderr], is_cancelled);
    let status = end(&mut child, group, why, limits.grace)?;
    Ok(Ended {
        why,
        code: status.code(),
        signal: status.signal(),
        stdout: text(&mut stdout, limits.output_bytes)?,
        stderr: text(&mut stderr, limits.output_bytes)?,
    })
}

/// The group of a child that leads one; none for a process id that cannot be.
fn group(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

/// Waits until the child has ended or must.
fn watch(
    group: Option<Pid>,
    limits: &Limits,
    written: &[&File],
    is_cancelled: &dyn Fn() -> bool,
) -> Why {
    let start = Instant::now();
    loop {
        if has_ended(group) {
            return Why::Done;
        }
        if is_cancelled() {
            return Why::Cancelled;
        }
        if start.elapsed() >= limits.time {
            return Why::Time;
        }
        if wrote_too_much(limits, written) {
            return Why::Output;
        }
        thread::sleep(GLANCE);
    }
}

/// Whether the child has ended; it stays a zombie, so that its group's number stays its own.
fn has_ended(group: Option<Pid>) -> bool {
    let Some(pid) = group else { return true };
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(rustix::process::waitid(WaitId::Pid(pid), options), Ok(None))
}

fn wrote_too_much(limits: &Limits, written: &[&File]) -> bool {
    let lengths = written.iter().filter_map(|file| file.metadata().ok());
    let named = limits.files.iter().filter_map(|file| file.metadata().ok());
    lengths.chain(named).any(|there| there.len() > limits.output_bytes)
}

/// Ends what is left of the group and reaps the child.
fn end(child: &mut Child, group: Option<Pid>, why: Why, grace: Duration) -> io::Result<ExitStatus> {
    let Some(pid) = group else { return child.wait() };
    if why != Why::Done {
        // No such group any more is what is wanted.
        let _ = rustix::process::kill_process_group(pid, Signal::TERM);
        let start = Instant::now();
        while !has_ended(group) && start.elapsed() < grace {
            thread::sleep(GLANCE);
        }
    }
    let _ = rustix::process::kill_process_group(pid, Signal::KILL);
    let status = child.wait()?;
    await_members(pid);
    Ok(status)
}

/// Waits until the members of a group that were killed are gone; they keep its number from being
/// another's. Not for ever: where nobody reaps orphans, as in some containers, they stay as zombies.
fn await_members(group: Pid) {
    const LONGEST: Duration = Duration::from_secs(2);
    let start = Instant::now();
    while rustix::process::test_kill_process_group(group).is_ok() && start.elapsed() < LONGEST {
        thread::sleep(Duration::from_millis(1));
    }
}

fn text(file: &mut File, most: u64) -> io::Result<String> {
    file.rewind()?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
