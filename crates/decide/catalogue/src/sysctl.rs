// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel files by the names that people give them.

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
    use setting::keeps_safe;

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
}
