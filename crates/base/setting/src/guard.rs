// SPDX-License-Identifier: MIT OR Apache-2.0
//! What keeps a machine safe, or runs programs: nothing here wishes for a value of it or writes one.
//! The one list of it: the catalogue, plans and what writes ask it.

use crate::Setting;

/// Names of files, whatever their folder. Tuning tools have set most of them.
const NAMES: &[&str] = &[
    "accept_ra",
    "accept_redirects",
    "accept_source_route",
    "bind",
    "bpf_jit_harden",
    "core_pattern",
    "core_pipe_limit",
    "ctrl-alt-del",
    "delete",
    "dmesg_restrict",
    "driver_override",
    "drivers_probe",
    "drop_caches",
    "drop_gratuitous_arp",
    "enforce",
    "hotplug",
    "icmp_echo_ignore_broadcasts",
    "io_uring_disabled",
    "kexec_load_disabled",
    "kptr_restrict",
    "legacy_va_layout",
    "log_martians",
    "mmap_min_addr",
    "mmap_rnd_bits",
    "mmap_rnd_compat_bits",
    "modprobe",
    "modules_disabled",
    "new_id",
    "panic_on_oops",
    "perf_event_paranoid",
    "poweroff_cmd",
    "protected_fifos",
    "protected_hardlinks",
    "protected_regular",
    "protected_symlinks",
    "randomize_va_space",
    "remove",
    "remove_id",
    "rp_filter",
    "secure_redirects",
    "send_redirects",
    "suid_dumpable",
    "sysctl_writes_strict",
    "sysrq",
    "tcp_dsack",
    "tcp_rfc1337",
    "tcp_sack",
    "tcp_syncookies",
    "uevent_helper",
    "unbind",
    "unprivileged_bpf_disabled",
    "unprivileged_userfaultfd",
    "unprivileged_userns_clone",
];

/// Folders of which everything is meant.
const FOLDERS: &[&str] = &[
    "/proc/sys/fs/binfmt_misc",
    "/proc/sys/kernel/firmware_config",
    "/proc/sys/kernel/keys",
    "/proc/sys/kernel/seccomp",
    "/proc/sys/kernel/usermodehelper",
    "/proc/sys/kernel/yama",
    "/proc/sys/net/netfilter",
    "/sys/devices/system/cpu/vulnerabilities",
    "/sys/firmware/efi",
    "/sys/fs/selinux",
    "/sys/fs/smackfs",
    "/sys/kernel/security",
    "/sys/module/apparmor",
    "/sys/module/firmware_class/parameters",
    "/sys/power",
];

/// Entries whose change opens a machine, or may lose what was written, whatever their files are called.
const ENTRIES: &[&str] =
    &["pcie-acs-redirect", "mitigations", "iommu-support", "block-write-cache"];

/// Whether a file keeps the machine safe, by its name or its folder. In a path with `*` it counts
/// what that can stand for.
pub fn keeps_safe(path: &str) -> bool {
    let parts: Vec<&str> = parts(path).collect();
    let name = parts.last().copied().unwrap_or_default();
    NAMES.iter().any(|guarded| can_be(name, guarded))
        || FOLDERS.iter().any(|folder| is_below(&parts, folder))
}

/// Whether an entry is about what keeps the machine safe.
pub fn is_guard(entry: &Setting) -> bool {
    let written = entry.write.as_ref().and_then(|write| write.file.as_deref());
    let files = [written, entry.observe.file.as_deref()];
    ENTRIES.contains(&entry.id.as_str()) || files.into_iter().flatten().any(keeps_safe)
}

fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty() && *part != ".")
}

fn is_below(parts: &[&str], folder: &str) -> bool {
    let mut own = parts.iter();
    self::parts(folder).all(|guarded| own.next().is_some_and(|part| can_be(part, guarded)))
}

/// Whether a part of a path can be a name; each `*` of it stands for any letters. A part that is
/// nothing else can be everything and is looked at again when it is filled.
fn can_be(part: &str, name: &str) -> bool {
    let Some((start, rest)) = part.split_once('*') else { return part == name };
    if part.chars().all(|c| c == '*') {
        return false;
    }
    let Some(mut left) = name.strip_prefix(start) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let end = pieces.pop().unwrap_or_default();
    for piece in pieces {
        let Some((_, after)) = left.split_once(piece) else { return false };
        left = after;
    }
    left.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tunes_is_not_what_guards() {
        for tuned in [
            "/proc/sys/vm/swappiness",
            "/sys/block/sda/queue/scheduler",
            "/sys/class/net/{device}/queues/rx-*/rps_cpus",
            "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
            "/proc/sys/net/ipv4/tcp_*mem",
        ] {
            assert!(!keeps_safe(tuned), "{tuned}");
        }
    }

    #[test]
    fn what_guards_is_seen_in_each_spelling() {
        for guard in [
            "/proc/sys/net/ipv4/conf/all/rp_filter",
            "/sys/devices/system/cpu/vulnerabilities/meltdown",
            "/proc/sys/net/ipv4/conf/all/secure_redirect*",
            "/proc/sys/net/ipv4/conf/all/*_redirects",
            "/proc/sys/net/ipv4/conf/all/s*e_r*s",
            "/proc/sys/kernel/ya*/ptrace_scope",
            "/proc/sys/kernel//./yama/ptrace_scope",
            "/proc/sys/fs/binfmt_misc/register",
            "/proc/sys/kernel/core_pattern",
            "/proc/sys/kernel/modprobe",
            "/proc/sys/kernel/dmesg_restrict",
            "/sys/module/firmware_class/parameters/path",
            "/sys/module/firmware_clas*/parameters/path",
            "/sys/bus/pci/drivers/nvme/unbind",
        ] {
            assert!(keeps_safe(guard), "{guard}");
        }
    }
}
