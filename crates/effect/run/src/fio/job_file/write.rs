// SPDX-License-Identifier: MIT OR Apache-2.0
//! A workload as a job file for fio.

use std::fmt::Write as _;

use record::{
    Access, Blocks, Cache, Division, IoWait, Mix, Pace, Path, Pattern, Polling, Sharing,
    Submission, Target, Verify, Wait, WhenFull, Workload,
};
use units::CpuSet;

/// Where the threads of one target run, and whose memory they take.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// CPUs, one a thread in turn; fio's own choice where empty.
    pub cpus: CpuSet,
    /// Nodes; not written where empty, for a fio without libnuma does not know the option.
    pub memory_nodes: CpuSet,
}

/// What of a workload fio cannot do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("fio cannot do it: {0}")]
pub struct Unwritten(pub String);

/// Writes a job file that has fio do the workload: a section a target, each bound to its place.
///
/// fio runs as threads of one process (`thread`), for its processes leave the process group and so
/// outlive whoever started them.
///
/// # Errors
/// What fio has no option for.
pub fn write(workload: &Workload, engine: &str, places: &[Place]) -> Result<String, Unwritten> {
    let mut text = String::from("[global]\nthread=1\n");
    shared(workload, engine, &mut text)?;
    match workload.sharing {
        Sharing::EachItsOwn => {
            for (n, target) in workload.targets.iter().enumerate() {
                let place = places.get(n).cloned().unwrap_or_default();
                section(&mut text, n, workload, std::slice::from_ref(target), &place)?;
            }
        }
        Sharing::EveryThreadAll => {
            let place = places.first().cloned().unwrap_or_default();
            section(&mut text, 0, workload, &workload.targets, &place)?;
        }
    }
    Ok(text)
}

/// A line of an option.
fn line(text: &mut String, name: &str, value: impl std::fmt::Display) {
    // Writing into a String cannot fail.
    let _ = writeln!(text, "{name}={value}");
}

fn shared(workload: &Workload, engine: &str, text: &mut String) -> Result<(), Unwritten> {
    access(&workload.access, engine, text)?;
    line(text, "iodepth", workload.depth);
    direction(workload, text)?;
    let writes = workload.write_blocks.as_ref().unwrap_or(&workload.blocks);
    blocks(&workload.blocks, writes, text)?;
    if workload.mix.write_percent > 0 {
        // Contents that no drive can compress, other ones in each block.
        line(text, "refill_buffers", 1);
    }
    line(text, "randrepeat", 1);
    if workload.seed > 0 {
        line(text, "randseed", workload.seed);
    }
    pace(workload, text)?;
    limits(workload, text);
    match workload.verify {
        None => Ok(()),
        Some(Verify::AfterWrites) => {
            line(text, "verify", "crc32c");
            Ok(())
        }
        Some(Verify::Reads) => {
            Err(Unwritten("it does not know the marks of what nearside wrote".to_owned()))
        }
    }
}

fn access(access: &Access, engine: &str, text: &mut String) -> Result<(), Unwritten> {
    match access.path {
        Path::Block => line(text, "ioengine", engine),
        Path::Passthrough => {
            line(text, "ioengine", "io_uring_cmd");
            line(text, "cmd_type", "nvme");
        }
    }
    let is_direct = access.cache == Cache::Direct && access.path == Path::Block;
    line(text, "direct", u8::from(is_direct));
    match access.polling {
        Polling::Interrupt => {}
        Polling::Polled => line(text, "hipri", 1),
        Polling::Hybrid => return Err(Unwritten("hybrid polling".to_owned())),
    }
    if access.submission == Submission::KernelThread {
        line(text, "sqthread_poll", 1);
    }
    if access.io_wait == IoWait::NotCounted {
        return Err(Unwritten("waiting that does not count as I/O wait".to_owned()));
    }
    if let Wait::Batch { completions } = access.wait {
        line(text, "iodepth_batch_complete_min", completions);
    }
    Ok(())
}

fn direction(workload: &Workload, text: &mut String) -> Result<(), Unwritten> {
    let mix = workload.mix;
    let word = match mix {
        Mix::READS => "read",
        Mix::WRITES => "write",
        Mix::TRIMS => "trim",
        Mix { trim_percent: 0, .. } => "rw",
        _ => return Err(Unwritten("trims beside reads or writes".to_owned())),
    };
    let is_random = workload.pattern != Pattern::Sequential;
    line(text, "rw", format!("{}{word}", if is_random { "rand" } else { "" }));
    if word == "rw" {
        line(text, "rwmixread", mix.read_percent);
    }
    if is_random {
        // Places may come twice, and no map of them is kept.
        line(text, "norandommap", 1);
    }
    match workload.pattern {
        Pattern::Sequential | Pattern::Uniform => {}
        Pattern::Zipf { theta } => line(text, "random_distribution", format!("zipf:{theta}")),
        Pattern::HotSpot { operations_percent: hot, places_percent: places } => {
            let (cold, rest) = (100.0 - hot, 100.0 - places);
            line(text, "random_distribution", format!("zoned:{hot}/{places}:{cold}/{rest}"));
        }
    }
    Ok(())
}

