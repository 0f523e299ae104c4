// SPDX-License-Identifier: MIT OR Apache-2.0
//! Niceness and I/O priority.

use std::str::FromStr;

use crate::{Error, kernel};

/// A class of the I/O scheduler and a level in it, as ionice names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoPriority {
    /// Before all others; levels 0 (first) to 7. Takes CAP_SYS_ADMIN or CAP_SYS_NICE.
    Realtime(u8),
    /// The ordinary class; levels 0 (first) to 7.
    BestEffort(u8),
    /// Only when nobody else asks.
    Idle,
}

impl IoPriority {
    /// The number of the system call: the class above bit 13 (include/uapi/linux/ioprio.h).
    fn value(self) -> u32 {
        let (class, level) = match self {
            Self::Realtime(level) => (1, level),
            Self::BestEffort(level) => (2, level),
            Self::Idle => (3, 0),
        };
        class << 13 | u32::from(level)
    }
}

impl FromStr for IoPriority {
    type Err = &'static str;

    /// `idle`, `best-effort:0`, `realtime:4`; a class alone has level 4.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WANTED: &str = "it is idle, best-effort[:0-7] or realtime[:0-7]";
        let (class, level) = text.split_once(':').map_or((text, None), |(a, b)| (a, Some(b)));
        let number = level.map_or(Some(4), |level| level.parse().ok().filter(|level| *level < 8));
        match (class, number, level) {
            ("realtime", Some(number), _) => Ok(Self::Realtime(number)),
            ("best-effort", Some(number), _) => Ok(Self::BestEffort(number)),
            ("idle", _, None) => Ok(Self::Idle),
            _ => Err(WANTED),
        }
    }
}

/// Sets what is asked.
pub(crate) fn set(nice: Option<i32>, io: Option<IoPriority>) -> Result<(), Error> {
    if let Some(more) = nice {
        let what = "niceness";
        let failed = |errno: rustix::io::Errno| Error::Priority { what, source: errno.into() };
        let now = rustix::process::getpriority_process(None).map_err(failed)?;
        let wanted = now.saturating_add(more).clamp(-20, 19);
        rustix::process::setpriority_process(None, wanted).map_err(failed)?;
    }
    if let Some(io) = io {
        let what = "I/O priority";
        kernel::set_io_priority(io.value()).map_err(|source| Error::Priority { what, source })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_are_read_as_ionice_names_them() {
        let cases = [
            ("idle", Ok(IoPriority::Idle)),
            ("best-effort", Ok(IoPriority::BestEffort(4))),
            ("best-effort:0", Ok(IoPriority::BestEffort(0))),
            ("realtime:7", Ok(IoPriority::Realtime(7))),
        ];
        for (text, wanted) in cases {
            assert_eq!(text.parse(), wanted, "{text}");
        }
        for text in ["", "idle:0", "best-effort:8", "best-effort:", "realtime:-1", "fast"] {
            assert!(text.parse::<IoPriority>().is_err(), "{text}");
        }
        assert_eq!(IoPriority::BestEffort(3).value(), 0x4003);
    }
}
