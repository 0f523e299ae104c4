// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where threads wait for each other before a run begins, however many of them get there.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::clock::Clock;

/// Closed until it is known whether all threads are ready.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// How many threads are ready, or will never be.
    arrived: usize,
    /// Whether it is known yet; and the run's clock, where there is to be one.
    verdict: Option<Option<Clock>>,
}

/// A thread's way to the gate: it has arrived when this is dropped, at the latest.
#[derive(Debug)]
pub(crate) struct Arrival<'a> {
    gate: &'a Gate,
    has_arrived: bool,
}

impl Gate {
    /// A thread sets out.
    pub(crate) fn arrival(&self) -> Arrival<'_> {
        Arrival { gate: self, has_arrived: false }
    }

    /// Waits until so many have arrived.
    pub(crate) fn wait_for(&self, threads: usize) {
        let state = self.state();
        let is_early = |state: &mut State| state.arrived < threads;
        drop(self.changed.wait_while(state, is_early).unwrap_or_else(PoisonError::into_inner));
    }

    /// Lets all go with a clock, or home without one.
    pub(crate) fn open(&self, clock: Option<Clock>) {
        self.state().verdict = Some(clock);
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A count and a clock are whole whoever panicked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Arrival<'_> {
    /// Arrives, and waits for the others: the clock of the run, or none where there is to be no run.
    pub(crate) fn wait(mut self) -> Option<Clock> {
        self.arrive();
        let is_early = |state: &mut State| state.verdict.is_none();
        let state = self.gate.changed.wait_while(self.gate.state(), is_early);
        state.unwrap_or_else(PoisonError::into_inner).verdict.flatten()
    }

    fn arrive(&mut self) {
        if !std::mem::replace(&mut self.has_arrived, true) {
            self.gate.state().arrived += 1;
            self.gate.changed.notify_all();
        }
    }
}

impl Drop for Arrival<'_> {
    fn drop(&mut self) {
        self.arrive();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each of some threads comes back with: those below `ready` wait, the others fail or panic.
    fn outcomes(ready: u32, clock: Option<Clock>) -> Vec<bool> {
        let gate = Gate::default();
        std::thread::scope(|scope| {
            let start = |number: u32| {
                let gate = &gate;
                scope.spawn(move || {
                    let arrival = gate.arrival();
                    if number >= ready {
                        assert!(number != 3, "a thread that panics has arrived, too");
                        return false;
                    }
                    arrival.wait().is_some()
                })
            };
            let handles: Vec<_> = (0..4).map(start).collect();
            gate.wait_for(4);
            gate.open(clock);
            handles.into_iter().map(|handle| handle.join().unwrap_or(false)).collect()
        })
    }

    #[test]
    fn all_go_or_none_does_and_nobody_waits_for_ever() {
        assert_eq!(outcomes(4, Some(Clock::start("tsc"))), [true; 4]);
        assert_eq!(outcomes(4, None), [false; 4]);
        assert_eq!(outcomes(2, None), [false; 4]);
        assert_eq!(outcomes(0, None), [false; 4]);
    }
}
