// SPDX-License-Identifier: MIT OR Apache-2.0
//! Devices and CPUs that leave and return between apply and revert, under other names or with other
//! queues: what is ours is taken back, what is not stays, and either is told.

use std::collections::BTreeMap;

use nearside_lab::{Guest, Kernel};
use serde_json::Value;
use support::{Failed, failed};

use crate::change::{self, Knobs, ensure, knobs, ours, told, unchanged};
use crate::look::said;

/// How many values each verdict of a revert has.
fn verdicts(guest: &mut Guest, words: &str, code: i32) -> Result<BTreeMap<String, usize>, Failed> {
    let document = told(guest, words, &[code])?;
    let key = if words.starts_with("verify") { "values" } else { "reverts" };
    let all = document[key].as_array().cloned();
    let all = all.ok_or_else(|| failed(format!("{words}: {document}")))?;
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for one in &all {
        let class = one["class"].as_str().or_else(|| one["standing"].as_str());
        *counts.entry(class.unwrap_or("?").to_owned()).or_default() += 1;
    }
    Ok(counts)
}

fn is(
    what: &str,
    counts: &BTreeMap<String, usize>,
    wanted: &[(&str, usize)],
) -> Result<(), Failed> {
    let wanted: BTreeMap<String, usize> =
        wanted.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
    ensure(*counts == wanted, || format!("{what}: {counts:?}, not {wanted:?}"))
}

fn is_empty(guest: &mut Guest) -> Result<(), Failed> {
    let list = said(guest, "nearside revert --list")?;
    ensure(list.starts_with("No "), || format!("the journal still has {list}"))
}

/// Everything that can be set on each drive, by its serial number.
const QUEUES: &str = "for c in /sys/class/nvme/nvme*; do d=/sys/block/${c##*/}n1/queue; \
    for k in scheduler nr_requests read_ahead_kb nomerges rq_affinity iostats; do \
    echo $(cat $c/serial) $k $(cat $d/$k); done; done | sort";

/// Two drives leave and return with each other's names.
pub(crate) fn drives(kernel: Kernel) -> Result<(), Failed> {
    let mut guest = change::guest("nps4", kernel, None)?;
    let before = said(&mut guest, QUEUES)?;
    let (pulled, other) = (name(&mut guest, "NV3")?, name(&mut guest, "NV2")?);
    ours(&mut guest, &format!("apply {}", wish(&pulled)), &[0])?;
    guest.unplug("nv3").map_err(failed)?;
    said(&mut guest, &format!("while [ -e /sys/block/{pulled}n1 ]; do sleep 0.1; done"))?;
    is("verify of a drive that is gone", &verdicts(&mut guest, "verify", 3)?, &[("missing", 3)])?;
    is("revert of a drive that is gone", &verdicts(&mut guest, "revert", 3)?, &[("missing", 3)])?;

    swap(&mut guest, &pulled, &other)?;
    // The other drive has the name now, and by somebody's wish the values that were ours; on ours
    // somebody made one of them again.
    let values = "cd /sys/block/NAME/queue && echo mq-deadline > scheduler && \
        echo 48 > nr_requests && echo 512 > read_ahead_kb";
    said(&mut guest, &values.replace("NAME", &format!("{pulled}n1")))?;
    said(&mut guest, &format!("echo 512 > /sys/block/{other}n1/queue/read_ahead_kb"))?;
    let counts = verdicts(&mut guest, "revert", 0)?;
    is("revert of a drive that returned", &counts, &[("nothing", 2), ("restored", 1)])?;
    is_empty(&mut guest)?;
    let theirs =
        format!("cd /sys/block/{pulled}n1/queue && cat scheduler nr_requests read_ahead_kb");
    let theirs = said(&mut guest, &theirs)?;
    let kept = theirs.contains("[mq-deadline]") && theirs.ends_with("48\n512\n");
    ensure(kept, || format!("the drive that got the name was touched: {theirs}"))?;
    let after = said(&mut guest, QUEUES)?;
    let of_ours = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !line.starts_with("NV2 ")).map(str::to_owned).collect()
    };
    ensure(of_ours(&before) == of_ours(&after), || format!("before:\n{before}\nafter:\n{after}"))?;
    eprintln!("nps4/{kernel}: {pulled} returned as {other}, and its values went back");
    guest.off().map_err(failed)?;
    Ok(())
}

fn wish(drive: &str) -> String {
    ["block-scheduler=mq-deadline", "block-nr-requests=48", "block-read-ahead=512"]
        .map(|set| format!("--set {set}@{drive}n1"))
        .join(" ")
}

fn name(guest: &mut Guest, serial: &str) -> Result<String, Failed> {
    let script = format!("basename $(dirname $(grep -l {serial} /sys/class/nvme/nvme*/serial))");
    Ok(said(guest, &script)?.trim().to_owned())
}

