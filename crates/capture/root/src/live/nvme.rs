// SPDX-License-Identifier: MIT OR Apache-2.0
//! Three NVMe admin commands that only read: identify, SMART log, autonomous power states.
//!
//! Opcodes and layouts are those of the NVM Express Base Specification; the ioctl is that of
//! include/uapi/linux/nvme_ioctl.h.

use std::ffi::c_void;
use std::os::fd::OwnedFd;

use machine::{Fact, Why};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, ioctl};

use super::why;

/// `NVME_IOCTL_ADMIN_CMD`: `_IOWR('N', 0x41, struct nvme_admin_cmd)`, 72 bytes.
const ADMIN_COMMAND: Opcode = 0xc048_4e41;
const IDENTIFY: u8 = 0x06;
const GET_LOG_PAGE: u8 = 0x02;
const GET_FEATURES: u8 = 0x0a;
/// Identify what: the controller.
const CONTROLLER: u32 = 1;
const SMART: u32 = 0x02;
const AUTONOMOUS_POWER: u32 = 0x0c;
const ALL_NAMESPACES: u32 = 0xffff_ffff;
/// A controller that does not answer in this time is busy or broken.
const TIMEOUT_MS: u32 = 5_000;

/// `struct nvme_admin_cmd`.
#[repr(C)]
#[derive(Debug, Default)]
struct Command {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    words2: [u32; 2],
    metadata: u64,
    address: u64,
    metadata_length: u32,
    length: u32,
    word10: u32,
    words11: [u32; 5],
    timeout_ms: u32,
    result: u32,
}

/// The 4096 bytes of the identify-controller structure.
pub(super) fn identify(name: &str) -> Fact<Vec<u8>> {
    let mut page = vec![0; 4096];
    let command = Command { opcode: IDENTIFY, word10: CONTROLLER, ..Command::default() };
    run(&open(name)?, command, &mut page)?;
    Ok(page)
}

/// The 512 bytes of the SMART log.
pub(super) fn smart(name: &str) -> Fact<Vec<u8>> {
    let mut page = vec![0; 512];
    // Bits 31:16 hold the number of 32-bit words, less one.
    let word10 = SMART | (512 / 4 - 1) << 16;
    let command =
        Command { opcode: GET_LOG_PAGE, namespace: ALL_NAMESPACES, word10, ..Command::default() };
    run(&open(name)?, command, &mut page)?;
    Ok(page)
}

/// The value of the feature; its table of states comes with it and is not kept.
pub(super) fn apst(name: &str) -> Fact<u32> {
    let mut table = vec![0; 256];
    let command = Command { opcode: GET_FEATURES, word10: AUTONOMOUS_POWER, ..Command::default() };
    run(&open(name)?, command, &mut table)
}

/// Opens a controller's character device: `nvme0`, never a path.
fn open(name: &str) -> Fact<OwnedFd> {
    let digits = name.strip_prefix("nvme").unwrap_or_default();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Why::Absent);
    }
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let file = rustix::fs::open(format!("/dev/{name}"), flags, Mode::empty()).map_err(why)?;
    let stat = rustix::fs::fstat(&file).map_err(why)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::CharacterDevice => Ok(file),
        _ => Err(Why::Absent),
    }
}

/// Runs a command that fills `page`, and returns its result word.
fn run(file: &OwnedFd, command: Command, page: &mut [u8]) -> Fact<u32> {
    let length = u32::try_from(page.len()).unwrap_or(0);
    let address = page.as_mut_ptr() as u64;
    let mut command = Command { address, length, timeout_ms: TIMEOUT_MS, ..command };
    // SAFETY: `Admin` hands the kernel a `struct nvme_admin_cmd` of the right size, whose address
    // and length are those of `page`, borrowed mutably for the whole call. The opcodes above read
    // from the device into that buffer and change nothing on it.
    let status = unsafe { ioctl(file, Admin(&mut command)) }.map_err(why)?;
    match status {
        0 => Ok(command.result),
        // Generic status 1 and 2: no such command, no such field or feature (figure "Status Code –
        // Generic Command Status Values"). The bits above are "do not retry" and "more".
        status if matches!(status & 0x7ff, 0x01 | 0x02) => Err(Why::NotSupported),
        status => Err(Why::Failed(format!("NVMe status 0x{status:x}"))),
    }
}

/// The call, whose return value is the command's status.
struct Admin<'a>(&'a mut Command);

// SAFETY: the opcode belongs to the structure that the pointer leads to, which lives as long as
// the call, and the kernel writes to it (`IS_MUTATING`).
unsafe impl Ioctl for Admin<'_> {
    type Output = i32;

    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        ADMIN_COMMAND
    }

    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::from_mut(self.0).cast()
    }

    unsafe fn output_from_ptr(status: IoctlOutput, _: *mut c_void) -> rustix::io::Result<i32> {
        Ok(status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_the_layout_of_the_kernels() {
        assert_eq!(size_of::<Command>(), 72);
        assert_eq!(std::mem::offset_of!(Command, address), 24);
        assert_eq!(std::mem::offset_of!(Command, length), 36);
        assert_eq!(std::mem::offset_of!(Command, word10), 40);
        assert_eq!(std::mem::offset_of!(Command, result), 68);
    }
}
