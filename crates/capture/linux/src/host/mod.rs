// SPDX-License-Identifier: MIT OR Apache-2.0
//! Maker, firmware, kernel and surroundings.

pub(crate) mod command_line;
mod container;
mod model;
pub(crate) mod services;
pub(crate) mod virtual_machine;

use machine::{Container, Fact, Host, Service, Why};
use root::{Dir, Question, Root, text};

use crate::{Troubles, dmi};

/// Parameters that rules ask for, by module; `None` stands for all of a module's.
const PARAMETERS: &[(&str, Option<&[&str]>)] = &[
    ("nvme", None),
    ("nvme_core", None),
    ("pcie_aspm", None),
    ("intel_idle", Some(&["max_cstate", "use_acpi", "states_off"])),
    ("processor", Some(&["max_cstate", "ignore_ppc"])),
    ("kvm", Some(&["halt_poll_ns"])),
    ("kvm_intel", Some(&["nested", "enable_apicv"])),
    ("kvm_amd", Some(&["nested", "avic"])),
    ("vfio_pci", Some(&["disable_idle_d3"])),
];

/// Programs that change settings by themselves, and whether they run: a part of what
/// [`crate::read`] gives.
pub fn services(root: &dyn Root) -> Vec<Service> {
    services::read(root, container::read(root) != Container::No).list
}

pub(crate) fn read(root: &dyn Root, troubles: &mut Troubles) -> Host {
    let identity = dmi::identity(root);
    let model = model::read(root);
    let virtual_machine = virtual_machine::read(root, &identity, &model);
    let container = container::read(root);
    let services = services::read(root, container != Container::No);
    let command_line = text(root, "/proc/cmdline");
    let command_line = troubles.keep("the kernel's command line", "/proc/cmdline", command_line);
    Host {
        vendor: identity.vendor,
        product: identity.product,
        firmware: identity.firmware,
        kernel: kernel(root),
        name: text(root, "/proc/sys/kernel/hostname"),
        cpu_model: model.name,
        cpu_vendor: model.vendor,
        cpu_family_model: model.family_model,
        cpu_flags: model.flags,
        command_line: command_line::parse(&command_line.unwrap_or_default()),
        mitigations: mitigations(root),
        virtual_machine,
        container,
        hypervisor_host: hypervisor_host(root, &services.hypervisors),
        services: services.list,
        module_parameters: module_parameters(root),
    }
}

/// The release: `/proc/sys/kernel/osrelease`, uname's answer, or the third word of
/// `Linux version 6.1.0-44-amd64 (debian-kernel@lists.debian.org) ...`.
fn kernel(root: &dyn Root) -> Fact<String> {
    let release = text(root, "/proc/sys/kernel/osrelease").ok().filter(|text| !text.is_empty());
    let uname = || {
        let answer: serde_json::Value =
            serde_json::from_str(&root.ask(&Question::Uname).ok()?).ok()?;
        answer.get("release")?.as_str().map(str::to_owned)
    };
    if let Some(release) = release.or_else(uname) {
        return Ok(release);
    }
    let version = text(root, "/proc/version")?;
    let word = version.strip_prefix("Linux version ").and_then(|rest| rest.split(' ').next());
    word.map(str::to_owned).ok_or_else(|| Why::unparsed(&version))
}

fn mitigations(root: &dyn Root) -> Vec<(String, String)> {
    let dir = Dir::new(root, "/sys/devices/system/cpu/vulnerabilities");
    let names = dir.list().unwrap_or_default();
    names.into_iter().filter_map(|name| dir.text(&name).ok().map(|state| (name, state))).collect()
}

/// Xen's first domain, KVM modules that somebody uses, or a running virtual machine monitor.
fn hypervisor_host(root: &dyn Root, monitors: &[String]) -> Option<String> {
    let capabilities = text(root, "/proc/xen/capabilities").unwrap_or_default();
    if capabilities.contains("control_d") {
        return Some("/proc/xen/capabilities: control_d".to_owned());
    }
    let modules = text(root, "/proc/modules").unwrap_or_default();
    let used = kvm_users(&modules).map(|line| format!("/proc/modules: {line}"));
    used.or_else(|| monitors.first().cloned())
}

/// `kvm_intel 372736 4 - Live 0x0000000000000000`: the third word counts its users.
pub(crate) fn kvm_users(modules: &str) -> Option<String> {
    modules.lines().find_map(|line| {
        let mut words = line.split(' ');
        let name =
            words.next().filter(|name| matches!(*name, "kvm_intel" | "kvm_amd" | "kvm_hv"))?;
        let users: u32 = words.nth(1)?.parse().ok().filter(|users| *users > 0)?;
        Some(format!("{name} has {users} users"))
    })
}

fn module_parameters(root: &dyn Root) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    for (module, wanted) in PARAMETERS {
        let dir = Dir::new(root, format!("/sys/module/{module}/parameters"));
        let names = match wanted {
            Some(names) => names.iter().map(ToString::to_string).collect(),
            None => dir.list().unwrap_or_default(),
        };
        for name in names {
            if let Ok(value) = dir.text(&name) {
                found.push((module.to_string(), name, value));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use root::MemoryRoot;

    #[test]
    fn the_release_from_any_source() {
        let mut proc = MemoryRoot::new();
        proc.file("/proc/sys/kernel/osrelease", "6.1.0-44-amd64\n");
        let mut uname = MemoryRoot::new();
        let answer = r#"{"sysname":"Linux","release":"6.1.0-44-amd64"}"#;
        uname.answer(Question::Uname, Ok(answer.to_owned()));
        let mut version = MemoryRoot::new();
        version.file("/proc/version", "Linux version 6.1.0-44-amd64 (gcc) #1 SMP\n");
        for root in [proc, uname, version] {
            assert_eq!(kernel(&root).as_deref(), Ok("6.1.0-44-amd64"));
        }
        assert_eq!(kernel(&MemoryRoot::new()), Err(Why::Absent));
    }

    #[test]
    fn kvm_counts_only_when_used() {
        let modules = "kvm_intel 372736 0 - Live 0x0\nkvm 1032192 1 kvm_intel, Live 0x0\n";
        assert_eq!(kvm_users(modules), None);
        let used = "kvm_amd 155648 12 - Live 0x0\n";
        assert_eq!(kvm_users(used).as_deref(), Some("kvm_amd has 12 users"));
    }

    #[test]
    fn parameters_of_loaded_modules() {
        let mut root = MemoryRoot::new();
        root.file("/sys/module/nvme/parameters/poll_queues", "4\n")
            .file("/sys/module/kvm/parameters/halt_poll_ns", "200000\n")
            .file("/sys/module/kvm/parameters/tdp_mmu", "Y\n");
        let all = module_parameters(&root);
        let all: Vec<_> = all.iter().map(|(m, p, v)| format!("{m}.{p}={v}")).collect();
        assert_eq!(all, ["nvme.poll_queues=4", "kvm.halt_poll_ns=200000"]);
    }
}
