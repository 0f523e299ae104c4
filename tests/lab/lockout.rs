// SPDX-License-Identifier: MIT OR Apache-2.0
//! A change of the guest's only NIC that nobody confirms comes back by itself, whoever dies.

use std::time::{Duration, Instant};

use nearside_lab::{Guest, Kernel};
use support::{Failed, failed};

use crate::change::{self, ensure, knobs, ours, unchanged};
use crate::look::said;

/// Long enough for a slow guest to look while the change stands.
const WITHIN: Duration = Duration::from_secs(15);
const PATIENCE: Duration = Duration::from_secs(120);
const WISH: &str = "apply --set mtu=1400@eth0 --set nic-rx-ring=512@eth0 --confirm-within 15s";

pub(crate) fn comes_back(kernel: Kernel) -> Result<(), Failed> {
    let mut guest = change::guest("pair", kernel, None)?;
    let before = knobs(&mut guest)?;

    ours(&mut guest, WISH, &[0])?;
    ensure(mtu(&mut guest)? == "1400", || "it was not applied".to_owned())?;
    let waited = back(&mut guest)?;
    eprintln!("pair/{kernel}: taken back after {:.1} s", waited.as_secs_f64());
    unchanged("what was not confirmed", &before, &mut guest)?;

    // All that was started with it is killed, and its shell too.
    let task = guest.begin(&format!("nearside {WISH}; sleep 1000")).map_err(failed)?;
    let stands = "until [ $(cat /sys/class/net/eth0/mtu) = 1400 ]; do sleep 0.1; done";
    said(&mut guest, stands)?;
    guest.kill(&task).map_err(failed)?;
    let waited = back(&mut guest)?;
    eprintln!("pair/{kernel}: killed, and taken back after {:.1} s", waited.as_secs_f64());
    unchanged("what was killed", &before, &mut guest)?;

    ours(&mut guest, WISH, &[0])?;
    ours(&mut guest, "apply --confirm", &[0])?;
    std::thread::sleep(WITHIN + WITHIN / 2);
    ensure(mtu(&mut guest)? == "1400", || "what was confirmed was taken back".to_owned())?;
    ours(&mut guest, "verify", &[0])?;
    ours(&mut guest, "revert", &[0])?;
    unchanged("what was confirmed and reverted", &before, &mut guest)?;
    guest.off().map_err(failed)?;
    Ok(())
}

fn mtu(guest: &mut Guest) -> Result<String, Failed> {
    Ok(said(guest, "cat /sys/class/net/eth0/mtu")?.trim().to_owned())
}

/// Waits until the MTU is as before and nothing is left in the journal.
fn back(guest: &mut Guest) -> Result<Duration, Failed> {
    let begun = Instant::now();
    while mtu(guest)? != "1500" || !said(guest, "nearside revert --list")?.starts_with("No ") {
        ensure(begun.elapsed() < PATIENCE, || "it did not come back by itself".to_owned())?;
        std::thread::sleep(Duration::from_millis(500));
    }
    Ok(begun.elapsed())
}
