// SPDX-License-Identifier: MIT OR Apache-2.0
//! Questions whose answers are no files.

use serde::{Deserialize, Serialize};

/// A question to the kernel that no file answers. The answer is JSON; `live/` says its shape.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Question {
    /// CPUs this process may run on (sched_getaffinity): a CPU list.
    Affinity,
    /// Effective user id: a number.
    User,
    /// `uname`: `{sysname, release, version, machine}`.
    Uname,
    /// Interfaces that the machine or the person at it cannot do without: a map from an interface's
    /// name to a list of [`machine::Carries`].
    Carriers,
    /// Channels of an interface: [`machine::Channels`].
    Channels(String),
    /// Rings: [`machine::Rings`].
    Rings(String),
    /// Coalescing: [`machine::Coalescing`].
    Coalescing(String),
    /// Pause: `[rx, tx]`.
    Pause(String),
    /// Priorities with priority flow control on: a list of numbers, 0 to 7 (`dcb pfc`).
    Pfc(String),
    /// Features: a list of [`machine::Feature`].
    Features(String),
    /// How packets are spread over receive queues: [`machine::ReceiveSpread`].
    ReceiveSpread(String),
    /// Driver: `{driver, version, firmware, bus}`.
    Driver(String),
    /// NVMe identify-controller page of `/dev/NAME` as hexadecimal text of 4096 bytes.
    NvmeIdentify(String),
    /// NVMe SMART log page of `/dev/NAME` as hexadecimal text of 512 bytes.
    NvmeSmart(String),
    /// Number of the block device that a path leads to, through links of any kind, those below
    /// `/proc/PID/fd` included: `259:0`. Not supported for whatever is no block device.
    BlockDevice(String),
    /// NVMe get-feature 0x0c (APST) of `/dev/NAME`: a number whose bit 0 is "enabled".
    NvmeApst(String),
}
