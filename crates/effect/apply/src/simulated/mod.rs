// SPDX-License-Identifier: MIT OR Apache-2.0
//! A kernel for tests: a tree in memory that takes orders as the real one was seen to take them.
//!
//! It rounds, drops without a word, refuses with the right error, moves other values along and
//! renumbers interrupts, after measurements on Linux 6.1 and 6.18 in virtual machines and what the
//! kernel's sources say of hardware that no virtual machine has. Faults can be put in: an error or
//! a write taken in part at some operation, or the death of the process there.
//!
//! Nothing of it is used on a live machine.

mod faults;
mod files;
mod interrupts;
mod network;
mod overlay;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, Cursor};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use machine::{Fact, Why};
use root::{MemoryRoot, Question, Root, SMALL};
use rustix::io::Errno;
use setting::Ethtool;
use units::CpuSet;

pub use self::faults::{Clock, CuttingMedium, Fault};
use self::network::Port;
use self::overlay::Overlay;
use crate::hold::NOTE;
use crate::{Kernel, ServiceOrder};

/// The name of this boot.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";
/// The name of this process's network namespace.
const NETWORK: &str = "/proc/self/ns/net";

/// A kernel for tests.
#[derive(Debug)]
pub struct Simulated {
    base: Arc<MemoryRoot>,
    state: Mutex<State>,
    clock: Clock,
    /// How deep it is in work of its own: what it asks itself is no question.
    own_work: AtomicUsize,
}

/// Ends a piece of the kernel's own work.
struct Own<'a>(&'a AtomicUsize);

impl Drop for Own<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What changes while it runs.
#[derive(Debug, Default, Clone)]
struct State {
    files: Overlay,
    ports: BTreeMap<String, Port>,
    services: BTreeMap<String, bool>,
    /// CPUs without a free interrupt vector.
    full: CpuSet,
    /// The network namespace of this process.
    network: Option<String>,
    /// How many writes went through, and to where.
    writes: Vec<String>,
}

impl Simulated {
    /// A kernel with this tree, which several may share.
    pub fn new(base: impl Into<Arc<MemoryRoot>>) -> Self {
        let base = base.into();
        let ports = network::ports(&*base);
        let mut state = State { ports, ..State::default() };
        state.files.put(BOOT, b"first boot\n".to_vec());
        let (state, clock) = (Mutex::new(state), Clock::default());
        Self { base, state, clock, own_work: AtomicUsize::new(0) }
    }

    /// The same kernel with operations counted, and faults put in, by a clock.
    #[must_use]
    pub fn with_clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// The machine in another boot: all is as it was, but for files on disk.
    #[must_use]
    pub fn rebooted(self, name: &str) -> Self {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut fresh = Self::new(self.base);
        let files = state.files.below("/etc/");
        {
            let mut now = fresh.state();
            now.files = files;
            now.files.put(BOOT, format!("{name}\n").into_bytes());
        }
        fresh.clock = Clock::default();
        fresh
    }

    /// Another process on this machine writes a file, past all faults and counts.
    ///
    /// # Errors
    /// As the kernel would.
    pub fn other(&self, path: &str, text: &str) -> Result<(), Errno> {
        self.store(path, text.as_bytes())
    }

    /// Another process sets what ethtool sets.
    ///
    /// # Errors
    /// As the driver would.
    pub fn other_ethtool(&self, nic: &str, what: &Ethtool, values: &str) -> Result<(), Errno> {
        let _own = self.own_work();
        network::set(self, nic, what, values)
    }

    /// Another process has set so many rules of flow steering.
    pub fn other_flow_rules(&self, nic: &str, rules: u32) {
        network::set_rules(self, nic, rules);
    }

    /// What was taken away comes back as it was in the beginning.
    pub fn bring_back(&self, path: &str) {
        let real = self.real(path);
        self.state().files.forget(&real);
    }

    /// A file appears, or gets this text, whatever a write to it would do.
    pub fn set(&self, path: &str, text: &str) {
        let real = self.real(path);
        self.state().files.put(&real, text.as_bytes().to_vec());
    }

    /// A file or folder goes away: a device was taken out, a CPU went offline.
    pub fn take_away(&self, path: &str) {
        let real = self.real(path);
        self.state().files.remove(&real);
    }

    /// From now on this process is in a network namespace of that name.
    pub fn enter_network(&self, name: &str) {
        self.state().network = Some(name.to_owned());
    }

    /// An interrupt comes: only now does its effective affinity follow.
    pub fn interrupt(&self, number: u32) {
        let _own = self.own_work();
        interrupts::fire(self, number);
    }

    /// CPUs that have no interrupt vector left.
    pub fn fill_vectors(&self, cpus: CpuSet) {
        self.state().full = cpus;
    }

    /// A service is there and runs.
    pub fn run_service(&self, unit: &str) {
        self.state().services.insert(unit.to_owned(), true);
    }

