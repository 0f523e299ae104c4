// SPDX-License-Identifier: MIT OR Apache-2.0
//! The modules that guests load, out of a kernel's thousands.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::cpio::Archive;
use crate::error::{At, Error, Result};
use crate::process;

/// What finds the root file system; ext4 asks for its checksum by a name that is no dependency.
pub(super) const BOOT: [&str; 4] = ["crc32c_generic", "virtio_pci", "virtio_blk", "ext4"];

/// What is in the root file system, beside those; a kernel that has none of a name does without.
pub(super) const LIST: &str = "\
    nvme nvmet nvme_tcp nvmet_tcp nvme_loop nvme_rdma nvmet_rdma rdma_rxe crc32_generic crc32_pclmul \
    virtio_net virtio_console virtio_rng 9p 9pnet_virtio e1000e vmxnet3 ahci sd_mod null_blk \
    acpi_cpufreq processor msr cpuid intel_rapl_msr raid0 raid1 dm_mod loop xfs configfs \
    bonding dummy 8021q veth tls sch_fq sch_netem act_police cls_flower \
    kyber_iosched bfq xfrm_user";

/// Copies the modules of an unpacked kernel into the root, and the first ones into an initramfs.
pub(super) fn install(tree: &Path, root: &Path, initramfs: &Path) -> Result<()> {
    let version = version(tree)?;
    depmod(tree, &version)?;
    let source = tree.join("lib/modules").join(&version);
    let list = source.join("modules.dep");
    let text = std::fs::read_to_string(&list).at(&list)?;
    let all = Dependencies::parse(&text);
    let home = root.join("usr/lib/modules").join(&version);
    std::fs::create_dir_all(&home).at(&home)?;
    for path in all.closure(BOOT.into_iter().chain(LIST.split_whitespace())) {
        copy(&source.join(path), &home.join(path))?;
    }
    for name in ["modules.order", "modules.builtin", "modules.builtin.modinfo"] {
        copy(&source.join(name), &home.join(name))?;
    }
    depmod(root, &version)?;
    let first: Vec<PathBuf> = all.closure(BOOT).iter().map(|path| source.join(path)).collect();
    write_initramfs(&first, &root.join("usr/bin/busybox"), initramfs)
}

fn version(tree: &Path) -> Result<String> {
    let folder = tree.join("lib/modules");
    let entry = std::fs::read_dir(&folder).at(&folder)?.flatten().next();
    let missing = || Error::Package { file: folder.clone(), message: "empty".to_owned() };
    Ok(entry.ok_or_else(missing)?.file_name().to_string_lossy().into_owned())
}

fn depmod(root: &Path, version: &str) -> Result<()> {
    process::output(Command::new("depmod").arg("-b").arg(root).arg(version)).map(drop)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder).at(folder)?;
    }
    std::fs::copy(from, to).at(from).map(drop)
}

/// Who needs whom, by module name; paths are relative to the kernel's folder.
struct Dependencies<'a>(BTreeMap<String, Vec<&'a str>>);

impl<'a> Dependencies<'a> {
    // Example: kernel/drivers/nvme/host/nvme.ko.xz: kernel/drivers/nvme/host/nvme-core.ko.xz
    fn parse(text: &'a str) -> Self {
        let line = |line: &'a str| {
            let (path, needs) = line.split_once(':')?;
            // What must be there first stands last (depmod(8)).
            let mut order: Vec<&str> = needs.split_whitespace().rev().collect();
            order.push(path);
            Some((name(path), order))
        };
        Self(text.lines().filter_map(line).collect())
    }

    /// The files of modules and of all that they need, in the order of loading.
    fn closure<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Vec<&'a str> {
        let mut seen = BTreeSet::new();
        let files = names.into_iter().filter_map(|name| self.0.get(name)).flatten();
        files.filter(|path| seen.insert(**path)).copied().collect()
    }
}

/// A module's name: the file's without its endings, with underscores.
fn name(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    file.split('.').next().unwrap_or(file).replace('-', "_")
}

/// Busybox and the first modules, numbered in the order of loading, uncompressed within: busybox's
/// `insmod` reads no xz.
fn write_initramfs(modules: &[PathBuf], busybox: &Path, to: &Path) -> Result<()> {
    let mut archive = Archive::new();
    for folder in ["bin", "dev", "proc", "sys", "modules", "root"] {
        archive.folder(folder);
    }
    archive.file("bin/busybox", 0o755, &std::fs::read(busybox).at(busybox)?);
    for (number, module) in modules.iter().enumerate() {
        let mut content = std::fs::read(module).at(module)?;
        if module.extension().is_some_and(|ending| ending == "xz") {
            let mut plain = Vec::new();
            let mut decoder = liblzma::read::XzDecoder::new(content.as_slice());
            std::io::Read::read_to_end(&mut decoder, &mut plain).at(module)?;
            content = plain;
        }
        archive.file(&format!("modules/{number:02}.ko"), 0o644, &content);
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&archive.finish()).at(to)?;
    std::fs::write(to, encoder.finish().at(to)?).at(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_comes_first_and_once() {
        let text = "kernel/fs/jbd2/jbd2.ko:\n\
                    kernel/lib/crc16.ko:\n\
                    kernel/fs/ext4/ext4.ko: kernel/fs/jbd2/jbd2.ko kernel/lib/crc16.ko\n\
                    kernel/drivers/block/virtio-blk.ko.xz: kernel/lib/crc16.ko\n";
        let all = Dependencies::parse(text);
        assert_eq!(
            all.closure(["ext4", "virtio_blk", "absent"]),
            [
                "kernel/lib/crc16.ko",
                "kernel/fs/jbd2/jbd2.ko",
                "kernel/fs/ext4/ext4.ko",
                "kernel/drivers/block/virtio-blk.ko.xz"
            ]
        );
    }
}
