// SPDX-License-Identifier: MIT OR Apache-2.0
//! The packages that images are made of, downloaded by the host's apt.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{At, Error, Result};
use crate::process;

/// The kernels, what a guest needs to start, and the tools that its checks compare with.
pub(super) const LIST: [&str; 24] = [
    "linux-image-amd64",
    "linux-image-6.12-amd64",
    "bash",
    "busybox-static",
    "coreutils",
    "dash",
    "ethtool",
    "fio",
    "hwloc-nox",
    "iproute2",
    "iputils-ping",
    "irqbalance",
    "kmod",
    "mdadm",
    "numactl",
    "nvme-cli",
    "pciutils",
    "procps",
    "smartmontools",
    "strace",
    "tuna",
    "tuned",
    "util-linux",
    "zstd",
];

/// Downloads the packages and all that they depend on; nothing of the host's own state changes.
pub(super) fn download(work: &Path) -> Result<Vec<PathBuf>> {
    let archives = work.join("packages");
    std::fs::create_dir_all(archives.join("partial")).at(&archives)?;
    // No package is installed where the status file is empty, so that apt fetches them all.
    let status = work.join("status");
    std::fs::write(&status, "").at(&status)?;
    if fetch(&archives, &status).is_err() {
        process::output(Command::new("apt-get").arg("update"))?;
        fetch(&archives, &status)?;
    }
    let files = std::fs::read_dir(&archives).at(&archives)?.flatten().map(|entry| entry.path());
    let mut files: Vec<_> = files.filter(|f| f.extension().is_some_and(|e| e == "deb")).collect();
    files.sort();
    Ok(files)
}

fn fetch(archives: &Path, status: &Path) -> Result<String> {
    let mut apt = Command::new("apt-get");
    apt.args(["--yes", "--download-only", "--no-install-recommends"]);
    apt.args(["-o", "Debug::NoLocking=1", "-o", "Dir::Cache::pkgcache="]);
    apt.args(["-o", "Dir::Cache::srcpkgcache="]);
    apt.arg("-o").arg(format!("Dir::Cache::archives={}", archives.display()));
    apt.arg("-o").arg(format!("Dir::State::status={}", status.display()));
    apt.arg("install").args(LIST);
    process::output(&mut apt)
}

/// Unpacks a package into a folder whose own links to folders stay.
pub(super) fn unpack(package: &Path, into: &Path) -> Result<()> {
    let mut open = Command::new("dpkg-deb");
    open.arg("--fsys-tarfile").arg(package).stdout(std::process::Stdio::piped());
    let mut open = open.spawn().at("dpkg-deb")?;
    let stream = open.stdout.take().map_or_else(std::process::Stdio::null, Into::into);
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--keep-directory-symlink", "--no-same-owner", "--directory"]);
    let status = tar.arg(into).stdin(stream).status().at("tar")?;
    let opened = open.wait().at("dpkg-deb")?;
    if status.success() && opened.success() {
        return Ok(());
    }
    let message = "cannot be unpacked".to_owned();
    Err(Error::Package { file: package.to_owned(), message })
}