    /// Paths that were written, in their order.
    pub fn writes(&self) -> Vec<String> {
        self.state().writes.clone()
    }

    /// Files that differ from those of the beginning: where, then and now. Numbers of interrupts
    /// count as part of the path.
    pub fn differences(&self) -> Vec<String> {
        let state = self.state();
        let differs = |path: &String| {
            let (then, now) = (self.base.read(path), self.read_in(&state, path));
            (then != now).then(|| {
                let text = |fact: Fact<Vec<u8>>| {
                    fact.map_or_else(
                        |why| why.to_string(),
                        |bytes| String::from_utf8_lossy(&bytes).into_owned(),
                    )
                };
                format!("{path}: {:?}, now {:?}", text(then), text(now))
            })
        };
        let mut all: Vec<String> =
            state.files.touched().filter(|path| *path != BOOT).filter_map(differs).collect();
        let ports = network::ports(&*self.base);
        for (name, port) in &state.ports {
            if ports.get(name) != Some(port) {
                all.push(format!("ethtool {name}: {:?}, now {port:?}", ports.get(name)));
            }
        }
        let running = state.services.iter().filter(|(_, running)| !**running);
        all.extend(running.map(|(unit, _)| format!("{unit} was stopped")));
        all
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The path with links resolved, whether something is there or not.
    fn real(&self, path: &str) -> String {
        if let Ok(real) = self.base.resolve(path) {
            return real;
        }
        match path.rsplit_once('/') {
            Some(("", _)) | None => path.to_owned(),
            Some((folder, name)) => format!("{}/{name}", self.real(folder)),
        }
    }

    fn read_in(&self, state: &State, path: &str) -> Fact<Vec<u8>> {
        let real = self.real(path);
        match state.files.get(&real) {
            Some(Some(bytes)) => Ok(bytes.clone()),
            Some(None) => Err(Why::Absent),
            None => self.base.read(&real),
        }
    }

    fn text(&self, path: &str) -> Option<String> {
        let bytes = self.read(path).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    fn own_work(&self) -> Own<'_> {
        self.own_work.fetch_add(1, Ordering::Relaxed);
        Own(&self.own_work)
    }

    /// Somebody asks.
    fn asked(&self) -> Fact<()> {
        if self.own_work.load(Ordering::Relaxed) > 0 { Ok(()) } else { self.clock.tick_read() }
    }

    /// Writes as the kernel does, with all that this moves.
    fn store(&self, path: &str, bytes: &[u8]) -> Result<(), Errno> {
        let _own = self.own_work();
        let real = self.real(path);
        let mode = self.mode(&real).map_err(|_| Errno::NOENT)?;
        let text = std::str::from_utf8(bytes).map_err(|_| Errno::INVAL)?;
        if real.starts_with("/proc/irq/") {
            return interrupts::write(self, &real, text, mode);
        }
        if mode & 0o222 == 0 {
            return Err(Errno::ACCESS);
        }
        for (path, text) in files::write(self, &real, text.trim())? {
            let real = self.real(&path);
            self.state().files.put(&real, text.into_bytes());
        }
        Ok(())
    }

    fn online(&self) -> CpuSet {
        let text = self.text("/sys/devices/system/cpu/online").unwrap_or_default();
        CpuSet::from_list(&text).unwrap_or_default()
    }
}

impl Root for Simulated {
    fn read(&self, path: &str) -> Fact<Vec<u8>> {
        self.asked()?;
        self.read_in(&self.state(), path)
    }

    fn stream(&self, path: &str) -> Fact<Box<dyn BufRead + '_>> {
        self.asked()?;
        let real = self.real(path);
        let own = self.state().files.get(&real).cloned();
        match own {
            Some(Some(bytes)) => Ok(Box::new(Cursor::new(bytes))),
            Some(None) => Err(Why::Absent),
            None => self.base.stream(&real),
        }
    }

    fn list(&self, path: &str) -> Fact<Vec<String>> {
        self.asked()?;
        let real = self.real(path);
        let state = self.state();
        if state.files.get(&real) == Some(&None) {
            return Err(Why::Absent);
        }
        let mut names: BTreeSet<String> = match self.base.list(&real) {
            Ok(names) => names.into_iter().collect(),
            Err(why) if state.files.children(&real).next().is_none() => return Err(why),
            Err(_) => BTreeSet::new(),
        };
        for (name, is_there) in state.files.children(&real) {
            if is_there {
                names.insert(name.to_owned());
            } else {
                names.remove(name);
            }
        }
        Ok(names.into_iter().collect())
    }

    fn link(&self, path: &str) -> Fact<String> {
        self.asked()?;
        match self.state().network.clone().filter(|_| path == NETWORK) {
            Some(network) => Ok(network),
            None => self.base.link(path),
        }
    }

