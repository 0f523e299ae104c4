// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a thread needs of a way to the devices, whichever it is.

use std::io;
use std::time::Duration;

use record::Kind;

use crate::draw::Operation;
use crate::region::Region;

/// An operation that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) slot: usize,
    /// Bytes moved, or a negative errno.
    pub(crate) result: i32,
    /// Status code type and code of an NVMe command that failed; else 0.
    pub(crate) status: u16,
}

/// Operations go in, and come out when they have ended. At most as many are in flight as the region
/// has slots.
pub(crate) trait Queue {
    /// Takes an operation into a slot that is not in flight. It may start at once or at the next
    /// [`Self::turn`].
    ///
    /// # Errors
    /// It could not even be asked for.
    fn push(&mut self, operation: &Operation, slot: usize) -> io::Result<()>;

    /// Starts what was taken, and waits until `want` have ended, or `at_most` has passed.
    ///
    /// # Errors
    /// The way itself has failed, not an operation.
    fn turn(&mut self, want: usize, at_most: Option<Duration>) -> io::Result<()>;

    /// One that has ended.
    fn next(&mut self) -> Option<Done>;

    /// The memory that operations move.
    fn region(&mut self) -> &mut Region;

    /// Whether an operation of a kind is carried out within [`Self::push`].
    fn is_immediate(&self, kind: Kind) -> bool;

    /// How many can be in flight at all: 1 for a way that waits for each.
    fn depth(&self) -> usize;
}
