// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of error numbers, as a person looks them up.

use rustix::io::Errno;

const NAMES: [(Errno, &str); 24] = [
    (Errno::PERM, "EPERM"),
    (Errno::NOENT, "ENOENT"),
    (Errno::IO, "EIO"),
    (Errno::NXIO, "ENXIO"),
    (Errno::TOOBIG, "E2BIG"),
    (Errno::AGAIN, "EAGAIN"),
    (Errno::NOMEM, "ENOMEM"),
    (Errno::ACCESS, "EACCES"),
    (Errno::BUSY, "EBUSY"),
    (Errno::NODEV, "ENODEV"),
    (Errno::NOTDIR, "ENOTDIR"),
    (Errno::ISDIR, "EISDIR"),
    (Errno::INVAL, "EINVAL"),
    (Errno::NOTTY, "ENOTTY"),
    (Errno::TXTBSY, "ETXTBSY"),
    (Errno::NOSPC, "ENOSPC"),
    (Errno::ROFS, "EROFS"),
    (Errno::RANGE, "ERANGE"),
    (Errno::NOSYS, "ENOSYS"),
    (Errno::OVERFLOW, "EOVERFLOW"),
    (Errno::OPNOTSUPP, "EOPNOTSUPP"),
    (Errno::TIMEDOUT, "ETIMEDOUT"),
    (Errno::NETDOWN, "ENETDOWN"),
    (Errno::INTR, "EINTR"),
];

/// `EINVAL`, or `errno 123` for one that no knob is known to answer.
pub(crate) fn name(errno: Errno) -> String {
    let known = NAMES.iter().find(|(known, _)| *known == errno);
    known.map_or_else(|| format!("errno {}", errno.raw_os_error()), |(_, name)| (*name).to_owned())
}