/// The kernel gives the lowest free number: whichever drive had the higher one returns first.
fn swap(guest: &mut Guest, pulled: &str, other: &str) -> Result<(), Failed> {
    let function = said(guest, &format!("basename $(readlink -f /sys/class/nvme/{other}/device)"))?;
    let function = function.trim();
    let wait = |name: &str| format!("until [ -e /sys/block/{name}n1 ]; do sleep 0.1; done");
    let driver = "/sys/bus/pci/drivers/nvme";
    said(guest, &format!("echo {function} > {driver}/unbind"))?;
    let bind = format!("echo {function} > {driver}/bind; {}", wait(pulled));
    if other < pulled {
        guest.plug("nv3").map_err(failed)?;
        said(guest, &wait(other))?;
        said(guest, &bind)?;
    } else {
        said(guest, &bind)?;
        guest.plug("nv3").map_err(failed)?;
        said(guest, &wait(other))?;
    }
    let swapped = name(guest, "NV3")? == other && name(guest, "NV2")? == pulled;
    ensure(swapped, || format!("{pulled} and {other} did not change names"))
}

/// A CPU goes offline, channels are changed by somebody else, drivers let go of two ports and take
/// them again in the other order.
pub(crate) fn nics(kernel: Kernel) -> Result<(), Failed> {
    let mut guest = change::guest("nics", kernel, None)?;
    // Whatever the kernel itself does not put back when a CPU returns was done before.
    said(&mut guest, &[OFFLINE, ONLINE].join("; "))?;
    let ports = ports(&mut guest)?;
    let before = knobs(&mut guest)?;
    offline(&mut guest, &ports, &before)?;
    channels(&mut guest, &ports, &before)?;
    reloaded(&mut guest, &ports)?;
    guest.off().map_err(failed)?;
    Ok(())
}

/// A port's name and where its driver has it, by the driver.
type Ports = BTreeMap<String, (String, String)>;

const OFFLINE: &str = "echo 0 > /sys/devices/system/cpu/cpu7/online";
const ONLINE: &str = "echo 1 > /sys/devices/system/cpu/cpu7/online";

fn ports(guest: &mut Guest) -> Result<Ports, Failed> {
    let text = said(
        guest,
        "for d in /sys/class/net/eth*; do f=$(readlink -f $d/device); \
        echo $(basename $(readlink $f/driver)) ${d##*/} ${f##*/}; done",
    )?;
    let port = |line: &str| match line.split(' ').collect::<Vec<_>>()[..] {
        [driver, name, device] => Some((driver.to_owned(), (name.to_owned(), device.to_owned()))),
        _ => None,
    };
    Ok(text.lines().filter_map(port).collect())
}

fn port<'a>(ports: &'a Ports, driver: &str) -> Result<(&'a str, &'a str), Failed> {
    let (name, device) = ports.get(driver).ok_or_else(|| failed(format!("no {driver}")))?;
    Ok((name, device))
}

/// Interrupts of a CPU that went away are the kernel's for a while, and ours to take back.
fn offline(guest: &mut Guest, ports: &Ports, before: &Knobs) -> Result<(), Failed> {
    let (nic, _) = port(ports, "vmxnet3")?;
    let place = format!("apply --device {nic} --cpus 7,6 --only nic-irq-placement");
    ours(guest, &place, &[0])?;
    ours(guest, "apply --set resume-latency=20", &[0])?;
    said(guest, OFFLINE)?;
    // Eight queues in turn on 7 and 6: four were on the CPU that left, and nobody is blamed.
    let counts = verdicts(guest, "verify", 3)?;
    let blamed = counts.contains_key("drifted") || counts.contains_key("overridden");
    ensure(counts.get("cpus-offline") == Some(&4) && !blamed, || {
        format!("a CPU is offline, and verify tells of {counts:?}")
    })?;
    let counts = verdicts(guest, "revert", 0)?;
    let bad =
        counts.keys().find(|name| !["restored", "nothing", "missing"].contains(&name.as_str()));
    ensure(bad.is_none(), || format!("revert with a CPU offline: {counts:?}"))?;
    ensure(counts.get("restored") >= Some(&8), || format!("revert takes back {counts:?}"))?;
    eprintln!("revert with a CPU offline: {counts:?}");
    said(guest, ONLINE)?;
    ours(guest, "revert", &[0])?;
    is_empty(guest)?;
    unchanged("a CPU that went offline and came back", before, guest)
}

