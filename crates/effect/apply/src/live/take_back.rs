// SPDX-License-Identifier: MIT OR Apache-2.0
//! What takes a transaction back by itself unless somebody confirms it in time.
//!
//! It is there before the first write and outlives everything that the change may bring down: the
//! login, its shell, and the process that applies. Where systemd runs it is a service of its own;
//! elsewhere a process in a session of its own. Either is this program's `revert` with
//! `--unless-confirmed`.
//!
//! It knows its transaction by a token that stands in the head of that one alone, and waits for the
//! journal that the apply holds: so it begins to count when the apply has ended, however that was.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::rand::{GetRandomFlags, getrandom};
use rustix::time::{ClockId, clock_gettime};

use super::systemd;

/// What waits for a confirmation. Dropped, it is called off, but in a panic: what was changed until
/// then has to go.
#[derive(Debug)]
pub struct TakeBack {
    token: String,
    by: Option<By>,
}

#[derive(Debug)]
enum By {
    Service(String),
    Process(Child),
}

/// The word by which a process tells that it is on its own.
const READY: &[u8; 6] = b"ready\n";

/// A process starts within milliseconds, and within seconds where all else waits for it too.
const START: Duration = Duration::from_secs(30);

/// How often the one that waits looks at the clock: a machine that slept, or was stopped, must not
/// get more time.
const STEP: Duration = Duration::from_millis(500);

/// Starts what takes a transaction back that is going to be made with its [`TakeBack::token`].
/// `journal` is where it is written down, from the top; this process holds it.
///
/// # Errors
/// It cannot be started. Nothing may be changed then.
pub fn start(journal: &Path) -> io::Result<TakeBack> {
    let token = token()?;
    let unit = format!("nearside-take-back-{token}.service");
    let mut command = Command::new(std::env::current_exe()?);
    let by = match systemd::runner(&unit).filter(|_| is_of_first_network()) {
        Some(mut runner) => {
            // Started only when it has said so: sd_notify(3).
            runner.arg("--service-type=notify");
            // Killed, it begins anew; when it is due stands in the journal.
            runner.arg("--property=Restart=on-abnormal").arg(command.get_program());
            revert(&mut runner, journal, &token);
            match systemd::code(&mut runner)? {
                0 => By::Service(unit),
                code => return Err(io::Error::other(format!("systemd-run answers {code}"))),
            }
        }
        None => {
            revert(&mut command, journal, &token);
            By::Process(process(&mut command)?)
        }
    };
    Ok(TakeBack { token, by: Some(by) })
}

/// 64 bits that no other transaction has.
fn token() -> io::Result<String> {
    let mut bytes = [0_u8; 8];
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    Ok(format!("{:016x}", u64::from_ne_bytes(bytes)))
}

/// The words of the revert that waits.
fn revert(command: &mut Command, journal: &Path, token: &str) {
    command.args(["revert", "--unless-confirmed", token]);
    command.args([OsStr::new("--journal"), journal.as_os_str()]);
}

/// A process that says when it is on its own: only then may the first write be made. It has not
/// touched the journal by then, which the caller holds.
fn process(command: &mut Command) -> io::Result<Child> {
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

/// Whether this process shares the network of the first one, whose services systemd starts: a service
/// sees nothing of another network namespace.
fn is_of_first_network() -> bool {
    let network = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/net")).ok();
    network("1").is_none_or(|first| network("self") == Some(first))
}

/// What the revert that waits does first, before it asks for the journal: leaves the session it was
/// started in, and says so.
///
/// # Errors
/// It cannot leave the session, or nobody listens.
pub fn ready() -> io::Result<()> {
    if let Err(error) = rustix::process::setsid() {
        // A service leads its session already.
        if rustix::process::getsid(None) != Ok(rustix::process::getpid()) {
            return Err(error.into());
        }
    }
    match std::env::var_os("NOTIFY_SOCKET") {
        Some(socket) => notify(&socket),
        None => {
            let mut out = io::stdout().lock();
            out.write_all(READY)?;
            out.flush()
        }
    }
}

/// Tells systemd: a datagram to a path, or to an abstract name after `@` (sd_notify(3)).
fn notify(socket: &OsStr) -> io::Result<()> {
    let address = match socket.as_encoded_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(socket)?,
    };
    UnixDatagram::unbound()?.send_to_addr(b"READY=1", &address).map(drop)
}

/// Seconds since this boot began, time asleep included.
pub fn now_s() -> u64 {
    u64::try_from(clock_gettime(ClockId::Boottime).tv_sec).unwrap_or_default()
}

/// Waits until so many seconds since this boot began have passed.
pub fn wait_until(due_s: u64) {
    while now_s() < due_s {
        thread::sleep(STEP);
    }
}

impl TakeBack {
    /// What the transaction has to have in its head.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Leaves it waiting when this process ends.
    pub fn leave(mut self) {
        self.by = None;
    }
}

impl Drop for TakeBack {
    /// Ends it: nothing was changed that could be taken back. One that goes on finds no transaction.
    fn drop(&mut self) {
        if thread::panicking() {
            return;
        }
        match self.by.take() {
            None => {}
            Some(By::Service(unit)) => {
                let _ = systemd::control(&["stop", "--", &unit]);
            }
            Some(By::Process(mut child)) => {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}