fn blocks(reads: &Blocks, writes: &Blocks, text: &mut String) -> Result<(), Unwritten> {
    let form = |blocks: &Blocks| match blocks {
        Blocks::One { bytes } => ("bs", bytes.to_string()),
        Blocks::Range { min_bytes, max_bytes } => ("bsrange", format!("{min_bytes}-{max_bytes}")),
        Blocks::Shares { shares } => {
            let share = |share: &record::BlockShare| format!("{}/{}", share.bytes, share.percent);
            ("bssplit", shares.iter().map(share).collect::<Vec<_>>().join(":"))
        }
    };
    let ((name, read), (other, write)) = (form(reads), form(writes));
    if name != other {
        return Err(Unwritten("sizes of reads and writes of different kinds".to_owned()));
    }
    let value = if read == write { read } else { format!("{read},{write}") };
    line(text, name, value);
    Ok(())
}

/// fio's rate is of each job.
fn pace(workload: &Workload, text: &mut String) -> Result<(), Unwritten> {
    let (iops, when_full, process) = match workload.pace {
        Pace::Closed => return Ok(()),
        Pace::Constant { iops, when_full } => (iops, when_full, "linear"),
        Pace::Poisson { iops, when_full } => (iops, when_full, "poisson"),
    };
    if when_full == WhenFull::Miss {
        return Err(Unwritten("operations that are missed where the queue is full".to_owned()));
    }
    let of_each = iops / f64::from(workload.thread_count().max(1));
    if of_each < 1.0 || of_each.fract() > 1e-9 {
        return Err(Unwritten(format!("{of_each} operations a second of each thread")));
    }
    if ![Mix::READS, Mix::WRITES, Mix::TRIMS].contains(&workload.mix) {
        return Err(Unwritten("one rate for a mix of directions".to_owned()));
    }
    line(text, "rate_iops", of_each);
    line(text, "rate_process", process);
    Ok(())
}

fn limits(workload: &Workload, text: &mut String) {
    let limits = &workload.limits;
    if let Some(seconds) = limits.seconds {
        line(text, "runtime", time(seconds));
    }
    if limits.ramp_seconds > 0.0 {
        line(text, "ramp_time", time(limits.ramp_seconds));
    }
    match limits.bytes {
        None => line(text, "time_based", 1),
        Some(bytes) => line(text, "io_size", bytes / u64::from(workload.thread_count().max(1))),
    }
}

/// Whole seconds as they are, others in milliseconds.
fn time(seconds: f64) -> String {
    if seconds.fract() == 0.0 { format!("{seconds}s") } else { format!("{:.0}ms", seconds * 1e3) }
}

fn section(
    text: &mut String,
    number: usize,
    workload: &Workload,
    targets: &[Target],
    place: &Place,
) -> Result<(), Unwritten> {
    let _ = writeln!(text, "[target{number}]");
    let names = targets.iter().map(name).collect::<Result<Vec<_>, _>>()?;
    line(text, "filename", names.join(":"));
    line(text, "numjobs", workload.threads);
    made(text, targets)?;
    if workload.offset_bytes > 0 {
        line(text, "offset", workload.offset_bytes);
    }
    span(text, workload, targets)?;
    if !place.cpus.is_empty() {
        line(text, "cpus_allowed", &place.cpus);
        // Otherwise all threads share all of them, and may stand on one.
        line(text, "cpus_allowed_policy", "split");
    }
    if !place.memory_nodes.is_empty() {
        line(text, "numa_mem_policy", format!("bind:{}", place.memory_nodes));
    }
    Ok(())
}

/// `filesize` is of every file of a job: one that is there would be made anew with those that are to
/// be made.
fn made(text: &mut String, targets: &[Target]) -> Result<(), Unwritten> {
    let first = targets.first().and_then(|target| target.make_bytes);
    if targets.iter().any(|target| target.make_bytes != first) {
        return Err(Unwritten(
            "files of several sizes, or made beside ones that are there, \
                              shared by all threads"
                .to_owned(),
        ));
    }
    if let Some(bytes) = first {
        line(text, "filesize", bytes);
    }
    Ok(())
}

/// `size` is shared by the files of a job, and a piece is of one thread.
fn span(text: &mut String, workload: &Workload, targets: &[Target]) -> Result<(), Unwritten> {
    let length = workload.length_bytes;
    match (workload.division, length) {
        (Division::Whole, None) => {}
        (Division::Whole, Some(length)) => {
            let count = u64::try_from(targets.len()).unwrap_or(u64::MAX);
            line(text, "size", length.saturating_mul(count));
        }
        (Division::Pieces, Some(length)) => {
            let piece = length / u64::from(workload.threads.max(1));
            line(text, "size", piece);
            line(text, "offset_increment", piece);
        }
        (Division::Pieces, None) => {
            return Err(Unwritten("pieces of a whole whose length is not told".to_owned()));
        }
    }
    Ok(())
}

