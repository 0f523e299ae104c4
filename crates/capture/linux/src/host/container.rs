// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signs that this process runs in a container.

use machine::Container;
use root::{Root, text};

/// Looks for signs, those that name the kind first.
pub(super) fn read(root: &dyn Root) -> Container {
    kubernetes(root)
        .or_else(|| by_environment(root))
        .or_else(|| by_files(root))
        .or_else(|| by_cgroup(root))
        .or_else(|| by_mount(root))
        .or_else(|| by_first_process(root))
        .map_or(Container::No, |(name, sign)| Container::Yes { name, sign })
}

type Found = (String, String);

fn kubernetes(root: &dyn Root) -> Option<Found> {
    let paths = ["/var/run/secrets/kubernetes.io", "/run/secrets/kubernetes.io"];
    let path = paths.into_iter().find(|path| root.mode(path).is_ok())?;
    Some(("kubernetes".to_owned(), format!("{path} is there")))
}

/// `container=lxc` among the variables of process 1, or what systemd made of it.
fn by_environment(root: &dyn Root) -> Option<Found> {
    let variables = root.read("/proc/1/environ").unwrap_or_default();
    let mut variables = variables.split(|byte| *byte == 0);
    let own = variables.find_map(|variable| variable.strip_prefix(b"container="));
    let own = own.map(|name| String::from_utf8_lossy(name).into_owned());
    let saved = || text(root, "/run/systemd/container").ok();
    let (name, path) = match own.filter(|name| is_name(name)) {
        Some(name) => (name, "/proc/1/environ"),
        None => (saved().filter(|name| is_name(name))?, "/run/systemd/container"),
    };
    let sign = format!("{path}: container={name}");
    Some((name, sign))
}

fn is_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..32).contains(&text.len()) && text.bytes().all(plain)
}

fn by_files(root: &dyn Root) -> Option<Found> {
    let files = [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")];
    if let Some((path, name)) = files.into_iter().find(|(path, _)| root.mode(path).is_ok()) {
        return Some((name.to_owned(), format!("{path} is there")));
    }
    // OpenVZ: the host has /proc/bc, its containers have /proc/vz alone.
    let is_openvz = root.mode("/proc/vz").is_ok() && root.mode("/proc/bc").is_err();
    is_openvz.then(|| ("openvz".to_owned(), "/proc/vz is there, /proc/bc is not".to_owned()))
}

/// `11:memory:/docker/3f...`, `0::/kubepods.slice/...`: of process 1, for that of this process may
/// be in a container's group by another's doing.
fn by_cgroup(root: &dyn Root) -> Option<Found> {
    let groups = text(root, "/proc/1/cgroup").ok()?;
    let marks = [
        ("kubepods", "kubernetes"),
        ("/docker/", "docker"),
        ("/docker-", "docker"),
        ("/libpod-", "podman"),
        ("/lxc/", "lxc"),
        ("/lxc.payload", "lxc"),
        ("/garden/", "garden"),
    ];
    let (line, name) = groups.lines().find_map(|line| {
        let (_, name) = marks.into_iter().find(|(mark, _)| line.contains(mark))?;
        Some((line, name))
    })?;
    Some((name.to_owned(), format!("/proc/1/cgroup: {}", cut(line))))
}

/// A root that is an overlay out of an engine's store:
/// `700 600 0:60 / / rw - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/l/...`.
fn by_mount(root: &dyn Root) -> Option<Found> {
    let mounts = text(root, "/proc/self/mountinfo").ok()?;
    let line = mounts.lines().find(|line| line.split(' ').nth(4) == Some("/"))?;
    let (_, kind) = line.split_once(" - ")?;
    let marks = [
        ("/docker/", "docker"),
        ("containers/storage", "podman"),
        ("containerd", "containerd"),
        ("/lxc/", "lxc"),
        ("/kubelet/", "kubernetes"),
    ];
    let (_, name) =
        marks.into_iter().find(|(mark, _)| kind.starts_with("overlay ") && kind.contains(mark))?;
    Some((name.to_owned(), format!("/proc/self/mountinfo: {}", cut(kind))))
}

/// `bash (4711, #threads: 1)`: kernels before 4.15 or so show process 1's number outside.
fn by_first_process(root: &dyn Root) -> Option<Found> {
    let sched = text(root, "/proc/1/sched").ok()?;
    let line = sched.lines().next()?;
    let (_, rest) = line.rsplit_once('(')?;
    let number: u32 = rest.split(',').next()?.parse().ok()?;
    (number != 1).then(|| ("container-other".to_owned(), format!("/proc/1/sched: {}", cut(line))))
}

fn cut(line: &str) -> String {
    line.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use root::MemoryRoot;

    #[test]
    fn each_container_by_its_sign() {
        let overlay = "700 600 0:60 / / rw,relatime - overlay overlay rw,lowerdir=";
        let docker = format!("{overlay}/var/lib/docker/overlay2/l/A\n");
        let live_image = format!("{overlay}/run/rootfsbase\n");
        for (path, text, expected) in [
            ("/proc/1/environ", "HOME=/\0container=lxc\0", "lxc"),
            ("/proc/1/environ", "container=\x1b[31m\0", "none"),
            ("/run/systemd/container", "systemd-nspawn\n", "systemd-nspawn"),
            ("/.dockerenv", "", "docker"),
            ("/run/.containerenv", "", "podman"),
            ("/run/secrets/kubernetes.io/serviceaccount/namespace", "x", "kubernetes"),
            ("/proc/1/cgroup", "0::/kubepods.slice/kubepods-burstable.slice\n", "kubernetes"),
            ("/proc/1/cgroup", "11:memory:/docker/3f2a\n", "docker"),
            ("/proc/1/cgroup", "0::/init.scope\n", "none"),
            ("/proc/self/mountinfo", &docker, "docker"),
            ("/proc/self/mountinfo", &live_image, "none"),
            ("/proc/1/sched", "bash (4711, #threads: 1)\n----\n", "container-other"),
            ("/proc/1/sched", "systemd (1, #threads: 1)\n", "none"),
            ("/proc/1/sched", "((sd-pam) (x\n", "none"),
            ("/proc/vz/version", "", "openvz"),
        ] {
            let mut root = MemoryRoot::new();
            root.file(path, text);
            let found = match read(&root) {
                Container::No => "none".to_owned(),
                Container::Yes { name, .. } => name,
            };
            assert_eq!(found, expected, "{path} {text:?}");
        }
    }
}
