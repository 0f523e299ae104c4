// SPDX-License-Identifier: MIT OR Apache-2.0
//! What commands cost, measured in turns.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use wait4::Wait4;

/// What one run of a command cost.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cost {
    wall_s: f64,
    cpu_s: f64,
    peak_kib: u64,
}

impl Cost {
    pub(super) fn wall_s(&self) -> f64 {
        self.wall_s
    }

    pub(super) fn cpu_s(&self) -> f64 {
        self.cpu_s
    }

    fn and(self, next: Self) -> Self {
        Self {
            wall_s: self.wall_s + next.wall_s,
            cpu_s: self.cpu_s + next.cpu_s,
            peak_kib: self.peak_kib.max(next.peak_kib),
        }
    }
}

/// A command line.
pub(super) struct Line {
    program: PathBuf,
    arguments: Vec<String>,
    /// Exit codes that are an answer.
    answers: Vec<i32>,
}

impl Line {
    pub(super) fn new(program: &Path, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        Self { program: program.to_owned(), arguments, answers: vec![0] }
    }

    /// The same, and this exit code is an answer as well.
    pub(super) fn or_exits(mut self, code: i32) -> Self {
        self.answers.push(code);
        self
    }

    /// Runs it to its end. lstopo is kept from asking this machine's processor (`-x86`).
    pub(super) fn measure(&self) -> Result<Cost> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).env("HWLOC_COMPONENTS", "-x86");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let (start, name) = (Instant::now(), self.program.display());
        let mut child = command.spawn().with_context(|| name.to_string())?;
        let used = child.wait4()?;
        let wall_s = start.elapsed().as_secs_f64();
        let text = self.arguments.join(" ");
        let is_answer = used.status.code().is_some_and(|code| self.answers.contains(&code));
        ensure!(is_answer, "{name} {:.200}: {}", text, used.status);
        let cpu = used.rusage.utime + used.rusage.stime;
        Ok(Cost { wall_s, cpu_s: cpu.as_secs_f64(), peak_kib: used.rusage.maxrss / 1024 })
    }
}

/// What ours and a peer cost, round by round.
pub(super) struct Rounds {
    ours: Vec<Cost>,
    peer: Vec<Cost>,
}

impl Rounds {
    /// Runs all of `ours` one after another, and `peer`, after one round to fill the page cache.
    pub(super) fn run(rounds: usize, ours: &[Line], peer: &Line) -> Result<Self> {
        let all = || -> Result<Cost> {
            let add = |sum: Cost, line: &Line| Ok(sum.and(line.measure()?));
            ours.iter().try_fold(Cost::default(), add)
        };
        let mut costs = Self { ours: Vec::new(), peer: Vec::new() };
        all()?;
        peer.measure()?;
        for round in 0..rounds.max(1) {
            if round % 2 == 0 {
                costs.ours.push(all()?);
                costs.peer.push(peer.measure()?);
            } else {
                costs.peer.push(peer.measure()?);
                costs.ours.push(all()?);
            }
        }
        Ok(costs)
    }

    /// The median of the rounds' ratios.
    pub(super) fn ratio(&self, of: fn(&Cost) -> f64) -> f64 {
        median(self.ours.iter().zip(&self.peer).map(|(ours, peer)| of(ours) / of(peer)).collect())
    }

    /// The smallest that ours cost.
    pub(super) fn least(&self, of: fn(&Cost) -> f64) -> f64 {
        least(&self.ours, of)
    }

    /// Both readings of the ratio, and the medians behind it.
    pub(super) fn text(&self, of: fn(&Cost) -> f64) -> String {
        let smallest = self.least(of) / least(&self.peer, of);
        let [ours, peer] =
            [&self.ours, &self.peer].map(|costs| median(costs.iter().map(of).collect()) * 1e3);
        let ratio = self.ratio(of);
        format!("{ratio:.2} (least/least {smallest:.2}; {ours:.1} ms against {peer:.1} ms)")
    }

    /// The most memory that a run of ours and of the peer needed.
    pub(super) fn peak_mib(&self) -> (u64, u64) {
        let peak = |costs: &[Cost]| costs.iter().map(|cost| cost.peak_kib).max().unwrap_or(0);
        (peak(&self.ours) / 1024, peak(&self.peer) / 1024)
    }
}

fn least(costs: &[Cost], of: fn(&Cost) -> f64) -> f64 {
    costs.iter().map(of).fold(f64::INFINITY, f64::min)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_is_the_median_of_the_pairs() {
        let cost = |wall_s| Cost { wall_s, ..Cost::default() };
        let ours = [1.0, 9.0, 3.0].map(cost).to_vec();
        let peer = [1.0, 1.0, 2.0].map(cost).to_vec();
        let rounds = Rounds { ours, peer };
        assert!((rounds.ratio(Cost::wall_s) - 1.5).abs() < 1e-9);
        assert!((rounds.least(Cost::wall_s) - 1.0).abs() < 1e-9);
    }
}
