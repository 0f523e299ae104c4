// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the runner promises: statuses, kills, reboots, power cuts, firmware, throttles, wires, plugs.

use std::time::Duration;

use nearside_lab::machine::Link;
use nearside_lab::{End, Guest, Kernel, Machine, Options, Wire};
use support::{Failed, failed};

use crate::images;
use crate::look::said;

type Body = fn() -> Result<(), Failed>;

pub(crate) const TRIALS: [(&str, Body); 4] = [
    ("life/commands-and-power", commands_and_power),
    ("life/firmware-and-throttle", firmware_and_throttle),
    ("life/wire", wire),
    ("life/plug", plug),
];

const PATIENCE: Duration = Duration::from_secs(300);

fn boot(machine: &str, kernel: Kernel, options: Options) -> Result<Guest, Failed> {
    let machine = Machine::named(machine).map_err(failed)?;
    images()?.boot_with(&machine, kernel, options).map_err(failed)
}

fn ensure(right: bool, why: &str) -> Result<(), Failed> {
    if right { Ok(()) } else { Err(failed(why)) }
}

fn commands_and_power() -> Result<(), Failed> {
    let mut guest = boot("pair", Kernel::V6_12, Options::default())?;
    let output = guest.run("echo out; echo err >&2; exit 42").map_err(failed)?;
    ensure(output.status == 42 && output.stdout == "out\n" && output.stderr == "err\n", "status")?;
    let output = guest.call(&["printf", "%s|", "two words", "it's $HOME", ""]).map_err(failed)?;
    ensure(output.stdout == "two words|it's $HOME||", "words are not passed as they are")?;

    let task = guest.begin("sleep 1000 & echo begun; sleep 1000").map_err(failed)?;
    let other = guest.run("sleep 1; echo meanwhile").map_err(failed)?;
    ensure(other.stdout == "meanwhile\n" && !guest.has_ended(&task), "one at a time only")?;
    guest.kill(&task).map_err(failed)?;
    let output = guest.finish(&task, PATIENCE).map_err(failed)?;
    ensure(output.status == 128 + 9 && output.stdout == "begun\n", "not killed")?;
    ensure(guest.run("pidof sleep").map_err(failed)?.status != 0, "a child outlived the kill")?;

    let before = guest.boot_id().to_owned();
    said(&mut guest, "echo kept > /var/lib/nearside/reboot; echo root > /root/marker")?;
    guest.reboot().map_err(failed)?;
    ensure(guest.boot_id() != before, "the same boot")?;
    let text = said(&mut guest, "cat /var/lib/nearside/reboot /root/marker")?;
    ensure(text == "kept\nroot\n", "a reboot lost a file")?;

    let drive = "/dev/disk/nv1";
    said(
        &mut guest,
        &format!("{LINKS}; echo acknowledged | dd of={drive} bs=512 conv=sync,fsync"),
    )?;
    said(&mut guest, "echo synced > /var/lib/nearside/cut && sync /var/lib/nearside/cut")?;
    let drives = guest.cut_power().map_err(failed)?;
    let mut guest = boot("pair", Kernel::V6_1, Options::default().drives(drives))?;
    let text =
        said(&mut guest, &format!("{LINKS}; head -c 12 {drive}; cat /var/lib/nearside/cut"))?;
    ensure(text == "acknowledgedsynced\n", "a power cut lost what was acknowledged")?;
    ensure(guest.run("test -e /root/marker").map_err(failed)?.status == 1, "the root is not new")
}

/// Links from serial numbers to drives, as udev would make them.
const LINKS: &str = "mkdir -p /dev/disk; for c in /sys/class/nvme/nvme*; do \
    ln -sf /dev/$(basename $c)n1 /dev/disk/$(tr -d ' ' < $c/serial | tr A-Z a-z); done";

