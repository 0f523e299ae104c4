// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which operation comes next: its direction, size and place.

mod places;
mod random;
mod zipf;

use record::{Blocks, Kind, Mix, Workload};

pub(crate) use places::{Places, Stretch};
pub(crate) use random::Random;

/// One operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Operation {
    pub(crate) kind: Kind,
    /// The thread's target, by its place in the thread's list.
    pub(crate) file: u16,
    /// In bytes from the target's beginning.
    pub(crate) offset: u64,
    pub(crate) bytes: u32,
}

/// Draws the operations of one thread.
#[derive(Debug, Clone)]
pub(crate) struct Draw {
    random: Random,
    mix: Mix,
    /// Sizes of reads, and of writes and trims.
    sizes: [Sizes; 2],
    /// One a target, in turn.
    files: Vec<Places>,
    turn: usize,
}

#[derive(Debug, Clone)]
enum Sizes {
    One(u32),
    Range { min: u32, steps: u64 },
    Shares(Vec<(u64, u32)>),
}

impl Sizes {
    fn new(blocks: &Blocks) -> Self {
        let size = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
        match blocks {
            Blocks::One { bytes } => Self::One(size(*bytes)),
            Blocks::Range { min_bytes, max_bytes } => {
                Self::Range { min: size(*min_bytes), steps: max_bytes / (*min_bytes).max(1) }
            }
            Blocks::Shares { shares } => {
                let mut sum = 0;
                let upto = |share: &record::BlockShare| {
                    sum += u64::from(share.percent);
                    (sum, size(share.bytes))
                };
                Self::Shares(shares.iter().map(upto).collect())
            }
        }
    }

    #[inline]
    fn next(&self, random: &mut Random) -> u32 {
        match self {
            Self::One(bytes) => *bytes,
            Self::Range { min, steps } => {
                let times = u32::try_from(random.below(*steps) + 1).unwrap_or(1);
                min.saturating_mul(times)
            }
            Self::Shares(shares) => {
                let drawn = random.below(100);
                shares.iter().find(|(upto, _)| drawn < *upto).map_or(0, |(_, bytes)| *bytes)
            }
        }
    }
}

impl Draw {
    /// The operations of a thread of a workload on its stretches, one a target.
    pub(crate) fn new(workload: &Workload, stretches: &[Stretch], thread: u64) -> Self {
        let writes = workload.write_blocks.as_ref().unwrap_or(&workload.blocks);
        Self {
            random: Random::of(workload.seed, thread),
            mix: workload.mix,
            sizes: [Sizes::new(&workload.blocks), Sizes::new(writes)],
            files: stretches
                .iter()
                .map(|stretch| Places::new(*stretch, workload.pattern))
                .collect(),
            turn: 0,
        }
    }

    /// The next operation; none without a target.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Operation> {
        let kind = self.kind();
        let [reads, writes] = &self.sizes;
        let sizes = if kind == Kind::Read { reads } else { writes };
        let bytes = sizes.next(&mut self.random);
        if self.turn >= self.files.len() {
            self.turn = 0;
        }
        let offset = self.files.get_mut(self.turn)?.next(u64::from(bytes), &mut self.random);
        // The number of targets is limited to what fits.
        let file = u16::try_from(self.turn).ok()?;
        self.turn += 1;
        Some(Operation { kind, file, offset, bytes })
    }

    #[inline]
    fn kind(&mut self) -> Kind {
        let Mix { read_percent, write_percent, .. } = self.mix;
        if read_percent == 100 {
            return Kind::Read;
        }
        let drawn = self.random.below(100);
        match drawn {
            _ if drawn < u64::from(read_percent) => Kind::Read,
            _ if drawn < u64::from(read_percent) + u64::from(write_percent) => Kind::Write,
            _ => Kind::Trim,
        }
    }
}

/// The smallest step that all of a workload's operations can be placed at.
pub(crate) fn step(workload: &Workload) -> u64 {
    let of = |blocks: &Blocks| blocks.min_bytes();
    let reads = of(&workload.blocks);
    workload.write_blocks.as_ref().map_or(reads, |writes| reads.min(of(writes)))
}

/// The largest operation of a workload, in bytes.
pub(crate) fn largest(workload: &Workload) -> u64 {
    let reads = workload.blocks.max_bytes();
    workload.write_blocks.as_ref().map_or(reads, |writes| reads.max(writes.max_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made;

    #[test]
    fn a_mix_comes_as_asked() {
        let mut workload = made::workload("/dev/null");
        workload.mix = Mix { read_percent: 70, write_percent: 20, trim_percent: 10 };
        workload.write_blocks = Some(Blocks::One { bytes: 8192 });
        let stretch = Stretch { start: 0, bytes: 1 << 30, step: 4096 };
        let mut draw = Draw::new(&workload, &[stretch, stretch], 0);
        let all: Vec<Operation> = (0..10_000).filter_map(|_| draw.next()).collect();
        for (kind, wanted, bytes) in
            [(Kind::Read, 7000, 4096), (Kind::Write, 2000, 8192), (Kind::Trim, 1000, 8192)]
        {
            let of: Vec<&Operation> = all.iter().filter(|one| one.kind == kind).collect();
            assert!(of.len().abs_diff(wanted) < 300, "{kind:?}: {}", of.len());
            assert!(of.iter().all(|one| one.bytes == bytes));
        }
        assert!(all.iter().zip(0_u16..).all(|(one, at)| one.file == at % 2));
    }

    #[test]
    fn sizes_come_as_asked() {
        let shares = vec![
            record::BlockShare { bytes: 512, percent: 25 },
            record::BlockShare { bytes: 4096, percent: 75 },
        ];
        let mut random = Random::new(1);
        let shares = Sizes::new(&Blocks::Shares { shares });
        let small = (0..10_000).filter(|_| shares.next(&mut random) == 512).count();
        assert!(small.abs_diff(2500) < 300, "{small}");
        let range = Sizes::new(&Blocks::Range { min_bytes: 512, max_bytes: 2048 });
        let mut drawn: Vec<u32> = (0..1000).map(|_| range.next(&mut random)).collect();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn, [512, 1024, 1536, 2048]);
    }

    #[test]
    fn threads_and_seeds_draw_apart_and_the_same_draws_the_same() {
        let workload = made::workload("/dev/null");
        let stretch = Stretch { start: 0, bytes: 1 << 30, step: 4096 };
        let drawn = |seed, thread| {
            let workload = Workload { seed, ..workload.clone() };
            let mut draw = Draw::new(&workload, &[stretch], thread);
            (0..32).filter_map(|_| draw.next()).map(|one| one.offset).collect::<Vec<_>>()
        };
        assert_eq!(drawn(1, 0), drawn(1, 0));
        assert_ne!(drawn(1, 0), drawn(1, 1));
        assert_ne!(drawn(1, 0), drawn(2, 0));
    }
}
