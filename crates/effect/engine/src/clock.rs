// SPDX-License-Identifier: MIT OR Apache-2.0
//! The clock that latencies are taken with: the processor's counter where it can be trusted, else the
//! kernel's.
//!
//! A counter is trusted when the processor says that it never changes its rate (CPUID 8000_0007h, EDX
//! bit 8) and the kernel offers it as a clock of its own, which it does only as long as it found the
//! counters of all CPUs alike. It is measured against the kernel's clock before it is used.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// How long the counter is compared with the kernel's clock. Two readings within some 100 ns of each
/// other at either end make an error of 10 in a million.
const CALIBRATION: Duration = Duration::from_millis(20);

/// Nanoseconds since a moment that all threads of a run share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    source: Source,
    /// What the source said at that moment.
    epoch: u64,
}

#[derive(Debug, Clone, Copy)]
enum Source {
    /// Ticks, and nanoseconds a tick in units of 2^-32.
    #[cfg(target_arch = "x86_64")]
    Counter {
        scale: u64,
    },
    Kernel,
}

impl Clock {
    /// A clock that begins now. `offered` are the kernel's clocks, the content of
    /// `/sys/devices/system/clocksource/clocksource0/available_clocksource`.
    pub(crate) fn start(offered: &str) -> Self {
        #[cfg(target_arch = "x86_64")]
        if offered.split_whitespace().any(|name| name == "tsc")
            && let Some(clock) = counter::start()
        {
            return clock;
        }
        let _ = offered;
        Self { source: Source::Kernel, epoch: kernel_ns() }
    }

    /// The same clock, beginning now.
    pub(crate) fn restarted(self) -> Self {
        let epoch = match self.source {
            #[cfg(target_arch = "x86_64")]
            Source::Counter { .. } => counter::ticks(),
            Source::Kernel => kernel_ns(),
        };
        Self { epoch, ..self }
    }

    /// Nanoseconds since the beginning.
    #[inline]
    pub(crate) fn now_ns(&self) -> u64 {
        match self.source {
            #[cfg(target_arch = "x86_64")]
            Source::Counter { scale } => {
                let ticks = counter::ticks().saturating_sub(self.epoch);
                // Wraps after 2^64 ns, 584 years.
                #[expect(clippy::cast_possible_truncation, reason = "see above")]
                let ns = ((u128::from(ticks) * u128::from(scale)) >> 32) as u64;
                ns
            }
            Source::Kernel => kernel_ns().saturating_sub(self.epoch),
        }
    }

    /// What it reads, as a result names it.
    pub(crate) fn name(&self) -> &'static str {
        match self.source {
            #[cfg(target_arch = "x86_64")]
            Source::Counter { .. } => "TSC",
            Source::Kernel => "CLOCK_MONOTONIC",
        }
    }
}

/// `CLOCK_MONOTONIC` in ns.
fn kernel_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(time.tv_nsec).unwrap_or(0))
}

/// CPU time of this thread, user and system, in ns.
pub(crate) fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "the counter is an instruction")]
mod counter {
    use std::arch::x86_64::{__cpuid, _rdtsc};

    use super::{CALIBRATION, Clock, Source, kernel_ns};

    /// The time stamp counter.
    #[inline]
    pub(super) fn ticks() -> u64 {
        // SAFETY: every x86_64 processor has the instruction, and it touches no memory. Where the
        // kernel forbids it (PR_SET_TSC) the process ends with SIGSEGV, which is no undefined
        // behaviour; nothing in this program forbids it.
        unsafe { _rdtsc() }
    }

    /// A clock that begins now, where the processor says that its counter keeps its rate.
    pub(super) fn start() -> Option<Clock> {
        if !is_invariant() {
            return None;
        }
        let (ticks_before, ns_before) = both();
        std::thread::sleep(CALIBRATION);
        let (ticks_after, ns_after) = both();
        let ticks = ticks_after.checked_sub(ticks_before).filter(|ticks| *ticks > 0)?;
        let ns = u128::from(ns_after.checked_sub(ns_before)?);
        let scale = u64::try_from((ns << 32) / u128::from(ticks)).ok()?;
        Some(Clock { source: Source::Counter { scale }, epoch: self::ticks() })
    }

    /// Both clocks at one moment: of several pairs the one with the shortest time between its ends.
    fn both() -> (u64, u64) {
        let pair = |_| {
            let (before, ns, after) = (ticks(), kernel_ns(), ticks());
            let width = after.saturating_sub(before);
            (width, before + width / 2, ns)
        };
        let best = (0..16).map(pair).min().unwrap_or_default();
        (best.1, best.2)
    }

    fn is_invariant() -> bool {
        const POWER: u32 = 0x8000_0007;
        __cpuid(0x8000_0000).eax >= POWER && __cpuid(POWER).edx & 1 << 8 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sources_agree_with_the_kernel() {
        for offered in ["tsc kvm-clock", "kvm-clock"] {
            let clock = Clock::start(offered);
            let (before, kernel_before) = (clock.now_ns(), kernel_ns());
            std::thread::sleep(Duration::from_millis(50));
            let (after, kernel_after) = (clock.now_ns(), kernel_ns());
            let (ours, kernels) = (after - before, kernel_after - kernel_before);
            // Either may be interrupted between the two readings.
            let apart = ours.abs_diff(kernels);
            assert!(apart < 20_000_000, "{}: {ours} against {kernels}", clock.name());
        }
        assert_eq!(Clock::start("hpet").name(), "CLOCK_MONOTONIC");
    }
}
