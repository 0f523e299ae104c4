// SPDX-License-Identifier: MIT OR Apache-2.0
//! Starts and ends the process that holds `/dev/cpu_dma_latency`, and is it.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use root::{LiveRoot, Root};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

use super::systemd;
use crate::hold::{self, HOLD_VERB, NOTE, STARTING};

const DEVICE: &str = "/dev/cpu_dma_latency";
const UNIT: &str = "nearside-idle-latency.service";
/// A process starts or ends within milliseconds.
const STEP: Duration = Duration::from_millis(20);
const STEPS: u32 = 150;

/// Ends the holder of before and starts one with another bound.
pub(super) fn set(root: &LiveRoot, bound_us: Option<u32>) -> Result<(), Errno> {
    if root.mode(DEVICE).is_err() {
        return Err(Errno::NOENT);
    }
    end(root)?;
    let Some(bound_us) = bound_us else {
        forget_folder();
        return Ok(());
    };
    let is_held = || {
        matches!(hold::holder(root), Ok(Some((process, held)))
        if process != STARTING && held == bound_us)
    };
    let started = note(STARTING, bound_us).and_then(|()| start(bound_us)).map_err(errno);
    started.and_then(|()| wait(is_held)).inspect_err(|_| {
        // The first failure is the one that is told.
        let _ = end(root);
        forget_folder();
    })
}

fn errno(error: io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

fn end(root: &LiveRoot) -> Result<(), Errno> {
    // One whose starter was killed comes within milliseconds, or never.
    let _ = wait(|| !matches!(hold::holder(root), Ok(Some((STARTING, _)))));
    // systemd ends a unit of ours and knows it: one that ends by itself keeps its name for a while,
    // and the next could not be started under it.
    let _ = systemd::control(&["stop", "--", UNIT]);
    let holder = hold::holder(root).unwrap_or_default();
    let process = holder.filter(|(process, _)| *process != STARTING);
    let process =
        process.and_then(|(process, _)| i32::try_from(process).ok()).and_then(Pid::from_raw);
    if let Some(process) = process {
        match kill_process(process, Signal::TERM) {
            Ok(()) | Err(Errno::SRCH) => {}
            Err(errno) => return Err(errno),
        }
        wait(|| hold::bound(root) == Ok(None))?;
    }
    match fs::remove_file(NOTE) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(errno(error)),
        _ => Ok(()),
    }
}

/// Its folder goes with the note, where nothing else is in it.
fn forget_folder() {
    if let Some(folder) = Path::new(NOTE).parent() {
        let _ = fs::remove_dir(folder);
    }
}

/// A unit where systemd runs, so that the end of a login does not end it; else a process of its own
/// group.
fn start(bound_us: u32) -> io::Result<()> {
    let program = std::env::current_exe()?;
    let words = [HOLD_VERB, &bound_us.to_string()];
    if let Some(mut runner) = systemd::runner(UNIT) {
        return match systemd::code(runner.arg(&program).args(words))? {
            0 => Ok(()),
            _ => Err(io::Error::other("systemd-run failed")),
        };
    }
    let mut command = Command::new(&program);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.process_group(0).spawn().map(drop)
}

fn wait(mut is_done: impl FnMut() -> bool) -> Result<(), Errno> {
    for _ in 0..STEPS {
        if is_done() {
            return Ok(());
        }
        thread::sleep(STEP);
    }
    Err(Errno::TIMEDOUT)
}

/// Holds a bound on the latency of idle states until this process is ended: what the program does
/// when it is called with [`HOLD_VERB`] and a bound.
///
/// # Errors
/// The device cannot be opened or written; it never returns otherwise.
pub fn hold_idle_latency(bound_us: u32) -> io::Result<std::convert::Infallible> {
    let mut device = OpenOptions::new().write(true).open(DEVICE)?;
    let bound = i32::try_from(bound_us).map_err(|_| io::ErrorKind::InvalidInput)?;
    // Four bytes in the machine's order are a number; other lengths are read as hexadecimal text
    // (cpu_latency_qos_write, kernel/power/qos.c).
    device.write_all(&bound.to_ne_bytes())?;
    note(std::process::id(), bound_us)?;
    loop {
        thread::park();
    }
}

fn note(process: u32, bound_us: u32) -> io::Result<()> {
    if let Some(folder) = Path::new(NOTE).parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(NOTE, format!("{process} {bound_us}\n"))
}
