// SPDX-License-Identifier: MIT OR Apache-2.0
//! What came of a change.

use serde::{Deserialize, Serialize};

/// What came of a write, by what was read back.
///
/// A write that the kernel accepts is not yet a change: values are rounded, cut to what the
/// hardware has, or dropped without a word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "class")]
pub enum Outcome {
    /// It was so before; nothing was written.
    Equal,
    /// Read back as wanted.
    Applied,
    /// Accepted, and another value came: the kernel rounds it or cuts it.
    Rounded {
        /// What came.
        came: String,
    },
    /// Accepted, and the old value is still there.
    Dropped,
    /// The kernel places this interrupt by itself (EIO, EPERM, or no write bit).
    Managed,
    /// There is no such thing here: no file, no such feature, not supported.
    Unsupported {
        /// The kernel's word: `ENOENT`, `EOPNOTSUPP`.
        errno: String,
    },
    /// Something else holds it: another governor, traffic, a claimed device.
    Busy {
        /// The kernel's word.
        errno: String,
    },
    /// Not allowed to this process.
    Denied {
        /// The kernel's word.
        errno: String,
    },
    /// The kernel refused the value.
    Refused {
        /// The kernel's word: `EINVAL`, `ERANGE`, `EOVERFLOW`, `ENOSPC`, `EIO`.
        errno: String,
    },
    /// The device is gone.
    Lost,
}

impl Outcome {
    /// Whether the plan may go on: the value is there, or cannot be there on this machine.
    pub fn is_well(&self) -> bool {
        matches!(self, Self::Equal | Self::Applied | Self::Rounded { .. } | Self::Managed)
    }
}

/// What came of undoing a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "class")]
pub enum Undone {
    /// It never was written, or is as before already.
    Nothing,
    /// The bytes from before are back.
    Restored,
    /// Somebody else changed it since: their value was kept.
    Kept {
        /// Their value.
        found: String,
    },
    /// A newer change of ours builds on it; that one goes back to the older value now.
    Inherited,
    /// A reboot has reset it.
    Reset,
    /// The device is gone; it is undone when it returns.
    Missing,
    /// It belongs to another network namespace than this process: it is undone from there.
    Elsewhere,
    /// The kernel refused, and a person must look.
    Failed {
        /// Why.
        why: String,
    },
}
