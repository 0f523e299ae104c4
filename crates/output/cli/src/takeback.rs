// SPDX-License-Identifier: MIT OR Apache-2.0
//! What takes a transaction back by itself unless somebody confirms it in time.
//!
//! It is there before the first write and outlives everything that the change may bring down: the
//! login, its shell, and the process that applies. Where systemd runs it is a timer of its own;
//! elsewhere a process in a session of its own.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::expected::Expected;

const RUNNER: &str = "/usr/bin/systemd-run";

/// The transaction that is taken back, and by what.
pub(crate) struct Guard {
    after: Duration,
    by: By,
}

enum By {
    Timer { unit: String },
    Process(Child),
}

/// Starts the guard of a transaction that is going to be made.
pub(crate) fn start(journal: &Path, transaction: u64, after: Duration) -> Result<Guard, Expected> {
    let program = std::env::current_exe().map_err(cannot)?;
    let is_booted = Path::new("/run/systemd/system").is_dir() && Path::new(RUNNER).is_file();
    let by = if is_booted {
        timer(&program, journal, transaction, after)?
    } else {
        process(&program, journal, transaction, after)?
    };
    Ok(Guard { after, by })
}

fn revert(journal: &Path, transaction: u64, wait: Duration) -> Vec<String> {
    let words = ["revert", "--transaction", &transaction.to_string(), "--unless-confirmed"];
    let wait = format!("{}s", wait.as_secs());
    let mut words: Vec<String> = words.map(str::to_owned).to_vec();
    words.extend([wait, "--journal".to_owned(), journal.display().to_string()]);
    words
}

fn timer(
    program: &PathBuf,
    journal: &Path,
    transaction: u64,
    after: Duration,
) -> Result<By, Expected> {
    let unit = format!("nearside-take-back-{transaction}");
    let mut command = Command::new(RUNNER);
    command.args(["--quiet", "--collect", &format!("--unit={unit}")]);
    command.arg(format!("--on-active={}s", after.as_secs()));
    command.arg("--timer-property=AccuracySec=100ms").arg(program);
    command.args(revert(journal, transaction, Duration::ZERO));
    let status = command.stdin(Stdio::null()).status().map_err(cannot)?;
    if status.success() {
        Ok(By::Timer { unit })
    } else {
        Err(cannot(std::io::Error::other(format!("systemd-run: {status}"))))
    }
}

/// A process that says when it is on its own: only then may the first write be made.
fn process(
    program: &PathBuf,
    journal: &Path,
    transaction: u64,
    after: Duration,
) -> Result<By, Expected> {
    let mut command = Command::new(program);
    command.args(revert(journal, transaction, after)).current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(cannot)?;
    let mut word = [0; READY.len()];
    let said = child.stdout.take().map(|mut stdout| stdout.read_exact(&mut word));
    if !matches!(said, Some(Ok(()))) || word != *READY {
        let _ = child.kill();
        return Err(cannot(std::io::Error::other("it ended at once")));
    }
    Ok(By::Process(child))
}

const READY: &[u8; 6] = b"ready\n";

/// What the guard's process does first: leaves the session it was started in, says so, and waits.
pub(crate) fn wait(after: Duration) -> Result<(), Expected> {
    if after.is_zero() {
        // A timer has waited already.
        return Ok(());
    }
    rustix::process::setsid().map_err(|errno| cannot(errno.into()))?;
    crate::terminal::answer("ready\n")?;
    std::thread::sleep(after);
    Ok(())
}

impl Guard {
    /// What a person has to do, and by when.
    pub(crate) fn hint(&self) -> String {
        let seconds = self.after.as_secs();
        format!("confirm within {seconds} s, or all is taken back:  nearside apply --confirm")
    }

    /// Nothing was left to guard.
    pub(crate) fn call_off(self) {
        match self.by {
            By::Timer { unit } => {
                let timer = format!("{unit}.timer");
                let _ = Command::new("/usr/bin/systemctl").args(["stop", &timer]).status();
            }
            By::Process(mut child) => {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}

fn cannot(error: std::io::Error) -> Expected {
    let help = "without it nothing is changed; leave --confirm-within out to go without";
    Expected::precondition(format!("cannot start what would take it back: {error}"), help)
}