    fn resolve(&self, path: &str) -> Fact<String> {
        self.asked()?;
        let real = self.real(path);
        let state = self.state();
        match state.files.get(&real) {
            Some(Some(_)) => Ok(real),
            Some(None) => Err(Why::Absent),
            None if state.files.children(&real).any(|(_, is_there)| is_there) => Ok(real),
            None => self.base.resolve(path),
        }
    }

    fn mode(&self, path: &str) -> Fact<u32> {
        self.asked()?;
        let real = self.real(path);
        let state = self.state();
        match state.files.get(&real) {
            Some(None) => Err(Why::Absent),
            Some(Some(_)) => Ok(self.base.mode(&real).unwrap_or(0o644)),
            None if state.files.children(&real).any(|(_, is_there)| is_there) => Ok(0o755),
            None => self.base.mode(&real),
        }
    }

    fn ask(&self, question: &Question) -> Fact<String> {
        self.asked()?;
        network::answer(&self.state().ports, question).unwrap_or_else(|| self.base.ask(question))
    }

    fn head(&self, path: &str, most: usize) -> Fact<Vec<u8>> {
        let mut bytes = self.read(path)?;
        bytes.truncate(most.min(SMALL));
        Ok(bytes)
    }
}

impl Kernel for Simulated {
    fn write(&self, path: &str, bytes: &[u8]) -> Result<(), Errno> {
        match self.clock.tick() {
            None => self.store(path, bytes)?,
            Some(Fault::Errno(errno)) => return Err(errno),
            Some(Fault::Short) => {
                // What was taken counts; the caller hears that it was not all.
                let _ = self.store(path, bytes.get(..bytes.len() / 2).unwrap_or_default());
                return Err(Errno::IO);
            }
            Some(Fault::Cut) => return Err(Errno::IO),
        }
        self.state().writes.push(path.to_owned());
        Ok(())
    }

    fn write_at(&self, path: &str, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
        self.clock.errno()?;
        let _own = self.own_work();
        let mut all = self.read(path).map_err(|_| Errno::NOENT)?;
        let at = usize::try_from(offset).map_err(|_| Errno::INVAL)?;
        let target = all.get_mut(at..at + bytes.len()).ok_or(Errno::INVAL)?;
        target.copy_from_slice(bytes);
        let real = self.real(path);
        let mut state = self.state();
        state.files.put(&real, all);
        state.writes.push(path.to_owned());
        Ok(())
    }

    fn replace(&self, path: &str, bytes: Option<&[u8]>) -> Result<(), Errno> {
        self.clock.errno()?;
        let mut state = self.state();
        match bytes {
            Some(bytes) => state.files.put(path, bytes.to_vec()),
            None => state.files.remove(path),
        }
        state.writes.push(path.to_owned());
        Ok(())
    }

    /// Files are replaced at once here: nothing is ever left.
    fn sweep(&self, _path: &str) {}

    fn ethtool(&self, nic: &str, what: &Ethtool) -> Fact<String> {
        self.asked()?;
        let state = self.state();
        state.ports.get(nic).ok_or(Why::Absent)?.told(what).ok_or(Why::NotSupported)
    }

    fn set_ethtool(&self, nic: &str, what: &Ethtool, values: &str) -> Result<(), Errno> {
        self.clock.errno()?;
        let _own = self.own_work();
        network::set(self, nic, what, values)?;
        self.state().writes.push(format!("ethtool {nic} {values}"));
        Ok(())
    }

    fn flow_rules(&self, nic: &str) -> Fact<u32> {
        self.asked()?;
        self.state().ports.get(nic).map(network::Port::rules).ok_or(Why::Absent)
    }

    fn service(&self, unit: &str) -> Fact<bool> {
        self.asked()?;
        self.state().services.get(unit).copied().ok_or(Why::NotSupported)
    }

    fn set_service(&self, unit: &str, order: ServiceOrder) -> Result<(), Errno> {
        self.clock.errno()?;
        let mut state = self.state();
        let running = state.services.get_mut(unit).ok_or(Errno::OPNOTSUPP)?;
        match order {
            ServiceOrder::Start => *running = true,
            ServiceOrder::Stop => *running = false,
            ServiceOrder::Restart => {}
        }
        state.writes.push(format!("{unit} {order:?}"));
        Ok(())
    }

    fn set_idle_latency(&self, bound_us: Option<u32>) -> Result<(), Errno> {
        self.clock.errno()?;
        let mut state = self.state();
        match bound_us {
            Some(bound_us) => {
                state.files.put(NOTE, format!("77 {bound_us}\n").into_bytes());
                let line = format!("nearside\0{}\0", crate::HOLD_VERB).into_bytes();
                state.files.put("/proc/77/cmdline", line);
            }
            None => {
                state.files.remove(NOTE);
                state.files.remove("/proc/77/cmdline");
            }
        }
        Ok(())
    }
}
