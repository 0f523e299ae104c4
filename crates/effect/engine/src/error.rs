// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a run did not start.

use std::io;
use std::path::PathBuf;

/// Why a run did not start. Nothing was read or written then.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A workload that nothing could carry out.
    #[error(transparent)]
    Workload(#[from] record::WorkloadError),
    /// A target that is not to be written.
    #[error(transparent)]
    Refused(#[from] crate::guard::Refused),
    /// A target that cannot be opened.
    #[error("cannot open {}: {source}", .path.display())]
    Open {
        /// It.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// A target that the workload does not fit.
    #[error("{}: {what}", .path.display())]
    Target {
        /// It.
        path: PathBuf,
        /// Why not.
        what: String,
    },
    /// The machine has not what it takes.
    #[error("{what}: {source}")]
    Machine {
        /// What was tried.
        what: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// Somebody asked it to end before it began.
    #[error("it was stopped before it began")]
    Stopped,
    /// Something was asked that this engine, or this kernel, does not do.
    #[error("{what}: {why}")]
    Unsupported {
        /// What.
        what: String,
        /// Why.
        why: String,
    },
}

/// The kernel's word for an errno: `EIO`; the number where it has none here.
pub(crate) fn errno_word(errno: i32) -> String {
    let known = [
        (libc::EPERM, "EPERM"),
        (libc::ENOENT, "ENOENT"),
        (libc::EINTR, "EINTR"),
        (libc::EIO, "EIO"),
        (libc::ENXIO, "ENXIO"),
        (libc::EBADF, "EBADF"),
        (libc::EAGAIN, "EAGAIN"),
        (libc::ENOMEM, "ENOMEM"),
        (libc::EACCES, "EACCES"),
        (libc::EFAULT, "EFAULT"),
        (libc::EBUSY, "EBUSY"),
        (libc::ENODEV, "ENODEV"),
        (libc::EINVAL, "EINVAL"),
        (libc::EFBIG, "EFBIG"),
        (libc::ENOSPC, "ENOSPC"),
        (libc::EROFS, "EROFS"),
        (libc::ENOSYS, "ENOSYS"),
        (libc::ENODATA, "ENODATA"),
        (libc::ETIME, "ETIME"),
        (libc::ENOLINK, "ENOLINK"),
        (libc::EREMOTEIO, "EREMOTEIO"),
        (libc::EILSEQ, "EILSEQ"),
        (libc::EOPNOTSUPP, "EOPNOTSUPP"),
        (libc::ETIMEDOUT, "ETIMEDOUT"),
        (libc::ECANCELED, "ECANCELED"),
    ];
    let word = known.into_iter().find(|(number, _)| *number == errno);
    word.map_or_else(|| format!("errno {errno}"), |(_, word)| word.to_owned())
}

/// The kernel's word for an error.
pub(crate) fn word(error: &io::Error) -> String {
    error.raw_os_error().map_or_else(|| error.to_string(), errno_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_the_kernels_words() {
        assert_eq!(errno_word(libc::EIO), "EIO");
        assert_eq!(word(&io::Error::from_raw_os_error(libc::ENOSPC)), "ENOSPC");
        assert_eq!(errno_word(4000), "errno 4000");
    }
}