/// Channels that somebody else set stay until forced; queues that are gone wait for their return.
fn channels(guest: &mut Guest, ports: &Ports, before: &Knobs) -> Result<(), Failed> {
    let (nic, _) = port(ports, "virtio_net")?;
    ours(guest, &format!("apply --set nic-channels=2@{nic}"), &[0])?;
    said(guest, &format!("ethtool -L {nic} combined 3"))?;
    is("channels of somebody else", &verdicts(guest, "revert", 3)?, &[("kept", 1)])?;
    let count = said(guest, &format!("ethtool -l {nic} | tail -1 | tr -dc 0-9"))?;
    ensure(count == "3", || format!("{count} channels are left of somebody's 3"))?;
    ours(guest, "revert --force", &[0])?;
    unchanged("channels that somebody changed, taken back by force", before, guest)?;

    let place = format!("apply --device {nic} --cpus 1,2,3,5 --only nic-irq-placement");
    ours(guest, &place, &[0])?;
    // The driver spreads interrupts anew (virtnet_set_affinity), by somebody's order.
    said(guest, &format!("ethtool -L {nic} combined 2"))?;
    ours(guest, "verify", &[3])?;
    ours(guest, "revert", &[0, 3])?;
    said(guest, &format!("ethtool -L {nic} combined 4"))?;
    ours(guest, "revert", &[0])?;
    is_empty(guest)?;
    unchanged("a placement whose channels somebody changed and set back", before, guest)
}

/// Two ports get each other's names when their drivers take them in the other order.
fn reloaded(guest: &mut Guest, ports: &Ports) -> Result<(), Failed> {
    let (one, two) = (port(ports, "virtio_net")?, port(ports, "vmxnet3")?);
    let settings = format!(
        "apply --set mtu=1400@{0} --set nic-tx-queue-length=2000@{0} --set mtu=1400@{1} \
         --set nic-rx-ring=512@{1} --set nic-irq-placement=near@{1}",
        one.0, two.0
    );
    let facts = facts(guest)?;
    let applied = told(guest, &settings, &[0])?;
    let count = applied["receipts"]
        .as_array()
        .map_or(0, |all: &Vec<Value>| all.iter().filter(|one| one["class"] == "applied").count());
    let (virtio, vmxnet) = ("/sys/bus/virtio/drivers/virtio_net", "/sys/bus/pci/drivers/vmxnet3");
    let unbind = format!("echo {} > {virtio}/unbind; echo {} > {vmxnet}/unbind", one.1, two.1);
    said(guest, &unbind)?;
    is("ports without drivers", &verdicts(guest, "revert", 3)?, &[("missing", count)])?;
    // Whichever had the higher name returns first, and gets the lower one.
    let mut binds = [
        (one.0, format!("echo {} > {virtio}/bind", one.1)),
        (two.0, format!("echo {} > {vmxnet}/bind", two.1)),
    ];
    binds.sort_by(|a, b| b.0.cmp(a.0));
    let [first, second] = binds.map(|(_, bind)| bind);
    let open = format!("ip link set {} up; ip link set {} up", one.0, two.0);
    said(guest, &format!("{first}; {second}; {open}"))?;
    let now = self::ports(guest)?;
    let swapped = port(&now, "virtio_net")?.0 == two.0 && port(&now, "vmxnet3")?.0 == one.0;
    ensure(swapped, || format!("the names are not swapped: {now:?}"))?;
    let counts = verdicts(guest, "verify", 3)?;
    is("ports under other names", &counts, &[("lost-on-reopen", count)])?;
    // Somebody's own wishes for the port that has our port's name now, and the same value on ours.
    said(guest, &format!("echo 2000 > /sys/class/net/{}/tx_queue_len", one.0))?;
    said(guest, &format!("echo 1400 > /sys/class/net/{}/mtu", two.0))?;
    let counts = verdicts(guest, "revert", 0)?;
    is("ports that were loaded again", &counts, &[("nothing", count - 1), ("restored", 1)])?;
    is_empty(guest)?;
    let theirs = said(guest, &format!("cat /sys/class/net/{}/tx_queue_len", one.0))?;
    ensure(theirs == "2000\n", || format!("the port that got the name was touched: {theirs}"))?;
    said(guest, &format!("echo 1000 > /sys/class/net/{}/tx_queue_len", one.0))?;
    let after = self::facts(guest)?;
    ensure(after == facts, || format!("before:\n{facts}\nafter:\n{after}"))?;
    eprintln!("{count} values of two ports that changed names: nothing is left");
    Ok(())
}

/// What can be set on each port, by its driver.
fn facts(guest: &mut Guest) -> Result<String, Failed> {
    said(
        guest,
        "for d in /sys/class/net/eth*; do n=${d##*/}; \
        by=$(basename $(readlink $d/device/driver)); \
        { cat $d/mtu $d/tx_queue_len $d/threaded; for o in l g c k; do ethtool -$o $n; done; \
        cat $d/queues/*/*ps_cpus; } 2>/dev/null | grep -v $n | sed \"s/^/$by /\"; done | \
        sort -s -k1,1",
    )
}
