// SPDX-License-Identifier: MIT OR Apache-2.0
//! The guest's root file system: packages unpacked, busybox for what they lack.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::packages;
use crate::error::{At, Result};
use crate::process;

/// Debian's folders that are links since 12.
const MERGED: [&str; 4] = ["bin", "sbin", "lib", "lib64"];
const FOLDERS: [&str; 12] = [
    "dev",
    "proc",
    "sys",
    "run",
    "tmp",
    "root",
    "mnt",
    "share",
    "var/lib/nearside",
    "var/log/tuned",
    "etc",
    "lab",
];
/// What no guest reads.
const UNREAD: [&str; 4] = ["usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info"];

pub(super) const FILES: [(&str, &str); 4] = [
    (
        "etc/passwd",
        // All but root and nobody are there for the bus that tuned is asked over.
        "root:x:0:0:root:/root:/bin/sh\nmessagebus:x:100:100::/:/bin/false\n\
         polkitd:x:101:101::/:/bin/false\nsystemd-network:x:102:102::/:/bin/false\n\
         nobody:x:65534:65534::/:/bin/false\n",
    ),
    ("etc/group", "root:x:0:\nmessagebus:x:100:\nnogroup:x:65534:\n"),
    ("etc/hosts", "127.0.0.1 localhost lab\n"),
    ("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
];

/// Unpacks the packages, but for the kernels, into a folder of its own.
pub(super) fn unpack(packages: &[PathBuf], work: &Path) -> Result<PathBuf> {
    let root = work.join("root");
    for link in MERGED {
        let real = root.join("usr").join(link);
        std::fs::create_dir_all(&real).at(&real)?;
        symlink(format!("usr/{link}"), root.join(link)).at(&real)?;
    }
    for folder in FOLDERS.map(|folder| root.join(folder)) {
        std::fs::create_dir_all(&folder).at(&folder)?;
    }
    let kernel = |file: &Path| file.to_string_lossy().contains("/linux-image-");
    for package in packages.iter().filter(|file| !kernel(file)) {
        packages::unpack(package, &root)?;
    }
    for folder in UNREAD.map(|folder| root.join(folder)) {
        std::fs::remove_dir_all(&folder).at(&folder)?;
    }
    for (file, content) in FILES {
        std::fs::write(root.join(file), content).at(file)?;
    }
    process::output(Command::new("ldconfig").arg("-r").arg(&root))?;
    // Busybox's own shell would run its commands instead of the packages'.
    let shell = root.join("usr/bin/sh");
    if shell.symlink_metadata().is_err() {
        symlink("dash", &shell).at(&shell)?;
    }
    busybox(&root)?;
    Ok(root)
}

/// A link to busybox for each of its commands that no package brought.
fn busybox(root: &Path) -> Result<()> {
    let commands = process::output(Command::new(root.join("usr/bin/busybox")).arg("--list"))?;
    for command in commands.lines() {
        let link = root.join("usr/bin").join(command);
        let there = |path: &Path| path.symlink_metadata().is_ok();
        if !there(&link) && !there(&root.join("usr/sbin").join(command)) {
            symlink("busybox", &link).at(&link)?;
        }
    }
    Ok(())
}

/// Writes a folder as an ext4 image.
pub(super) fn image(root: &Path, to: &Path) -> Result<()> {
    let mut make = Command::new("mke2fs");
    make.args(["-q", "-F", "-t", "ext4", "-O", "^has_journal", "-L", "lab", "-d"]);
    process::output(make.arg(root).arg(to).arg("1500M")).map(drop)
}
