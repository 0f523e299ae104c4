// SPDX-License-Identifier: MIT OR Apache-2.0
//! What takes a transaction back by itself unless somebody confirms it in time.
//!
//! It is there before the first write and outlives everything that the change may bring down: the
//! login, its shell, and the process that applies. Where systemd runs it is a timer of its own;
//! elsewhere a process in a session of its own. Either calls this program's `revert` with
//! `--unless-confirmed`.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::systemd;

/// What waits for a confirmation.
#[derive(Debug)]
pub struct TakeBack {
    by: By,
}

#[derive(Debug)]
enum By {
    Timer(String),
    Process(Child),
}

/// The word by which a process tells that it is on its own.
const READY: &[u8; 6] = b"ready\n";
/// A process starts within milliseconds, and within seconds where all else waits for it too.
const START: Duration = Duration::from_secs(30);

/// Starts what takes a transaction back that is going to be made. `journal` is where it is written
/// down, from the top.
///
/// # Errors
/// It cannot be started, or `after` is no time at all. Nothing may be changed then.
pub fn start(journal: &Path, transaction: u64, after: Duration) -> io::Result<TakeBack> {
    if after.is_zero() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no time is left to confirm it"));
    }
    let program = std::env::current_exe()?;
    let unit = format!("nearside-take-back-{transaction}");
    let by = match systemd::runner(&unit) {
        Some(runner) => timer(runner, unit, &program, journal, transaction, after)?,
        None => By::Process(process(&program, journal, transaction, after)?),
    };
    Ok(TakeBack { by })
}

/// The words of the revert that waits for so long.
fn revert(command: &mut Command, journal: &Path, transaction: u64, wait: Duration) {
    command.args(["revert", "--transaction", &transaction.to_string()]);
    command.args(["--unless-confirmed", &format!("{}s", wait.as_secs())]);
    command.args([OsStr::new("--journal"), journal.as_os_str()]);
}

fn timer(
    mut runner: Command,
    unit: String,
    program: &Path,
    journal: &Path,
    transaction: u64,
    after: Duration,
) -> io::Result<By> {
    runner.arg(format!("--on-active={}s", after.as_secs()));
    runner.arg("--timer-property=AccuracySec=100ms").arg(program);
    revert(&mut runner, journal, transaction, Duration::ZERO);
    match systemd::code(&mut runner)? {
        0 => Ok(By::Timer(unit)),
        code => Err(io::Error::other(format!("systemd-run answers {code}"))),
    }
}

/// A process that says when it is on its own: only then may the first write be made. It has not
/// touched the journal by then, which the caller holds.
fn process(program: &Path, journal: &Path, transaction: u64, after: Duration) -> io::Result<Child> {
    let mut command = Command::new(program);
    revert(&mut command, journal, transaction, after);
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    if child.stdout.take().is_some_and(says_ready) {
        return Ok(child);
    }
    // It ended, or is to end: there is nothing to be done about a failure of this.
    let _ = child.kill();
    let _ = child.wait();
    Err(io::Error::other("it did not start"))
}

/// Whether the word comes in time. A process that never says it must not be waited for: the journal
/// is held meanwhile.
fn says_ready(mut stdout: impl Read + Send + 'static) -> bool {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let mut word = [0; READY.len()];
        let is_ready = stdout.read_exact(&mut word).is_ok() && word == *READY;
        // Where nobody waits any more, nobody is to be told.
        let _ = tell.send(is_ready);
    });
    told.recv_timeout(START).unwrap_or(false)
}

/// What the revert that waits does first, before it asks for the journal: leaves the session it was
/// started in, says so, and waits. One that a timer starts has waited already, and leads a session of
/// its own.
///
/// # Errors
/// It cannot leave the session, or nobody listens.
pub fn wait(after: Duration) -> io::Result<()> {
    match rustix::process::setsid() {
        // EPERM is said to the leader of a group (setsid(2)).
        Ok(_) | Err(rustix::io::Errno::PERM) => {}
        Err(error) => return Err(error.into()),
    }
    let mut out = io::stdout().lock();
    out.write_all(READY)?;
    out.flush()?;
    drop(out);
    thread::sleep(after);
    Ok(())
}

impl TakeBack {
    /// Ends it: nothing was changed that could be taken back. One that goes on finds no transaction.
    pub fn call_off(self) {
        match self.by {
            By::Timer(unit) => {
                let _ = systemd::control(&["stop", &format!("{unit}.timer")]);
            }
            By::Process(mut child) => {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}
