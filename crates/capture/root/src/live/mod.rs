// SPDX-License-Identifier: MIT OR Apache-2.0
//! Answers of the live kernel that are no files.
//!
//! All `unsafe` of this crate is below this module: two ioctls whose buffers are made here. What
//! netlink can tell is asked by netlink, which needs none. Names are checked before they reach the
//! kernel, answers before they are believed.

mod carriers;
mod dcb;
mod ethtool;
#[expect(unsafe_code, reason = "SIOCETHTOOL takes a pointer to a buffer of ours")]
mod ioctl;
mod netlink;
#[expect(unsafe_code, reason = "NVME_IOCTL_ADMIN_CMD takes a pointer to a buffer of ours")]
mod nvme;
mod set;
mod words;

use machine::{Fact, Why};
use rustix::io::Errno;
use serde::Serialize;
use units::{Cpu, CpuSet};

pub use self::set::EthtoolValues;
use crate::Question;

/// The live answer, as JSON.
pub(crate) fn answer(question: &Question) -> Fact<String> {
    match question {
        Question::Affinity => json(&affinity()?),
        Question::User => json(&rustix::process::geteuid().as_raw()),
        Question::Uname => json(&uname()),
        Question::Carriers => json(&carriers::carriers()),
        Question::Channels(name) => json(&ethtool::channels(name)?),
        Question::Rings(name) => json(&ethtool::rings(name)?),
        Question::Coalescing(name) => json(&ethtool::coalescing(name)?),
        Question::Pause(name) => json(&ethtool::pause(name)?),
        Question::Features(name) => json(&ethtool::features(name)?),
        Question::ReceiveSpread(name) => json(&ethtool::receive_spread(name)?),
        Question::Driver(name) => json(&ioctl::driver(name)?),
        Question::Pfc(name) => json(&dcb::pfc(name)?),
        Question::BlockDevice(path) => json(&block_device(path)?),
        Question::NvmeIdentify(name) => json(&hexadecimal(&nvme::identify(name)?)),
        Question::NvmeSmart(name) => json(&hexadecimal(&nvme::smart(name)?)),
        Question::NvmeApst(name) => json(&nvme::apst(name)?),
    }
}

/// Any bytes as an answer of netlink, through every parser of one.
pub(crate) fn parse_all(bytes: &[u8]) {
    let answer = netlink::find(bytes).and_then(Result::ok).unwrap_or(bytes);
    for start in [0, 4] {
        let attributes = netlink::Attributes(answer.get(start..).unwrap_or_default());
        ethtool::parse_all(attributes);
        let _ = dcb::parse(attributes);
    }
}

fn json(answer: &impl Serialize) -> Fact<String> {
    serde_json::to_string(answer).map_err(|error| Why::Failed(error.to_string()))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[derive(Serialize)]
struct Uname {
    sysname: String,
    release: String,
    version: String,
    machine: String,
}

fn uname() -> Uname {
    let uname = rustix::system::uname();
    let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    Uname {
        sysname: text(uname.sysname()),
        release: text(uname.release()),
        version: text(uname.version()),
        machine: text(uname.machine()),
    }
}

/// CPUs this thread may run on. The fixed set of the system call ends at CPU 1023; a kernel with
/// more answers EINVAL, and its status file tells the same.
fn affinity() -> Fact<CpuSet> {
    match rustix::thread::sched_getaffinity(None) {
        Ok(set) => {
            let cpus = (0_u32..).zip(0..rustix::thread::CpuSet::MAX_CPU);
            Ok(cpus.filter(|(_, index)| set.is_set(*index)).map(|(cpu, _)| Cpu(cpu)).collect())
        }
        Err(Errno::INVAL) => affinity_of_status(),
        Err(errno) => Err(why(errno)),
    }
}

/// The number of a block device. Opening it would be a use of it; looking at it is none. What is
/// cached will do: a server of files that is gone must not be waited for.
fn block_device(path: &str) -> Fact<String> {
    use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, major, minor, stat, statx};
    let asked = statx(CWD, path, AtFlags::STATX_DONT_SYNC, StatxFlags::TYPE);
    let (mode, number) = match asked {
        Ok(there) => {
            let number = format!("{}:{}", there.stx_rdev_major, there.stx_rdev_minor);
            (there.stx_mode.into(), number)
        }
        // Before Linux 4.11, or forbidden to a container.
        Err(Errno::NOSYS | Errno::PERM) => {
            let there = stat(path).map_err(why)?;
            (there.st_mode, format!("{}:{}", major(there.st_rdev), minor(there.st_rdev)))
        }
        // A process that has ended, or a path through what is no folder.
        Err(Errno::SRCH | Errno::NOTDIR) => return Err(Why::Absent),
        Err(errno) => return Err(why(errno)),
    };
    match FileType::from_raw_mode(mode) {
        FileType::BlockDevice => Ok(number),
        _ => Err(Why::NotSupported),
    }
}

fn affinity_of_status() -> Fact<CpuSet> {
    let status = std::fs::read_to_string("/proc/thread-self/status")
        .map_err(|error| Why::Failed(error.to_string()))?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.and_then(|list| CpuSet::from_list(list).ok()).ok_or(Why::Absent)
}

/// The reason that an error number is.
fn why(errno: Errno) -> Why {
    match errno {
        Errno::NODEV | Errno::NOENT | Errno::NXIO => Why::Absent,
        Errno::ACCESS | Errno::PERM => Why::Denied,
        Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS | Errno::NOTTY => Why::NotSupported,
        other => Why::Failed(other.to_string()),
    }
}

/// A name that the kernel can have given an interface: 1 to 15 bytes, no slash, no space.
fn interface(name: &str) -> Fact<&str> {
    let fits = (1..16).contains(&name.len());
    let is_plain =
        !name.bytes().any(|byte| byte == b'/' || byte == 0 || byte.is_ascii_whitespace());
    if fits && is_plain { Ok(name) } else { Err(Why::Absent) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_answers_of_this_process() {
        let affinity: String = serde_json::from_str(&answer(&Question::Affinity).unwrap()).unwrap();
        let status = affinity_of_status().unwrap();
        assert_eq!(affinity, status.to_string());
        let user: u32 = serde_json::from_str(&answer(&Question::User).unwrap()).unwrap();
        assert_eq!(user, rustix::process::geteuid().as_raw());
        let uname: serde_json::Value =
            serde_json::from_str(&answer(&Question::Uname).unwrap()).unwrap();
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        assert_eq!(uname["release"], release.trim());
        assert_eq!(uname["sysname"], "Linux");
    }

    #[test]
    fn names_that_no_device_can_have_are_absent() {
        for name in ["", "0123456789abcdef", "a/b", "a b", "a\0b"] {
            assert_eq!(answer(&Question::Channels(name.to_owned())), Err(Why::Absent), "{name:?}");
            assert_eq!(answer(&Question::Driver(name.to_owned())), Err(Why::Absent), "{name:?}");
        }
        for name in ["", "sda", "nvme", "nvme0n1", "nvme0/../sda", "../mem"] {
            let identify = Question::NvmeIdentify(name.to_owned());
            assert_eq!(answer(&identify), Err(Why::Absent), "{name:?}");
        }
    }
}
