// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who the machine is: DMI's id files, uname, hypervisor and container signs, this process.

use root::Question;
use serde::Serialize;

use crate::text::mask;
use crate::topology::Topology;
use crate::{Description, Tree};

/// `uname`.
#[derive(Serialize)]
struct Uname<'a> {
    sysname: &'a str,
    release: &'a str,
    version: &'a str,
    machine: &'a str,
}

/// The compiler's stamp after `uname -r`.
const VERSION: &str = "#1 SMP PREEMPT_DYNAMIC Debian 6.12.41-1 (2025-08-12)";

pub(crate) fn write(tree: &mut Tree, description: &Description, topology: &Topology) {
    write_dmi(tree, description);
    write_uname(tree, description);
    write_process(tree, description, topology);
    write_virtual(tree, description);
    write_services(tree, description);
    let allowed = allowed(description, topology).to_string();
    tree.answers.insert(Question::Affinity, format!("\"{allowed}\""));
    tree.answers.insert(Question::User, "0".to_owned());
}

fn allowed(description: &Description, topology: &Topology) -> units::CpuSet {
    match description.cpu.allowed.is_empty() {
        true => topology.online.clone(),
        false => description.cpu.allowed.and(&topology.online),
    }
}

fn write_dmi(tree: &mut Tree, description: &Description) {
    let host = &description.host;
    let folder = "/sys/devices/virtual/dmi/id";
    tree.lines(
        folder,
        [
            ("sys_vendor", host.vendor.clone()),
            ("product_name", host.product.clone()),
            ("product_family", "Server".to_owned()),
            ("product_sku", String::new()),
            ("board_vendor", host.vendor.clone()),
            ("board_name", "0SYNTH".to_owned()),
            ("bios_vendor", host.vendor.clone()),
            ("bios_version", host.firmware.clone()),
            ("bios_date", host.firmware_date.clone()),
            ("chassis_vendor", host.vendor.clone()),
            ("chassis_type", if host.hypervisor.is_some() { "1" } else { "23" }.to_owned()),
        ],
    );
    for (name, text) in [("product_serial", "SYNTH01\n"), ("board_serial", ".SYNTH01.CN.\n")] {
        tree.text_with_mode(format!("{folder}/{name}"), text, 0o400);
    }
    let uuid = "4c4c4544-0000-1000-8000-000000000000\n";
    tree.text_with_mode(format!("{folder}/product_uuid"), uuid, 0o400);
    tree.link("/sys/class/dmi/id", folder);
}

fn write_uname(tree: &mut Tree, description: &Description) {
    let release = &description.kernel.release;
    let uname = Uname { sysname: "Linux", release, version: VERSION, machine: "x86_64" };
    if let Ok(text) = serde_json::to_string(&uname) {
        tree.answers.insert(Question::Uname, text);
    }
    tree.line("/proc/sys/kernel/osrelease", release);
    tree.line("/proc/sys/kernel/ostype", "Linux");
    tree.line("/proc/sys/kernel/version", VERSION);
    tree.line("/proc/sys/kernel/hostname", "synthetic");
    let compiler = "(debian-kernel@lists.debian.org) (x86_64-linux-gnu-gcc-14, GNU ld)";
    tree.line("/proc/version", format!("Linux version {release} {compiler} {VERSION}"));
    // A guest of the same kernel has no other image; only its options differ.
    let options = &description.kernel.command_line;
    let start = format!("BOOT_IMAGE=/boot/vmlinuz-{release} root=/dev/mapper/root");
    tree.line("/proc/cmdline", format!("{start} {options}").trim_end());
}

fn write_process(tree: &mut Tree, description: &Description, topology: &Topology) {
    let allowed = allowed(description, topology);
    let nodes = crate::text::range(0, description.node_count());
    let status = format!(
        "Name:\tnearside\nUmask:\t0022\nState:\tR (running)\nTgid:\t4242\nPid:\t4242\nPPid:\t1\n\
         Uid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\nSeccomp:\t0\n\
         Cpus_allowed:\t{}\nCpus_allowed_list:\t{allowed}\nMems_allowed:\t{}\n\
         Mems_allowed_list:\t{nodes}\n",
        mask(&allowed, topology.bits),
        mask(&nodes, 1024),
    );
    tree.text("/proc/self/status", status);
    let group = match &description.host.container {
        Some(runtime) => format!("/system.slice/{runtime}-0123456789abcdef.scope"),
        None => "/".to_owned(),
    };
    tree.line("/proc/self/cgroup", format!("0::{group}"));
    let folder = format!("/sys/fs/cgroup{}", group.trim_end_matches('/'));
    tree.line("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory hugetlb pids rdma misc");
    tree.line(format!("{folder}/cpuset.cpus.effective"), &allowed);
    tree.line(format!("{folder}/cpuset.mems.effective"), &nodes);
}

fn write_virtual(tree: &mut Tree, description: &Description) {
    if let Some(hypervisor) = &description.host.hypervisor {
        let vendor = if hypervisor == "xen" { "xen" } else { "" };
        if !vendor.is_empty() {
            tree.line("/sys/hypervisor/type", vendor);
        }
        let source = if hypervisor == "kvm" { "kvm-clock" } else { "tsc" };
        clock(tree, source);
    } else {
        clock(tree, "tsc");
    }
    if let Some(runtime) = &description.host.container {
        let sign = if runtime == "docker" { "/.dockerenv" } else { "/run/.containerenv" };
        tree.text(sign, "");
        tree.text("/run/systemd/container", format!("{runtime}\n"));
    }
}

fn clock(tree: &mut Tree, source: &str) {
    let folder = "/sys/devices/system/clocksource/clocksource0";
    tree.line(format!("{folder}/current_clocksource"), source);
    tree.line(format!("{folder}/available_clocksource"), format!("{source} hpet acpi_pm "));
}

/// Process 1 and the services of the description, each with its name and command line.
fn write_services(tree: &mut Tree, description: &Description) {
    let names = std::iter::once("systemd").chain(description.services.iter().map(String::as_str));
    for (index, name) in (0_u32..).zip(names) {
        let pid = if index == 0 { 1 } else { 900 + index };
        let short: String = name.chars().take(15).collect();
        tree.line(format!("/proc/{pid}/comm"), &short);
        tree.text(format!("/proc/{pid}/cmdline"), format!("/usr/sbin/{name}\0"));
        tree.text(
            format!("/proc/{pid}/stat"),
            format!("{pid} ({short}) S 1 {pid} {pid} 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 500\n"),
        );
    }
}

/// Whether a release such as `6.12.41+deb13-amd64` is at least `major.minor`.
pub(crate) fn release_at_least(release: &str, major: u32, minor: u32) -> bool {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    let mut number = || parts.next().and_then(|part| part.parse().ok()).unwrap_or(0);
    let own: (u32, u32) = (number(), number());
    own >= (major, minor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_compare_by_number() {
        assert!(release_at_least("6.12.41+deb13-amd64", 6, 12));
        assert!(release_at_least("6.2.0", 6, 2));
        assert!(!release_at_least("6.1.0-57-amd64", 6, 2));
        assert!(!release_at_least("5.14.0-503.el9.x86_64", 6, 2));
        assert!(!release_at_least("nonsense", 1, 0));
    }
}
