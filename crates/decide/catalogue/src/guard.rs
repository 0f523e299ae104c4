// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel files that keep a machine safe: nothing here wishes for a value of theirs or writes one.

/// Names of files, whatever their folder. Tuning tools have set most of them.
const NAMES: &[&str] = &[
    "accept_ra",
    "accept_redirects",
    "accept_source_route",
    "bpf_jit_harden",
    "core_pattern",
    "core_pipe_limit",
    "dmesg_restrict",
    "drop_caches",
    "drop_gratuitous_arp",
    "enforce",
    "icmp_echo_ignore_broadcasts",
    "kexec_load_disabled",
    "kptr_restrict",
    "legacy_va_layout",
    "log_martians",
    "mmap_min_addr",
    "mmap_rnd_bits",
    "mmap_rnd_compat_bits",
    "modprobe",
    "modules_disabled",
    "panic_on_oops",
    "perf_event_paranoid",
    "poweroff_cmd",
    "protected_fifos",
    "protected_hardlinks",
    "protected_regular",
    "protected_symlinks",
    "randomize_va_space",
    "rp_filter",
    "secure_redirects",
    "send_redirects",
    "suid_dumpable",
    "sysrq",
    "tcp_dsack",
    "tcp_rfc1337",
    "tcp_sack",
    "tcp_syncookies",
    "unprivileged_bpf_disabled",
    "unprivileged_userfaultfd",
    "unprivileged_userns_clone",
];

/// Folders of which everything is meant.
const FOLDERS: &[&str] = &[
    "/proc/sys/kernel/yama/",
    "/proc/sys/kernel/keys/",
    "/proc/sys/net/netfilter/",
    "/sys/devices/system/cpu/vulnerabilities/",
    "/sys/fs/selinux/",
    "/sys/kernel/security/",
    "/sys/module/apparmor/",
];

/// Whether a file keeps the machine safe, by its name or its folder.
pub fn keeps_safe(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    NAMES.contains(&name) || FOLDERS.iter().any(|folder| path.starts_with(folder))
}

/// The file of a sysctl as people name it: `net.ipv4.tcp_sack`, or `net/ipv4/tcp_sack`.
pub fn file_of_sysctl(name: &str) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '*');
    let is_path = name.starts_with("/proc/sys/") || name.starts_with("/sys/");
    match () {
        () if is_path => Some(name.to_owned()),
        () if name.contains(['.', '/']) && name.chars().all(is_plain) => {
            Some(format!("/proc/sys/{}", name.trim_matches('/').replace('.', "/")))
        }
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sysctls_are_known_in_each_spelling() {
        for name in ["net.ipv4.tcp_sack", "net/ipv4/tcp_sack", "/proc/sys/net/ipv4/tcp_sack"] {
            let file = file_of_sysctl(name).unwrap();
            assert_eq!(file, "/proc/sys/net/ipv4/tcp_sack");
            assert!(keeps_safe(&file));
        }
        assert_eq!(file_of_sysctl("swappiness"), None);
        assert_eq!(file_of_sysctl("a b.c"), None);
    }

    #[test]
    fn what_tunes_is_not_what_guards() {
        for tuned in ["/proc/sys/vm/swappiness", "/sys/block/sda/queue/scheduler"] {
            assert!(!keeps_safe(tuned), "{tuned}");
        }
        assert!(keeps_safe("/proc/sys/net/ipv4/conf/all/rp_filter"));
        assert!(keeps_safe("/sys/devices/system/cpu/vulnerabilities/meltdown"));
    }
}
