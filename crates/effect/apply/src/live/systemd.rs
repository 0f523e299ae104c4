// SPDX-License-Identifier: MIT OR Apache-2.0
//! systemd: its units by systemctl, and units of our own by systemd-run.

use std::path::Path;
use std::process::{Command, Stdio};

use machine::{Fact, Why};
use rustix::io::Errno;

use crate::ServiceOrder;

const CONTROL: [&str; 2] = ["/usr/bin/systemctl", "/bin/systemctl"];
const RUN: [&str; 2] = ["/usr/bin/systemd-run", "/bin/systemd-run"];
/// systemd runs where this is (sd_booted(3)).
const BOOTED: &str = "/run/systemd/system";

/// `is-active` answers 0 for yes, 3 for no, 4 for a unit that there is not (systemctl(1)).
pub(super) fn is_active(unit: &str) -> Fact<bool> {
    let code = control(&["is-active", "--quiet", "--", unit]).map_err(|_| Why::NotSupported)?;
    match code {
        0 => Ok(true),
        3 => Ok(false),
        4 => Err(Why::Absent),
        code => Err(Why::Failed(format!("systemctl answers {code}"))),
    }
}

/// The codes are those of LSB init scripts: 4 not allowed, 5 not installed.
pub(super) fn order(unit: &str, order: ServiceOrder) -> Result<(), Errno> {
    let verb = match order {
        ServiceOrder::Start => "start",
        ServiceOrder::Stop => "stop",
        ServiceOrder::Restart => "try-restart",
    };
    match control(&["--no-ask-password", verb, "--", unit])? {
        0 => Ok(()),
        4 => Err(Errno::PERM),
        5 => Err(Errno::NOENT),
        _ => Err(Errno::IO),
    }
}

/// systemctl's code.
pub(super) fn control(arguments: &[&str]) -> Result<i32, Errno> {
    let mut command = program(&CONTROL).ok_or(Errno::OPNOTSUPP)?;
    code(command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null()))
}

/// systemd-run, for a unit of our own that outlives the login; none where systemd does not run.
pub(super) fn runner(unit: &str) -> Option<Command> {
    let mut command = program(&RUN)?;
    command.args(["--quiet", "--collect"]).arg(format!("--unit={unit}"));
    Some(command)
}

/// Runs a command without a shell and without input, and returns its code.
pub(super) fn code(command: &mut Command) -> Result<i32, Errno> {
    let status = command.stdin(Stdio::null()).status();
    let status = status.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    Ok(status.code().unwrap_or(1))
}

fn program(paths: &[&str]) -> Option<Command> {
    let path = paths.iter().find(|path| Path::new(path).exists());
    path.filter(|_| is_booted()).map(Command::new)
}

/// Whether systemd runs here.
pub(super) fn is_booted() -> bool {
    Path::new(BOOTED).is_dir()
}