fn firmware_and_throttle() -> Result<(), Failed> {
    let mut guest = boot("r770-snc-off", Kernel::V6_1, Options::default())?;
    said(
        &mut guest,
        &format!("{LINKS}; echo marked | dd of=/dev/disk/nv2 bs=512 conv=sync,fsync"),
    )?;
    ensure(nodes(&mut guest)? == 2, "SNC is on")?;
    // The known truth: a throttle that changes while the guest runs.
    for iops in [300, 900, 300] {
        guest.throttle("nv0", iops).map_err(failed)?;
        let measured = measure(&mut guest)?;
        let error = (measured - f64::from(iops)).abs() / f64::from(iops);
        ensure(error < 0.1, &format!("{measured:.0} requests a second under {iops}"))?;
    }
    let drives = guest.off().map_err(failed)?;
    let mut guest = boot("r770-snc-on", Kernel::V6_1, Options::default().drives(drives))?;
    ensure(nodes(&mut guest)? == 4, "SNC is off")?;
    let text = said(&mut guest, &format!("{LINKS}; head -c 6 /dev/disk/nv2"))?;
    ensure(text == "marked", "the drive is another one")
}

const LINK_OF_NV0: &str = "cd $(dirname $(grep -l NV0 /sys/class/nvme/nvme*/serial))/device; \
    echo $(cat current_link_speed current_link_width)";

fn nodes(guest: &mut Guest) -> Result<usize, Failed> {
    Ok(said(guest, "ls -d /sys/devices/system/node/node*")?.lines().count())
}

/// Requests a second of 4 KiB reads at depth 8, over six seconds after one that does not count.
fn measure(guest: &mut Guest) -> Result<f64, Failed> {
    let text = said(
        guest,
        "fio --name=known --filename=/dev/disk/nv0 --direct=1 --rw=randread --bs=4k --iodepth=8 \
         --ioengine=libaio --time_based --runtime=6 --ramp_time=1 --output-format=json",
    )?;
    let start = text.find('{').unwrap_or_default();
    let report: serde_json::Value = serde_json::from_str(&text[start..]).map_err(failed)?;
    report["jobs"][0]["read"]["iops"].as_f64().ok_or_else(|| failed("fio counts nothing"))
}

fn wire() -> Result<(), Failed> {
    let wire = Wire::new().map_err(failed)?;
    let mut guests = Vec::new();
    for (end, address) in [(End::A, "192.0.2.1"), (End::B, "192.0.2.2")] {
        let options = Options::default().wire("wire0", &wire, end);
        let mut guest = boot("pair", Kernel::V6_1, options)?;
        said(&mut guest, &format!("ip address add {address}/24 dev eth0"))?;
        guests.push(guest);
    }
    said(&mut guests[0], "ping -c 5 -w 60 192.0.2.2").map(drop)
}

fn plug() -> Result<(), Failed> {
    let mut guest = boot("nps4", Kernel::V6_12, Options::default())?;
    let link = |text: &str| Link::try_from(text.to_owned()).map_err(failed);
    for (now, kernel) in [("8x4", "8.0 GT/s PCIe 4"), ("16x2", "16.0 GT/s PCIe 2")] {
        guest.retrain("nv0", link(now)?).map_err(failed)?;
        let text = said(&mut guest, LINK_OF_NV0)?;
        ensure(text.trim() == kernel, &format!("retrained to {now}, the kernel says {text}"))?;
    }
    let there = |guest: &mut Guest| -> Result<bool, Failed> {
        Ok(said(guest, "cat /sys/class/nvme/nvme*/serial")?.contains("NV3"))
    };
    ensure(there(&mut guest)?, "never there")?;
    guest.unplug("nv3").map_err(failed)?;
    said(&mut guest, "while grep -q NV3 /sys/class/nvme/nvme*/serial; do sleep 0.2; done")?;
    guest.plug("nv3").map_err(failed)?;
    said(&mut guest, "until grep -q NV3 /sys/class/nvme/nvme*/serial; do sleep 0.2; done").map(drop)
}
