// SPDX-License-Identifier: MIT OR Apache-2.0
//! systemd's units, by systemctl.

use std::path::Path;
use std::process::{Command, Stdio};

use machine::{Fact, Why};
use rustix::io::Errno;

use crate::ServiceOrder;

const PROGRAMS: [&str; 2] = ["/usr/bin/systemctl", "/bin/systemctl"];
/// systemd runs where this is (sd_booted(3)).
const BOOTED: &str = "/run/systemd/system";

/// `is-active` answers 0 for yes, 3 for no, 4 for a unit that there is not (systemctl(1)).
pub(super) fn is_active(unit: &str) -> Fact<bool> {
    let code = run(&["is-active", "--quiet", "--", unit]).map_err(|_| Why::NotSupported)?;
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
    match run(&["--no-ask-password", verb, "--", unit])? {
        0 => Ok(()),
        4 => Err(Errno::PERM),
        5 => Err(Errno::NOENT),
        _ => Err(Errno::IO),
    }
}

/// Runs it without a shell and returns its code.
fn run(arguments: &[&str]) -> Result<i32, Errno> {
    let program = PROGRAMS.iter().find(|path| Path::new(path).exists());
    let program = program.filter(|_| is_booted()).ok_or(Errno::OPNOTSUPP)?;
    let status = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    Ok(status.code().unwrap_or(1))
}

/// Whether systemd runs here.
pub(super) fn is_booted() -> bool {
    Path::new(BOOTED).is_dir()
}
