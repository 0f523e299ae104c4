// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations counted, and what goes wrong at which.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use journal::{Medium, MemoryMedium};
use machine::{Fact, Why};
use rustix::io::Errno;

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The kernel refuses.
    Errno(Errno),
    /// The kernel takes a part.
    Short,
    /// The process dies: nothing happens, now and after.
    Cut,
}

#[derive(Debug, Default)]
struct Hands {
    count: usize,
    faults: Vec<(usize, Fault)>,
    reads: usize,
    read_faults: Vec<(usize, Errno)>,
    is_dead: bool,
}

/// Counts operations on kernel and journal together, from 0, and questions to the kernel beside them.
///
/// A process that dies at a question leaves what it leaves at the next operation; so questions have
/// a count of their own, and go wrong by errors alone.
#[derive(Debug, Clone, Default)]
pub struct Clock {
    hands: Arc<Mutex<Hands>>,
}

impl Clock {
    /// Something goes wrong at an operation.
    #[must_use]
    pub fn with(self, at: usize, fault: Fault) -> Self {
        self.lock(|hands| hands.faults.push((at, fault)));
        self
    }

    /// The kernel answers a question with an error.
    #[must_use]
    pub fn with_read(self, at: usize, errno: Errno) -> Self {
        self.lock(|hands| hands.read_faults.push((at, errno)));
        self
    }

    /// Questions so far.
    pub fn reads(&self) -> usize {
        self.lock(|hands| hands.reads)
    }

    /// Operations so far.
    pub fn count(&self) -> usize {
        self.lock(|hands| hands.count)
    }

    /// Whether the process is dead.
    pub fn is_dead(&self) -> bool {
        self.lock(|hands| hands.is_dead)
    }

    fn lock<T>(&self, with: impl FnOnce(&mut Hands) -> T) -> T {
        with(&mut self.hands.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// One more operation; what goes wrong with it.
    pub(super) fn tick(&self) -> Option<Fault> {
        self.lock(|hands| {
            let at = hands.count;
            hands.count += 1;
            if hands.is_dead {
                return Some(Fault::Cut);
            }
            let fault = hands.faults.iter().find(|(when, _)| *when == at).map(|(_, fault)| *fault);
            hands.is_dead = fault == Some(Fault::Cut);
            fault
        })
    }

    /// One more question; why it has no answer.
    pub(super) fn tick_read(&self) -> Fact<()> {
        let errno = self.lock(|hands| {
            let at = hands.reads;
            hands.reads += 1;
            hands.read_faults.iter().find(|(when, _)| *when == at).map(|(_, errno)| *errno)
        });
        match errno {
            None => Ok(()),
            Some(Errno::PERM | Errno::ACCESS) => Err(Why::Denied),
            Some(errno) => Err(Why::Failed(crate::errno::name(errno))),
        }
    }

    /// One more operation of which there is no half.
    pub(super) fn errno(&self) -> Result<(), Errno> {
        match self.tick() {
            None => Ok(()),
            Some(Fault::Errno(errno)) => Err(errno),
            Some(Fault::Short | Fault::Cut) => Err(Errno::IO),
        }
    }
}

/// A journal's medium that dies with the process, in the middle of a line.
#[derive(Debug, Clone)]
pub struct CuttingMedium {
    inner: MemoryMedium,
    clock: Clock,
}

impl CuttingMedium {
    /// Records go to `inner` as long as the clock lets them.
    pub fn new(inner: MemoryMedium, clock: Clock) -> Self {
        Self { inner, clock }
    }

    fn step(&self) -> io::Result<()> {
        self.clock.errno().map_err(io::Error::from)
    }
}

impl Medium for CuttingMedium {
    fn read(&mut self) -> io::Result<Vec<u8>> {
        self.inner.read()
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let was_dead = self.clock.is_dead();
        match self.clock.tick() {
            None => self.inner.append(bytes),
            Some(Fault::Cut) if !was_dead => {
                // It dies at each place of the line in turn, over many runs.
                let length = self.clock.count() * 37 % bytes.len().max(1);
                self.inner.append(bytes.get(..length).unwrap_or_default())?;
                Err(io::ErrorKind::Interrupted.into())
            }
            Some(_) => Err(io::ErrorKind::StorageFull.into()),
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        self.step()
    }

    fn cut(&mut self, bytes: usize) -> io::Result<()> {
        self.step()?;
        self.inner.cut(bytes)
    }

    fn replace(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.step()?;
        self.inner.replace(bytes)
    }
}
