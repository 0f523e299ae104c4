// SPDX-License-Identifier: MIT OR Apache-2.0
//! What of a machine can be written.

use machine::Fact;
use root::Root;
use rustix::io::Errno;
use setting::Ethtool;

/// What [`Kernel::set_ethtool`] takes for a receive spread that is the kernel's own again.
pub(crate) const OWN_SPREAD: &str = "default";

/// The write side of the door: a root that also takes orders. The live machine has it, and
/// `simulated::Simulated` for tests; a replayed machine has not.
///
/// Errors are the kernel's own numbers, since what they mean depends on the place.
pub trait Kernel: Root {
    /// Writes a file of the kernel in one call. Nothing is created.
    ///
    /// # Errors
    /// What the kernel answers; EIO for a write that it took in part only.
    fn write(&self, path: &str, bytes: &[u8]) -> Result<(), Errno>;

    /// Writes some bytes of a file of the kernel (configuration space).
    ///
    /// # Errors
    /// As [`Kernel::write`].
    fn write_at(&self, path: &str, offset: u64, bytes: &[u8]) -> Result<(), Errno>;

    /// Puts a file on disk in place of another at once and for good; none removes it.
    ///
    /// # Errors
    /// What the file system answers; the old file is still there then.
    fn replace(&self, path: &str, bytes: Option<&[u8]>) -> Result<(), Errno>;

    /// Removes what a [`Kernel::replace`] that was killed left beside a file, where there is any.
    fn sweep(&self, path: &str);

    /// What ethtool tells of a network device, in the words in which it is set: `rx=1024 tx=1024`.
    fn ethtool(&self, nic: &str, what: &Ethtool) -> Fact<String>;

    /// Sets what ethtool sets. Values that are not named stay. A receive spread is its whole table,
    /// or `default`; a table that is the kernel's own for the queues of now becomes the kernel's.
    ///
    /// # Errors
    /// What the driver answers; EOPNOTSUPP where it has no such thing.
    fn set_ethtool(&self, nic: &str, what: &Ethtool, values: &str) -> Result<(), Errno>;

    /// How many rules of flow steering a network device has (`ethtool -n`).
    fn flow_rules(&self, nic: &str) -> Fact<u32>;

    /// Whether a systemd unit is active.
    fn service(&self, unit: &str) -> Fact<bool>;

    /// Starts, stops or restarts a systemd unit.
    ///
    /// # Errors
    /// EOPNOTSUPP without systemd; ENOENT where it knows no such unit.
    fn set_service(&self, unit: &str, order: ServiceOrder) -> Result<(), Errno>;

    /// Keeps a bound on the latency of idle states (us), by a process that holds
    /// `/dev/cpu_dma_latency` open; none lets it go.
    ///
    /// # Errors
    /// ENOENT where the kernel has no such device.
    fn set_idle_latency(&self, bound_us: Option<u32>) -> Result<(), Errno>;
}

/// What to do with a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceOrder {
    /// Start it.
    Start,
    /// Stop it.
    Stop,
    /// Start it anew where it runs, so that it reads its files.
    Restart,
}
