// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel refuses, and what to do then.

use std::io;
use std::path::PathBuf;

use units::CpuSet;

/// Why a placement could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The affinity was refused.
    #[error("cannot bind to CPUs {cpus}: {source}")]
    Affinity {
        /// What was asked.
        cpus: CpuSet,
        /// What the kernel said.
        source: io::Error,
    },
    /// The affinity was taken in part.
    #[error("cannot bind to CPUs {cpus}: the kernel left {left}")]
    Narrowed {
        /// What was asked.
        cpus: CpuSet,
        /// What it took.
        left: CpuSet,
    },
    /// The memory policy was refused.
    #[error("cannot take memory of nodes {nodes}: {source}")]
    Memory {
        /// What was asked; empty for the node of the CPU.
        nodes: CpuSet,
        /// What the kernel said.
        source: io::Error,
    },
    /// The memory policy was taken in part.
    #[error("cannot take memory of nodes {nodes}: the kernel left {left}")]
    MemoryNarrowed {
        /// What was asked.
        nodes: CpuSet,
        /// What it took.
        left: CpuSet,
    },
    /// The niceness or the I/O priority was refused.
    #[error("cannot set the {what}: {source}")]
    Priority {
        /// `niceness` or `I/O priority`.
        what: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// A cgroup could not be used.
    #[error("cannot use the cgroup {}: {what}", .path.display())]
    Cgroup {
        /// The folder, or the file in it.
        path: PathBuf,
        /// Why.
        what: String,
    },
}

impl Error {
    /// What to do next.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Affinity { .. } | Self::Narrowed { .. } => {
                "the cpuset changed meanwhile, or seccomp forbids it; try again, or --print taskset"
            }
            Self::Memory { source, .. } if source.raw_os_error() == Some(libc::EPERM) => {
                "the container's seccomp profile forbids memory policies: docker run --cap-add \
                 SYS_NICE, or --cpuset-mems as `--print docker` says"
            }
            Self::Memory { source, .. } if source.raw_os_error() == Some(libc::EINVAL) => {
                "the cpuset forbids these nodes, or the kernel is older than 5.15 and prefers one \
                 node only; try --memory local"
            }
            Self::Memory { .. } | Self::MemoryNarrowed { .. } => {
                "take memory where the CPUs are: --memory local"
            }
            Self::Priority { .. } => {
                "raising a priority takes root or CAP_SYS_NICE (RLIMIT_NICE for niceness)"
            }
            Self::Cgroup { .. } => {
                "name a folder of a cgroup v2 whose parent hands cpuset on: echo +cpuset > \
                 PARENT/cgroup.subtree_control"
            }
        }
    }
}
