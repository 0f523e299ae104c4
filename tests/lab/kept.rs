// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `persist` keeps under systemd: over a reboot, over a drive that returns, not over another
//! topology; what its timer tells of drift; what it leaves behind.

use std::time::{Duration, Instant};

use nearside_lab::{Drives, Guest, Init, Kernel, Machine, Options, nearside};
use support::{Failed, failed};

use crate::change::{ensure, ours};
use crate::images;
use crate::look::said;

/// Values that a reboot resets, of the machine, of each drive, and of the NIC.
const WISH: &str = "--set swappiness=10 --set block-scheduler=mq-deadline \
    --set block-nr-requests=64 --set nic-rx-ring=512 --verify-every 5s";
/// Them as the kernel tells them, a word each.
const TOLD: &str = "cat /proc/sys/vm/swappiness; for n in 0 1 2 3; do \
    sed 's/.*\\[\\(.*\\)\\].*/\\1/' /sys/block/nvme${n}n1/queue/scheduler; \
    cat /sys/block/nvme${n}n1/queue/nr_requests; done; ethtool -g eth0 | grep '^RX:' | tail -1";
const KEPT: &str = "10 mq-deadline 64 mq-deadline 64 mq-deadline 64 mq-deadline 64 RX: 512";
/// Every file that a person would find, with mode and content or target; systemd's own notes and
/// our journal are left out.
const FILES: &str = "\
    seen() { find /etc /usr /var /root -xdev \\( -path /var/lib/systemd -o -path /var/log \
    -o -path /var/cache -o -path /var/tmp -o -path /var/lib/nearside \\) -prune -o \"$@\" -print0; }; \
    { seen -type d | xargs -0 stat -c '%a %n'; seen ! -type d | xargs -0 stat -c '%a %s %N'; } | sort; \
    find /etc -xdev -type f -exec cksum {} + | sort; \
    find /var/lib/nearside -mindepth 1 ! -name 'journal*' ! -name lost+found";
const PATIENCE: Duration = Duration::from_secs(180);

pub(crate) fn over_boots(kernel: Kernel) -> Result<(), Failed> {
    let mut guest = boot("r770-snc-off", kernel, None)?;
    guest.put(&nearside().map_err(failed)?, "/usr/local/bin/nearside").map_err(failed)?;
    let before = said(&mut guest, FILES)?;
    ensure(before.lines().count() > 1000, || "hardly any files are seen".to_owned())?;
    a_script_does_the_same(&mut guest)?;

    said(&mut guest, "systemctl start nearside.service")?;
    stands(&mut guest, "started")?;
    guest.reboot().map_err(failed)?;
    stands(&mut guest, "after a reboot")?;
    returns(&mut guest)?;
    returns_meanwhile(&mut guest)?;
    watched(&mut guest)?;
    taken_back(&mut guest)?;

    let drives = guest.off().map_err(failed)?;
    let mut guest = boot("r770-snc-on", kernel, Some(drives))?;
    refused(&mut guest)?;
    ours(&mut guest, "persist --remove", &[0])?;
    let left = said(&mut guest, FILES)?;
    let differs = |line: &&str| !before.lines().any(|other| other == *line);
    let more: Vec<&str> = left.lines().filter(differs).collect();
    ensure(left == before, || format!("persist --remove leaves:\n{}", more.join("\n")))?;
    let units = said(
        &mut guest,
        "systemctl --all --no-legend list-units 'nearside*'; \
        systemctl --no-legend list-unit-files 'nearside*'; true",
    )?;
    ensure(units.is_empty(), || format!("systemd still knows of {units}"))?;
    guest.off().map_err(failed)?;
    Ok(())
}

pub(crate) fn boot(machine: &str, kernel: Kernel, drives: Option<Drives>) -> Result<Guest, Failed> {
    let mut options = Options::default().init(Init::Systemd);
    if let Some(drives) = drives {
        options = options.drives(drives);
    }
    let machine = Machine::named(machine).map_err(failed)?;
    let guest = images()?.boot_with(&machine, kernel, options).map_err(failed)?;
    eprintln!(
        "{}/{kernel}: systemd is up after {:.1} s",
        machine.name,
        guest.boot_time().as_secs_f64()
    );
    Ok(guest)
}

