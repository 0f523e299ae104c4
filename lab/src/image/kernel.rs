// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel that a guest's firmware would decompress: done once, here.
//!
//! Under TCG the decompression of Debian's kernels takes five seconds of each boot.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::{Kernel, packages};
use crate::error::{At, Error, Result};

/// Unpacks the kernel's package into a folder and gives that folder.
pub(super) fn unpack(kernel: Kernel, packages: &[PathBuf], work: &Path) -> Result<PathBuf> {
    // Example: linux-image-6.12.117+deb12-amd64_6.12.117-1~deb12u1_amd64.deb
    let start = format!("linux-image-{kernel}.");
    let package = packages.iter().find(|file| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.strip_prefix(&start).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    });
    let Some(package) = package else {
        let message = format!("no {start}* among the packages; the lab needs Debian 12's");
        return Err(Error::Package { file: work.to_owned(), message });
    };
    let tree = work.join(format!("kernel-{kernel}"));
    std::fs::create_dir_all(&tree).at(&tree)?;
    packages::unpack(package, &tree)?;
    Ok(tree)
}

/// Writes the ELF file that is packed in the tree's `boot/vmlinuz-*`.
pub(super) fn extract(tree: &Path, to: &Path) -> Result<()> {
    let boot = tree.join("boot");
    let mut files = std::fs::read_dir(&boot).at(&boot)?.flatten().map(|entry| entry.path());
    let packed = files.find(|file| {
        file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinuz-"))
    });
    let packed = packed.unwrap_or_else(|| boot.join("vmlinuz"));
    let image = std::fs::read(&packed).at(&packed)?;
    let refuse = |message: &str| Error::Package { file: packed.clone(), message: message.into() };
    let payload = payload(&image).ok_or_else(|| refuse("no payload in the boot header"))?;
    let mut reader = decoder(payload).at(&packed)?;
    let mut elf = Vec::new();
    reader.read_to_end(&mut elf).at(&packed)?;
    if !elf.starts_with(b"\x7fELF") {
        return Err(refuse("the payload is no ELF file"));
    }
    io::copy(&mut elf.as_slice(), &mut File::create(to).at(to)?).at(to)?;
    Ok(())
}

/// The compressed kernel in a bzImage: sectors of set-up code at 0x1f1 (0 means 4), then offset and
/// length of the payload from their end at 0x248 and 0x24c (Documentation/arch/x86/boot.rst).
fn payload(image: &[u8]) -> Option<&[u8]> {
    const SECTOR: usize = 512;
    if image.get(0x202..0x206)? != b"HdrS" {
        return None;
    }
    let sectors = match image.get(0x1f1)? {
        0 => 4,
        sectors => usize::from(*sectors),
    };
    let word = |at: usize| {
        let bytes = image.get(at..at + 4)?.try_into().ok()?;
        usize::try_from(u32::from_le_bytes(bytes)).ok()
    };
    let start = (sectors + 1) * SECTOR + word(0x248)?;
    image.get(start..start.checked_add(word(0x24c)?)?)
}

/// A reader for what the kernel's own decompressor reads; four bytes of size follow its stream.
fn decoder(payload: &[u8]) -> io::Result<Box<dyn Read + '_>> {
    match payload {
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => {
            Ok(Box::new(liblzma::read::XzDecoder::new(payload)))
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            Ok(Box::new(zstd::Decoder::with_buffer(payload)?.single_frame()))
        }
        [0x1f, 0x8b, ..] => Ok(Box::new(flate2::read::GzDecoder::new(payload))),
        _ => Err(io::Error::new(io::ErrorKind::Unsupported, "compressed in an unknown way")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_payload_is_where_the_boot_header_says() {
        let mut image = vec![0; 2048];
        image[0x1f1] = 1;
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x248] = 16;
        image[0x24c] = 6;
        image[1040..1046].copy_from_slice(b"kernel");
        assert_eq!(payload(&image), Some(&b"kernel"[..]));
        image[0x24e] = 0xff;
        assert_eq!(payload(&image), None, "longer than the file");
        assert_eq!(payload(b"HdrS"), None);
    }
}
