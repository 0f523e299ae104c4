// SPDX-License-Identifier: MIT OR Apache-2.0
//! What guests boot from: two kernels, an initramfs each, one root file system, built once.
//!
//! Everything comes from Debian's packages through the host's own apt, which works out what depends
//! on what against an empty package list. The packages are unpacked, not installed: no script of
//! theirs runs, and root rights are not needed.

mod kernel;
mod modules;
mod packages;
mod root;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::error::{At, Error, Result};

/// A kernel that guests run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kernel {
    /// Debian 12's.
    V6_1,
    /// Debian 12's newer one, from the security archive.
    V6_12,
}

impl Kernel {
    /// Both.
    pub const ALL: [Self; 2] = [Self::V6_1, Self::V6_12];
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V6_1 => "6.1",
            Self::V6_12 => "6.12",
        })
    }
}

impl FromStr for Kernel {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let known = Self::ALL.into_iter().find(|kernel| kernel.to_string() == text);
        known.ok_or_else(|| format!("no kernel {text:?}; there are 6.1 and 6.12"))
    }
}

/// The folder of the images.
#[derive(Debug, Clone)]
pub struct Lab {
    folder: PathBuf,
}

/// What builds and runs guests, and the Debian package that has it.
const TOOLS: [(&str, &str); 5] = [
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("apt-get", "apt"),
    ("dpkg-deb", "dpkg"),
    ("depmod", "kmod"),
    ("mke2fs", "e2fsprogs"),
];

/// What was built: a change of any of it makes the images stale.
const STAMP: &str = "built";

impl Lab {
    /// The images that were built.
    ///
    /// # Errors
    /// They were not, or for an older list of packages, or a tool is missing.
    pub fn ready() -> Result<Self> {
        let lab = Self { folder: folder() };
        tools()?;
        let built = std::fs::read_to_string(lab.folder.join(STAMP)).unwrap_or_default();
        if built == recipe() { Ok(lab) } else { Err(Error::NotBuilt) }
    }

    /// The images, built where they are not.
    ///
    /// # Errors
    /// A tool is missing or fails, or a package cannot be had.
    pub fn build(mut progress: impl FnMut(&str)) -> Result<Self> {
        if let Ok(lab) = Self::ready() {
            return Ok(lab);
        }
        tools()?;
        let lab = Self { folder: folder() };
        std::fs::create_dir_all(&lab.folder).at(&lab.folder)?;
        let work = tempfile::tempdir_in(&lab.folder).at(&lab.folder)?;
        progress("packages: downloading");
        let packages = packages::download(work.path())?;
        progress("root file system: unpacking");
        let root = root::unpack(&packages, work.path())?;
        for kernel in Kernel::ALL {
            progress(&format!("kernel {kernel}: unpacking"));
            let tree = kernel::unpack(kernel, &packages, work.path())?;
            let home = lab.folder.join(kernel.to_string());
            std::fs::create_dir_all(&home).at(&home)?;
            kernel::extract(&tree, &lab.vmlinux(kernel))?;
            modules::install(&tree, &root, &lab.initramfs(kernel))?;
        }
        progress("root file system: image");
        root::image(&root, &lab.root())?;
        let stamp = lab.folder.join(STAMP);
        std::fs::write(&stamp, recipe()).at(&stamp)?;
        Ok(lab)
    }

    /// The uncompressed kernel: its PVH entry saves the guest the decompression.
    pub(crate) fn vmlinux(&self, kernel: Kernel) -> PathBuf {
        self.folder.join(kernel.to_string()).join("vmlinux")
    }

    /// Busybox and the modules that find the root file system.
    pub(crate) fn initramfs(&self, kernel: Kernel) -> PathBuf {
        self.folder.join(kernel.to_string()).join("initramfs.gz")
    }

    /// The root file system, never written to.
    pub(crate) fn root(&self) -> PathBuf {
        self.folder.join("root.img")
    }
}

/// Why guests cannot be run here; none where they can.
pub fn missing() -> Option<String> {
    Lab::ready().err().map(|error| error.to_string())
}

fn tools() -> Result<()> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let absent = |tool: &str| !folders.iter().any(|folder| folder.join(tool).is_file());
    match TOOLS.into_iter().find(|(tool, _)| absent(tool)) {
        Some((tool, package)) => Err(Error::NoTool { tool, package }),
        None => Ok(()),
    }
}

fn recipe() -> String {
    let files: String = root::FILES.iter().map(|(file, text)| format!("{file}\n{text}")).collect();
    let (packages, boot) = (packages::LIST.join(" "), modules::BOOT.join(" "));
    format!("{packages}\n{boot}\n{}\n{files}", modules::LIST)
}

/// `NEARSIDE_LAB_FOLDER`, or `target/lab`.
fn folder() -> PathBuf {
    let own = || top().join("target/lab");
    std::env::var_os("NEARSIDE_LAB_FOLDER").map_or_else(own, PathBuf::from)
}

/// The top folder of the checkout.
pub fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(PathBuf::new, Path::to_path_buf)
}
