// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine as a whole: maker, firmware, kernel, and what surrounds the kernel.

use crate::Fact;

/// Maker, firmware, kernel, surroundings.
#[derive(Debug, Clone, PartialEq)]
pub struct Host {
    /// Maker from `dmi/id/sys_vendor`.
    pub vendor: Fact<String>,
    /// Model from `dmi/id/product_name`.
    pub product: Fact<String>,
    /// BIOS version and date from `dmi/id/bios_version` and `bios_date`.
    pub firmware: Fact<String>,
    /// Release from `/proc/sys/kernel/osrelease` or `/proc/version`: `6.1.0-44-amd64`.
    pub kernel: Fact<String>,
    /// Host name; redacted in captures.
    pub name: Fact<String>,
    /// CPU model from `/proc/cpuinfo`.
    pub cpu_model: Fact<String>,
    /// CPU vendor as the CPU says it: `GenuineIntel`, `AuthenticAMD`, or the ARM implementer.
    pub cpu_vendor: Fact<String>,
    /// (family, model) of an x86 CPU from `/proc/cpuinfo`, both as the kernel prints them: decimal,
    /// extended bits included.
    pub cpu_family_model: Fact<(u32, u32)>,
    /// CPU flags of the first CPU (`flags` or `Features`).
    pub cpu_flags: Vec<String>,
    /// The kernel's command line.
    pub command_line: CommandLine,
    /// (name, state) from `cpu/vulnerabilities`.
    pub mitigations: Vec<(String, String)>,
    /// Whether the kernel runs in a virtual machine.
    pub virtual_machine: Virtual,
    /// Whether this process runs in a container.
    pub container: Container,
    /// `Some` when the machine hosts virtual machines (`/dev/kvm` modules in use, Xen dom0), with the sign.
    pub hypervisor_host: Option<String>,
    /// Programs that fight over tuning.
    pub services: Vec<Service>,
    /// Loaded modules that rules ask for, with their parameters: (module, parameter, value).
    pub module_parameters: Vec<(String, String, String)>,
}

/// `/proc/cmdline` in order: duplicate keys stay, as the kernel itself keeps them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// The text as read.
    pub text: String,
    /// (key, value) in order; the value without its quotes; `None` for a bare word.
    pub options: Vec<(String, Option<String>)>,
}

/// A virtual machine, or not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Virtual {
    /// No sign of a hypervisor.
    #[default]
    No,
    /// A hypervisor by name (`kvm`, `vmware`, `hyper-v`, `xen`, `powervm`, `zvm`, ...) and the sign that told.
    Yes {
        /// systemd-detect-virt's names.
        name: String,
        /// The sign: file and text.
        sign: String,
    },
}

/// A container, or not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Container {
    /// No sign of one.
    #[default]
    No,
    /// A container by name (`docker`, `podman`, `lxc`, `kubernetes`, `systemd-nspawn`, ...) and the sign.
    Yes {
        /// Its kind.
        name: String,
        /// The sign: file and text.
        sign: String,
    },
}

/// A program that changes settings by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// `irqbalance`, `tuned`, `power-profiles-daemon`, `tlp`, `auto-cpufreq`, `thermald`.
    pub name: String,
    /// Whether a process of it runs.
    pub running: Fact<bool>,
    /// Where that is seen: the folder of control groups in which its unit was looked for, or
    /// `/proc/PID/comm` of its process; none where there is no sign.
    pub seen: Option<String>,
    /// Whether it is enabled at boot, where the unit links could be read.
    pub enabled: Fact<bool>,
    /// Its profile or banned CPUs, where its files tell: (file, text).
    pub configuration: Option<(String, String)>,
}

impl Default for Host {
    fn default() -> Self {
        Self {
            vendor: Err(Default::default()),
            product: Err(Default::default()),
            firmware: Err(Default::default()),
            kernel: Err(Default::default()),
            name: Err(Default::default()),
            cpu_model: Err(Default::default()),
            cpu_vendor: Err(Default::default()),
            cpu_family_model: Err(Default::default()),
            cpu_flags: Vec::new(),
            command_line: CommandLine::default(),
            mitigations: Vec::new(),
            virtual_machine: Virtual::default(),
            container: Container::default(),
            hypervisor_host: None,
            services: Vec::new(),
            module_parameters: Vec::new(),
        }
    }
}

impl CommandLine {
    /// Every value given for `key`, in order: (`console=` is often there twice).
    pub fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = Option<&'a str>> {
        self.options
            .iter()
            .filter(move |(name, _)| is_same_key(name, key))
            .map(|(_, value)| value.as_deref())
    }

    /// The last value given for `key`, which is the one most handlers keep: `Some(None)` for a bare
    /// word.
    pub fn last(&self, key: &str) -> Option<Option<&str>> {
        let last = self.options.iter().rev().find(|(name, _)| is_same_key(name, key));
        last.map(|(_, value)| value.as_deref())
    }
}

/// Dashes and underscores are one in the kernel's keys (kernel/params.c, `dash2underscore`).
fn is_same_key(a: &str, b: &str) -> bool {
    let plain = |byte: u8| if byte == b'-' { b'_' } else { byte };
    a.len() == b.len() && a.bytes().map(plain).eq(b.bytes().map(plain))
}
