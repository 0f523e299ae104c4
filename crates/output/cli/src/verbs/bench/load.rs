// SPDX-License-Identifier: MIT OR Apache-2.0
//! What was asked in fio's words, read as fio's job files are.

use record::{Division, Pace, Pattern, Workload};
use run::fio::job_file::{self, Given, NotTaken, Section};

use super::targets::{Chosen, Use};
use crate::args::{EngineName, Load};
use crate::expected::Expected;
use crate::terminal;

impl Load {
    /// Whether places are drawn.
    pub(super) fn is_random(&self) -> bool {
        self.rw.starts_with("rand")
    }

    /// What becomes of the targets.
    pub(crate) fn purpose(&self) -> Use {
        if matches!(self.rw.as_str(), "read" | "randread") { Use::Read } else { Use::Change }
    }
}

/// A size in fio's words.
pub(crate) fn size(option: &str, text: &str) -> Result<u64, Expected> {
    job_file::size(text).map_err(|what| Expected::usage(format!("--{option}: {what}"), SIZES))
}

const SIZES: &str = "write it as 4096, 4k, 1m or 2g";

/// `--numjobs`, where it was given.
pub(super) fn threads(load: &Load) -> Result<Option<u32>, Expected> {
    let number = |text: &String| {
        let number = text.parse().ok().filter(|number| (1..=65_536).contains(number));
        number.ok_or_else(|| {
            let what = format!("--numjobs: {text:?} is no number of threads");
            Expected::usage(what, "it is 1 to 65,536")
        })
    };
    load.numjobs.as_ref().map(number).transpose()
}

/// The workload that words stand for, on targets that were chosen, with so many threads each.
pub(crate) fn workload(
    load: &Load,
    engine: EngineName,
    threads: u32,
    chosen: &Chosen,
) -> Result<Workload, Expected> {
    let job = job_file::job(&section(load, engine, threads)).map_err(explain)?;
    job.remarks.iter().for_each(|remark| terminal::hint(remark));
    let mut workload = job.workload;
    workload.targets.clone_from(&chosen.targets);
    spread(&mut workload.pace, chosen.targets.len());
    // Threads that go over the same places one after the other would read what others just read, and
    // nobody could tell whose writing was the last.
    let is_divided = workload.pattern == Pattern::Sequential || workload.verify.is_some();
    if workload.threads > 1 && is_divided {
        workload.division = Division::Pieces;
        workload.length_bytes = workload.length_bytes.or(chosen.least_bytes);
    }
    let help = "`nearside bench -h` shows what it takes";
    workload.check().map_err(|error| Expected::usage(error.to_string(), help))?;
    Ok(workload)
}

/// fio's rate is of each of its jobs, and here each target has so many.
fn spread(pace: &mut Pace, targets: usize) {
    let targets = u32::try_from(targets).map_or(f64::from(u32::MAX), f64::from);
    if let Pace::Constant { iops, .. } | Pace::Poisson { iops, .. } = pace {
        *iops *= targets;
    }
}

fn section(load: &Load, engine: EngineName, threads: u32) -> Section {
    let ioengine = match engine {
        EngineName::IoUring | EngineName::Fio | EngineName::Gdsio => "io_uring",
        EngineName::Libaio => "libaio",
        EngineName::Psync => "psync",
    };
    let given = [
        // Its targets are put in later; what is below /dev is never made.
        ("filename", Some("/dev/it".to_owned())),
        ("ioengine", Some(ioengine.to_owned())),
        ("rw", Some(load.rw.clone())),
        ("bs", Some(load.bs.clone())),
        ("iodepth", Some(load.iodepth.clone())),
        ("numjobs", Some(threads.to_string())),
        ("runtime", Some(load.runtime.clone())),
        ("time_based", Some("1".to_owned())),
        ("ramp_time", load.ramp_time.clone()),
        ("size", load.size.clone()),
        ("offset", load.offset.clone()),
        ("rate_iops", load.rate_iops.clone()),
        ("rate_process", load.rate_process.clone()),
        ("rwmixread", load.rwmixread.clone()),
        ("random_distribution", load.random_distribution.clone()),
        ("direct", Some(load.direct.clone())),
        ("verify", load.verify.then(|| "crc32c".to_owned())),
        ("randseed", load.randseed.clone()),
    ];
    let options = given.into_iter().filter_map(|(name, value)| {
        Some((name.to_owned(), Given { value: Some(value?), line: None }))
    });
    Section { name: "bench".to_owned(), line: None, options: options.collect() }
}

fn explain(error: NotTaken) -> Expected {
    let help = match error.option.as_deref() {
        Some("bs" | "size" | "offset") => SIZES,
        Some("runtime" | "ramp_time") => "write it as 30, 30s, 500ms, 2m or 1h",
        _ => "`nearside bench --help` shows what it takes",
    };
    let option = error.option.map(|option| format!("--{}: ", option.replace('_', "-")));
    Expected::usage(format!("{}{}", option.unwrap_or_default(), error.what), help)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use record::{Blocks, Mix, Target};

    use super::*;
    use crate::args::{Arguments, Verb};

    fn asked(words: &str, targets: usize, threads: u32) -> Result<Workload, Expected> {
        let words = format!("nearside bench {words}");
        let Some(Verb::Bench(bench)) = Arguments::parse_from(words.split_whitespace()).verb else {
            panic!("{words}");
        };
        let target = |n| Target { path: format!("/dev/nvme{n}n1"), make_bytes: None };
        let chosen = Chosen {
            targets: (0..targets).map(target).collect(),
            least_bytes: Some(1 << 30),
            ..Chosen::default()
        };
        workload(&bench.load, bench.means.engine, threads, &chosen)
    }

    #[test]
    fn words_are_fios() {
        let workload = asked("--bs 64k --iodepth 8 --rw randrw --rwmixread 70", 2, 3).unwrap();
        assert_eq!(workload.blocks, Blocks::One { bytes: 65_536 });
        assert_eq!((workload.depth, workload.threads, workload.targets.len()), (8, 3, 2));
        assert_eq!(workload.mix, Mix { read_percent: 70, write_percent: 30, trim_percent: 0 });
        assert_eq!(workload.limits.seconds, Some(10.0));
        assert_eq!(workload.access, record::Access::default());
    }

    #[test]
    fn a_rate_is_of_each_thread() {
        let workload = asked("--rate-iops 100", 3, 2).unwrap();
        let when_full = record::WhenFull::Delay;
        assert_eq!(workload.pace, Pace::Constant { iops: 600.0, when_full });
    }

    #[test]
    fn sequential_threads_have_pieces_of_their_own() {
        let workload = asked("--rw read", 1, 2).unwrap();
        assert_eq!((workload.division, workload.length_bytes), (Division::Pieces, Some(1 << 30)));
        assert_eq!(asked("--rw read", 1, 1).unwrap().division, Division::Whole);
    }

    #[test]
    fn what_is_not_understood_is_named() {
        for (words, wanted) in [
            ("--bs x", "--bs: \"x\" is no size"),
            ("--rw sideways", "--rw: nearside's own engine does not know \"sideways\""),
            ("--runtime 0", "--time-based: there is no runtime"),
            ("--iodepth 0", "--iodepth: 0 is outside of 1 to 4294967295"),
            ("--rw randrw --rate-iops 5", "--rate-iops: in a mix fio holds each direction to it"),
        ] {
            let error = asked(words, 1, 1).unwrap_err().to_string();
            assert!(error.starts_with(wanted), "{words}: {error}");
        }
    }
}