/// The script of `--dry-run` puts there what `persist` itself does, and either can be removed.
fn a_script_does_the_same(guest: &mut Guest) -> Result<(), Failed> {
    const OURS: &str = "cd /etc && find . -name '*nearside*' | sort | xargs tail -n +1";
    said(guest, &format!("nearside persist {WISH} --dry-run > /tmp/keep.sh && sh /tmp/keep.sh"))?;
    let by_script = said(guest, OURS)?;
    said(guest, "nearside persist --remove --dry-run > /tmp/let-go.sh && sh /tmp/let-go.sh")?;
    let left = said(guest, "find /etc -name '*nearside*'")?;
    ensure(left.is_empty(), || format!("the script leaves {left}"))?;
    ours(guest, &format!("persist {WISH}"), &[0])?;
    let by_us = said(guest, OURS)?;
    ensure(by_us == by_script, || format!("persist:\n{by_us}\nits script:\n{by_script}"))?;
    let units = "cd /etc/systemd/system && systemd-analyze verify --man=no nearside*.service \
        nearside*.path nearside*.timer";
    said(guest, units).map(drop)
}

/// The wish is in effect, and `verify` and systemd say so.
fn stands(guest: &mut Guest, when: &str) -> Result<(), Failed> {
    let result = said(guest, "systemctl show --value -p Result nearside.service")?;
    let told = words(&said(guest, TOLD)?);
    ensure(told == KEPT && result == "success\n", || {
        let log = said(guest, "journalctl -b --no-pager -u nearside.service").unwrap_or_default();
        format!("{when}, with result {result}: {told}\n{log}")
    })?;
    ours(guest, "verify", &[0]).map(drop)
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A drive is removed, and found again with another number maybe.
const RETURN: &str = "f=$(readlink -f /sys/block/nvme1n1/device/device); echo 1 > $f/remove; \
    while [ -e /sys/block/nvme1n1 ]; do sleep 0.1; done; echo 1 > /sys/bus/pci/rescan; \
    until [ -e /sys/block/nvme1n1 ]; do sleep 0.1; done";

/// A drive that comes back is set again by the rule.
fn returns(guest: &mut Guest) -> Result<(), Failed> {
    said(guest, RETURN)?;
    is_set_again(guest)?;
    ours(guest, "verify", &[0]).map(drop)
}

fn is_set_again(guest: &mut Guest) -> Result<(), Failed> {
    until(guest, "the drive that returned is not set again", |guest| {
        Ok(words(&said(guest, &format!("{TOLD} || true"))?) == KEPT)
    })
}

/// A drive that comes back while the unit still runs is set by the run after it; and however many
/// come in a row, systemd goes on starting the unit.
fn returns_meanwhile(guest: &mut Guest) -> Result<(), Failed> {
    const STATE: &str = "systemctl show --value -p SubState nearside.service";
    idle(guest)?;
    said(
        guest,
        "d=/run/systemd/system/nearside.service.d; mkdir -p $d; \
        printf '[Service]\\nExecStartPost=/bin/sleep 20\\n' > $d/slow.conf; \
        systemctl daemon-reload; systemctl start --no-block nearside.service",
    )?;
    until(guest, "it has not begun", |guest| Ok(said(guest, STATE)? == "start-post\n"))?;
    said(guest, RETURN)?;
    let state = said(guest, STATE)?;
    ensure(state == "start-post\n", || format!("the run ended before the drive came: {state}"))?;
    said(guest, "rm -r /run/systemd/system/nearside.service.d; systemctl daemon-reload")?;
    is_set_again(guest)?;
    idle(guest)?;
    said(
        guest,
        "for n in $(seq 20); do udevadm trigger --action=add /sys/block/nvme0n1; \
        udevadm settle; while [ -e /run/nearside-device-came ]; do sleep 0.1; done; done",
    )?;
    said(guest, RETURN)?;
    is_set_again(guest)?;
    idle(guest)?;
    let result = said(guest, "systemctl show --value -p Result nearside.service nearside.path")?;
    ensure(words(&result) == "success success", || format!("after many: {result}"))
}

/// Nothing is left to be done for devices that came.
fn idle(guest: &mut Guest) -> Result<(), Failed> {
    const BUSY: &str = "udevadm settle; [ ! -e /run/nearside-device-came ] && \
        systemctl show --value -p ActiveState nearside.service || echo mark";
    until(guest, "the unit does not come to an end", |guest| Ok(said(guest, BUSY)? == "inactive\n"))
}

/// Drift makes the unit of the timer fail, with the value in the log; its end makes it well again.
fn watched(guest: &mut Guest) -> Result<(), Failed> {
    let state = |guest: &mut Guest| -> Result<String, Failed> {
        let shown = "systemctl show --value -p Result -p ExecMainStatus nearside-verify.service";
        Ok(words(&said(guest, shown)?))
    };
    let log = "journalctl -b --no-pager -o cat -u nearside-verify.service";
    let is_told = |guest: &mut Guest| -> Result<bool, Failed> {
        let log = said(guest, log)?;
        let mut drifted = log.lines().filter(|line| line.starts_with("drifted"));
        Ok(drifted.any(|line| line.contains("swappiness") && line.contains("33")))
    };
    // A look between the return of a drive and its being set again tells of that, and is right.
    until(guest, "the timer has not looked", |guest| {
        Ok(said(guest, log)?.contains("values hold") && state(guest)? == "success 0")
    })?;
    said(guest, "echo 33 > /proc/sys/vm/swappiness")?;
    until(guest, "drift is not told", is_told)?;
    until(guest, "drift does not fail the unit", |guest| Ok(state(guest)? == "exit-code 3"))?;
    let failed = said(guest, "systemctl --failed --no-legend --plain")?;
    ensure(failed.starts_with("nearside-verify.service"), || format!("failed are: {failed}"))?;
    said(guest, "echo 10 > /proc/sys/vm/swappiness")?;
    until(guest, "the end of drift is not told", |guest| Ok(state(guest)? == "success 0"))
}

/// `--confirm-within` is a service, which takes back also where all of ours is killed, and ends
/// once it is confirmed.
fn taken_back(guest: &mut Guest) -> Result<(), Failed> {
    const CHANGE: &str = "nearside apply --set mtu=1400@eth0 --confirm-within 40s";
    const MTU: &str = "cat /sys/class/net/eth0/mtu";
    let task = guest.begin(&format!("{CHANGE}; sleep 1000")).map_err(failed)?;
    until(guest, "it is not applied", |guest| Ok(said(guest, MTU)? == "1400\n"))?;
    let of_ours = "systemctl --no-legend --plain --all list-units 'nearside-take-back-*'";
    let units = said(guest, of_ours)?;
    ensure(units.lines().count() == 1, || format!("units: {units}"))?;
    guest.kill(&task).map_err(failed)?;
    said(guest, "pkill -KILL -x nearside; true")?;
    ensure(said(guest, MTU)? == "1400\n", || "it was taken back at once".to_owned())?;
    until(guest, "nobody takes it back", |guest| Ok(said(guest, MTU)? == "1500\n"))?;
    until(guest, "a unit is left", |guest| Ok(said(guest, of_ours)?.is_empty()))?;

    ours(guest, CHANGE.trim_start_matches("nearside "), &[0])?;
    ours(guest, "apply --confirm", &[0])?;
    until(guest, "a unit is left", |guest| Ok(said(guest, of_ours)?.is_empty()))?;
    ensure(said(guest, MTU)? == "1400\n", || "what was confirmed is taken back".to_owned())
}

/// Another topology: the unit fails, says what moved, and changes nothing.
fn refused(guest: &mut Guest) -> Result<(), Failed> {
    let result =
        said(guest, "systemctl show --value -p Result -p ExecMainStatus nearside.service")?;
    let log = said(guest, "journalctl -b --no-pager -o cat -u nearside.service")?;
    let why = log.lines().find(|line| line.contains("the machine is not the one"));
    let why = why.ok_or_else(|| failed(format!("{result}: the log says:\n{log}")))?;
    ensure(words(&result) == "exit-code 4", || format!("{result}: {why}"))?;
    eprintln!("refused: {why}");
    let told = words(&said(guest, TOLD)?);
    let touched = told.starts_with("10 ") || told.contains("mq-deadline") || told.contains("512");
    ensure(!touched, || format!("something was changed: {told}"))
}

pub(crate) fn until(
    guest: &mut Guest,
    why: &str,
    mut is_so: impl FnMut(&mut Guest) -> Result<bool, Failed>,
) -> Result<(), Failed> {
    let begun = Instant::now();
    while !is_so(guest)? {
        ensure(begun.elapsed() < PATIENCE, || why.to_owned())?;
        std::thread::sleep(Duration::from_millis(500));
    }
    Ok(())
}