/// A path as a name in a job file, where a colon parts names and a comment begins anywhere.
fn name(target: &Target) -> Result<String, Unwritten> {
    let path = &target.path;
    let is_lost = |c: char| c.is_control() || matches!(c, ';' | '#' | '$' | '\\' | '%');
    if path.contains(is_lost) || path.trim() != path {
        return Err(Unwritten(format!("{path:?} cannot be written in a job file")));
    }
    Ok(path.replace(':', "\\:"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use record::{BlockShare, Limits};

    fn workload(text: &str) -> Workload {
        let steps = super::super::parse(text).unwrap();
        steps.into_iter().next().unwrap().workload
    }

    fn reads() -> Workload {
        workload("[x]\nfilename=/dev/nvme0n1\nrw=randread\ndirect=1\nruntime=10\ntime_based\n")
    }

    #[test]
    fn what_fio_cannot_do_is_refused() {
        type Case = (fn(&mut Workload), &'static str);
        let cases: [Case; 8] = [
            (|w| w.access.polling = Polling::Hybrid, "hybrid polling"),
            (|w| w.access.io_wait = IoWait::NotCounted, "waiting that does not count"),
            (|w| w.verify = Some(Verify::Reads), "the marks of what nearside wrote"),
            (|w| w.division = Division::Pieces, "pieces of a whole whose length is not told"),
            (
                |w| w.pace = Pace::Constant { iops: 10.5, when_full: WhenFull::Delay },
                "10.5 operations a second of each thread",
            ),
            (
                |w| w.mix = Mix { read_percent: 50, write_percent: 0, trim_percent: 50 },
                "trims beside reads or writes",
            ),
            (|w| w.targets[0].path = "/dev/x;y".to_owned(), "cannot be written in a job file"),
            (
                |w| {
                    let made = Target { path: "made".to_owned(), make_bytes: Some(1 << 20) };
                    w.targets.push(made);
                    w.sharing = Sharing::EveryThreadAll;
                },
                "made beside ones that are there",
            ),
        ];
        for (change, wanted) in cases {
            let mut workload = reads();
            change(&mut workload);
            let error = write(&workload, "io_uring", &[]).unwrap_err().to_string();
            assert!(error.contains(wanted), "{error}");
        }
    }

    fn blocks() -> impl Strategy<Value = Blocks> {
        prop_oneof![
            (1_u64..1 << 20).prop_map(|bytes| Blocks::One { bytes }),
            (1_u64..4096, 2_u64..64)
                .prop_map(|(min, times)| Blocks::Range { min_bytes: min, max_bytes: min * times }),
            (1_u8..100).prop_map(|percent| Blocks::Shares {
                shares: vec![
                    BlockShare { bytes: 512, percent },
                    BlockShare { bytes: 4096, percent: 100 - percent },
                ],
            }),
        ]
    }

    fn pattern() -> impl Strategy<Value = Pattern> {
        prop_oneof![
            Just(Pattern::Sequential),
            Just(Pattern::Uniform),
            (2_u32..30).prop_map(|tenths| Pattern::Zipf { theta: f64::from(tenths) / 20.0 + 1.0 }),
            (1_u32..100, 1_u32..100).prop_map(|(operations, places)| Pattern::HotSpot {
                operations_percent: f64::from(operations),
                places_percent: f64::from(places),
            }),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back_the_same(
            blocks in blocks(),
            pattern in pattern(),
            read_percent in 0_u8..=100,
            (threads, depth, targets) in (1_u32..64, 1_u32..512, 1_usize..5),
            (offset, length) in (0_u64..1 << 40, prop::option::of(1_u64..1 << 40)),
            seconds in 1_u32..100_000,
            rate in prop::option::of(1_u32..100_000),
            is_shared: bool,
            seed in 0_u64..1 << 30,
        ) {
            let mut workload = Workload {
                blocks, pattern, threads, depth, seed,
                mix: Mix { read_percent, write_percent: 100 - read_percent, trim_percent: 0 },
                offset_bytes: offset,
                length_bytes: length,
                limits: Limits { seconds: Some(f64::from(seconds)), ..Limits::default() },
                ..reads()
            };
            workload.targets = (0..targets)
                .map(|n| Target { path: format!("/dev/disk/by-path/pci-0000:0{n}:00.0"), make_bytes: None })
                .collect();
            if is_shared && targets > 1 {
                workload.sharing = Sharing::EveryThreadAll;
            }
            if let Some(rate) = rate.filter(|_| read_percent % 100 == 0) {
                let iops = f64::from(rate) * f64::from(workload.thread_count());
                workload.pace = Pace::Poisson { iops, when_full: WhenFull::Delay };
            }
            prop_assume!(workload.check().is_ok());
            let text = write(&workload, "io_uring", &[]).unwrap();
            let steps = super::super::parse(&text).unwrap();
            prop_assert_eq!(steps.len(), 1);
            prop_assert_eq!(&steps[0].workload, &workload, "{}", text);
        }
    }
}
