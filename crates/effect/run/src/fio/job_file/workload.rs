// SPDX-License-Identifier: MIT OR Apache-2.0
//! From the options of a section to a workload.

use record::{
    Access, Cache, Division, Limits, Mix, Pace, Path, Pattern, Polling, Sharing, Submission,
    Target, Verify, Wait, WhenFull, Workload,
};
use units::CpuSet;

use super::blocks;
use super::error::NotTaken;
use super::ini::Section;
use super::options::Options;
use super::quantity;

/// A section as a workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// The section's name.
    pub name: String,
    /// What it asks.
    pub workload: Workload,
    /// Where its threads may run (`cpus_allowed`); none where it does not say.
    pub cpus: Option<CpuSet>,
    /// The nodes whose memory it takes (`numa_mem_policy=bind:N`); none where it does not say.
    pub memory_nodes: Option<CpuSet>,
    /// Whether it waits for all before it (`stonewall`).
    pub waits: bool,
    /// What the own engine does otherwise than fio, a sentence each.
    pub remarks: Vec<String>,
}

/// Engines of fio that have one operation in flight, whatever `iodepth` says.
const ONE_AT_A_TIME: [&str; 5] = ["sync", "psync", "vsync", "pvsync", "pvsync2"];
/// Engines of fio that have many.
const MANY: [&str; 3] = ["libaio", "io_uring", "posixaio"];

/// Whether an engine of fio has one operation in flight only.
pub(in crate::fio) fn is_one_at_a_time(engine: &str) -> bool {
    ONE_AT_A_TIME.contains(&engine)
}

/// Reads a section.
///
/// # Errors
/// The first option that the own engine does not know or whose value is wrong.
pub fn job(section: &Section) -> Result<Job, NotTaken> {
    let mut options = Options::of(section);
    let mut remarks = Vec::new();
    let clones = clones(&mut options)?;
    let (mix, is_random) = directions(&mut options)?;
    places(&mut options, mix, is_random, &mut remarks)?;
    let (blocks, write_blocks) = blocks::read(&mut options)?;
    let (access, depth) = access(&mut options, &mut remarks)?;
    let span = span(&mut options, clones)?;
    let (targets, sharing, threads) = targets(&mut options, &section.name, clones, &span)?;
    // `size` is shared by the files of one job.
    let files = if sharing == Sharing::EveryThreadAll { targets.len() } else { 1 };
    let workload = Workload {
        pattern: pattern(&mut options, is_random)?,
        pace: pace(&mut options, mix, clones)?,
        limits: limits(&mut options, &span, clones, &mut remarks)?,
        verify: verify(&mut options, mix)?,
        seed: options.size("randseed")?.unwrap_or(0),
        offset_bytes: span.offset,
        length_bytes: span.length(files),
        division: span.division,
        targets,
        sharing,
        threads,
        depth,
        mix,
        blocks,
        write_blocks,
        access,
    };
    let cpus = options
        .value("cpus_allowed", |text| CpuSet::from_list(text).map_err(|error| error.to_string()))?;
    let job = Job {
        name: section.name.clone(),
        cpus,
        memory_nodes: placement(&mut options)?,
        waits: options.is_on("stonewall")?,
        remarks,
        workload,
    };
    seeds(&mut options)?;
    options.finish()?;
    check(section, &job.workload)?;
    Ok(job)
}

/// Which places come, where fio and the own engine differ.
fn places(
    options: &mut Options<'_>,
    mix: Mix,
    is_random: bool,
    remarks: &mut Vec<String>,
) -> Result<(), NotTaken> {
    let has_no_map = options.is_on("norandommap")?;
    let is_mixed = ![Mix::READS, Mix::WRITES, Mix::TRIMS].contains(&mix);
    if is_random && !has_no_map {
        remarks.push(
            "without norandommap fio covers every block once before one comes again; nearside's own \
             engine draws them, so that some come again and others not at all"
                .to_owned(),
        );
    }
    if is_mixed && !is_random {
        remarks.push(
            "fio has a place of its own for reads and for writes; nearside's own engine goes through \
             the target once, with both"
                .to_owned(),
        );
    }
    Ok(())
}

fn check(section: &Section, workload: &Workload) -> Result<(), NotTaken> {
    workload.check().map_err(|error| NotTaken {
        line: section.line,
        section: Some(section.name.clone()),
        option: None,
        what: error.to_string(),
    })
}

/// `numjobs`. More than a workload can have would only cost memory here.
fn clones(options: &mut Options<'_>) -> Result<u32, NotTaken> {
    match options.number("numjobs")?.unwrap_or(1) {
        clones @ 1..=65_536 => Ok(clones),
        more => Err(options.refuse("numjobs", format!("{more} are more than 65,536"))),
    }
}

/// `rw`, `rwmixread`, `rwmixwrite`.
fn directions(options: &mut Options<'_>) -> Result<(Mix, bool), NotTaken> {
    let percent = |text: &str| {
        let number = text.parse::<u8>().ok().filter(|percent| *percent <= 100);
        number.ok_or_else(|| format!("{text:?} is no percentage"))
    };
    let read = options.value("rwmixread", percent)?;
    let write = options.value("rwmixwrite", percent)?;
    let read = read.or(write.map(|write| 100 - write)).unwrap_or(50);
    let mixed = Mix { read_percent: read, write_percent: 100 - read, trim_percent: 0 };
    let kind = |text: &str| match text {
        "read" => Ok((Mix::READS, false)),
        "write" => Ok((Mix::WRITES, false)),
        "trim" => Ok((Mix::TRIMS, false)),
        "randread" => Ok((Mix::READS, true)),
        "randwrite" => Ok((Mix::WRITES, true)),
        "randtrim" => Ok((Mix::TRIMS, true)),
        "rw" | "readwrite" => Ok((mixed, false)),
        "randrw" => Ok((mixed, true)),
        other => Err(format!("nearside's own engine does not know {other:?}")),
    };
    Ok(options.value("rw", kind)?.unwrap_or((Mix::READS, false)))
}

/// `random_distribution`, which fio asks only for random places.
fn pattern(options: &mut Options<'_>, is_random: bool) -> Result<Pattern, NotTaken> {
    let distribution = options.value("random_distribution", |text| {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        match kind {
            "random" if rest.is_empty() => Ok(Pattern::Uniform),
            // fio's default theta (options.c, `FIO_DEF_ZIPF`).
            "zipf" if rest.is_empty() => Ok(Pattern::Zipf { theta: 1.1 }),
            "zipf" => Ok(Pattern::Zipf { theta: quantity::fraction(rest)? }),
            "zoned" => hot_spot(rest),
            _ => Err(format!("nearside's own engine does not know {text:?}")),
        }
    })?;
    options.value("percentage_random", |text| match text {
        "100" => Ok(()),
        _ => Err("nearside's own engine knows 100 only".to_owned()),
    })?;
    Ok(if is_random { distribution.unwrap_or(Pattern::Uniform) } else { Pattern::Sequential })
}

/// `90/10:10/90`: 90 % of operations to the first 10 % of places, the others to the rest.
fn hot_spot(text: &str) -> Result<Pattern, String> {
    let wrong = || format!("of zones the own engine knows two, as 90/10:10/90, not {text:?}");
    let zone = |text: &str| -> Result<(f64, f64), String> {
        let (operations, places) = text.split_once('/').ok_or_else(wrong)?;
        Ok((quantity::fraction(operations)?, quantity::fraction(places)?))
    };
    let (hot, rest) = text.split_once(':').ok_or_else(wrong)?;
    let (hot, rest) = (zone(hot)?, zone(rest)?);
    let is_whole = |a: f64, b: f64| (a + b - 100.0).abs() < 1e-6;
    if !is_whole(hot.0, rest.0) || !is_whole(hot.1, rest.1) {
        return Err(wrong());
    }
    Ok(Pattern::HotSpot { operations_percent: hot.0, places_percent: hot.1 })
}

/// `ioengine`, `direct`, `iodepth` and what belongs to them.
fn access(options: &mut Options<'_>, remarks: &mut Vec<String>) -> Result<(Access, u32), NotTaken> {
    let engine = options.text("ioengine")?.unwrap_or("psync");
    let path = match engine {
        "io_uring_cmd" => Path::Passthrough,
        known if MANY.contains(&known) || is_one_at_a_time(known) => Path::Block,
        other => {
            let what = format!("nearside's own engine does not stand in for {other:?}");
            return Err(options.refuse("ioengine", what));
        }
    };
    options.value("cmd_type", |text| match text {
        "nvme" => Ok(()),
        _ => Err("nearside's own engine knows nvme only".to_owned()),
    })?;
    let asked = options.number("iodepth")?.unwrap_or(1);
    let depth = if is_one_at_a_time(engine) { 1 } else { asked };
    if depth != asked {
        remarks.push(format!("{engine} has one operation in flight; iodepth={asked} is 1"));
    }
    let is_direct = options.is_on("direct")? || path == Path::Passthrough;
    let is_unbuffered =
        options.value("buffered", |text| quantity::switch(Some(text)))? == Some(false);
    let cache = if is_direct || is_unbuffered { Cache::Direct } else { Cache::Buffered };
    let polling = if options.is_on("hipri")? { Polling::Polled } else { Polling::Interrupt };
    let submission = match options.is_on("sqthread_poll")? {
        true => Submission::KernelThread,
        false => Submission::Thread,
    };
    let wait = match options.number("iodepth_batch_complete_min")?.unwrap_or(1) {
        1 => Wait::One,
        completions => Wait::Batch { completions },
    };
    Ok((Access { path, cache, polling, submission, wait, ..Access::default() }, depth))
}

/// The part of the targets that a job goes over.
struct Span {
    /// `size`, which all files of a job share.
    size: Option<u64>,
    /// `filesize`.
    file_size: Option<u64>,
    /// `offset`.
    offset: u64,
    /// Pieces where `offset_increment` is the size.
    division: Division,
    clones: u64,
}

impl Span {
    /// The length of the part of one target, of so many.
    fn length(&self, targets: usize) -> Option<u64> {
        let pieces = if self.division == Division::Pieces { self.clones } else { 1 };
        self.of_each(targets).map(|size| size.saturating_mul(pieces))
    }

    fn of_each(&self, targets: usize) -> Option<u64> {
        let targets = u64::try_from(targets).unwrap_or(u64::MAX).max(1);
        self.size.map(|size| size / targets)
    }
}

fn span(options: &mut Options<'_>, clones: u32) -> Result<Span, NotTaken> {
    let size = options.size("size")?;
    let offset = options.size("offset")?.unwrap_or(0);
    let division = match options.size("offset_increment")? {
        None | Some(0) => Division::Whole,
        increment if increment == size => Division::Pieces,
        Some(_) => {
            let what = "nearside's own engine knows it equal to size only";
            return Err(options.refuse("offset_increment", what));
        }
    };
    let file_size = options.size("filesize")?;
    Ok(Span { size, file_size, offset, division, clones: u64::from(clones) })
}

/// Files that a job and the jobs beside it may have.
pub(super) const MOST_FILES: u32 = 4096;

/// `filename` and `directory`: the targets, and the threads of each or of all.
fn targets(
    options: &mut Options<'_>,
    name: &str,
    clones: u32,
    span: &Span,
) -> Result<(Vec<Target>, Sharing, u32), NotTaken> {
    let directory = options.text("directory")?;
    let named = options.text("filename")?.map(quantity::names);
    if directory.is_some_and(|directory| directory.contains(':')) {
        return Err(options.refuse("directory", "nearside's own engine knows one only"));
    }
    let is_alone = |path: &String| directory.is_some() && path.starts_with('/');
    if named.iter().flatten().any(is_alone) {
        return Err(options.refuse("directory", "it stands beside a filename that is absolute"));
    }
    let own_files = named.is_none();
    if own_files && clones > MOST_FILES {
        let what = format!("{clones} files of their own are more than {MOST_FILES}");
        return Err(options.refuse("numjobs", &what));
    }
    if own_files && span.division == Division::Pieces {
        return Err(options.refuse("offset_increment", "each job has a file of its own"));
    }
    // A clone without a file name makes one of its own (`$jobname.$jobnum.$filenum`).
    let paths = named.unwrap_or_else(|| (0..clones).map(|n| format!("{name}.{n}.0")).collect());
    let of_each = if own_files { span.size } else { span.length(paths.len()) };
    let size = span.file_size.or(of_each.map(|size| size.saturating_add(span.offset)));
    let target = |path: &String| {
        let path = directory.map_or(path.clone(), |directory| format!("{directory}/{path}"));
        let is_made = !path.starts_with("/dev/");
        Target { make_bytes: size.filter(|_| is_made), path }
    };
    let targets: Vec<Target> = paths.iter().map(target).collect();
    Ok(match (own_files, targets.len()) {
        (true, _) => (targets, Sharing::EachItsOwn, 1),
        (false, 1) => (targets, Sharing::EachItsOwn, clones),
        (false, _) => (targets, Sharing::EveryThreadAll, clones),
    })
}

/// `rate_iops`, which is of each job, and `rate_process`.
fn pace(options: &mut Options<'_>, mix: Mix, clones: u32) -> Result<Pace, NotTaken> {
    let is_poisson = options.value("rate_process", |text| match text {
        "linear" => Ok(false),
        "poisson" => Ok(true),
        other => Err(format!("nearside's own engine does not know {other:?}")),
    })?;
    let Some(rate) = options.number("rate_iops")? else { return Ok(Pace::Closed) };
    if ![Mix::READS, Mix::WRITES, Mix::TRIMS].contains(&mix) {
        let what = "in a mix fio holds each direction to it; nearside's own engine knows one rate";
        return Err(options.refuse("rate_iops", what));
    }
    let (iops, when_full) = (f64::from(rate) * f64::from(clones), WhenFull::Delay);
    Ok(match is_poisson {
        Some(true) => Pace::Poisson { iops, when_full },
        _ => Pace::Constant { iops, when_full },
    })
}

/// `runtime`, `time_based`, `ramp_time`, `size`, `io_size`.
fn limits(
    options: &mut Options<'_>,
    span: &Span,
    clones: u32,
    remarks: &mut Vec<String>,
) -> Result<Limits, NotTaken> {
    let seconds = options.value("runtime", quantity::seconds)?.filter(|seconds| *seconds > 0.0);
    let ramp_seconds = options.value("ramp_time", quantity::seconds)?.unwrap_or(0.0);
    let amount = options.size("io_size")?.or(span.size);
    if options.is_on("time_based")? {
        if seconds.is_none() {
            return Err(options.refuse("time_based", "there is no runtime"));
        }
        return Ok(Limits { seconds, ramp_seconds, bytes: None });
    }
    let bytes = amount.map(|bytes| bytes.saturating_mul(u64::from(clones)));
    if seconds.is_some() && bytes.is_none() {
        remarks.push("without time_based fio also ends after one pass over the target".to_owned());
    }
    if seconds.is_none() && bytes.is_none() {
        return Err(options.refuse("size", "neither size nor runtime is given: it has no end"));
    }
    Ok(Limits { seconds, ramp_seconds, bytes })
}

/// `verify` of what a job itself wrote. The checksum is the own engine's, whichever is named.
fn verify(options: &mut Options<'_>, mix: Mix) -> Result<Option<Verify>, NotTaken> {
    const SUMS: [&str; 16] = [
        "md5",
        "crc64",
        "crc32c",
        "crc32c-intel",
        "crc32",
        "crc16",
        "crc7",
        "xxhash",
        "sha512",
        "sha256",
        "sha1",
        "sha3-224",
        "sha3-256",
        "sha3-384",
        "sha3-512",
        "meta",
    ];
    let is_wanted = options.value("verify", |text| match text {
        "0" => Ok(false),
        sum if SUMS.contains(&sum) => Ok(true),
        other => Err(format!("nearside's own engine does not know {other:?}")),
    })?;
    let is_done = options.value("do_verify", |text| quantity::switch(Some(text)))?;
    // Checking ends the run at the first fault in both.
    options.value("verify_fatal", |text| quantity::switch(Some(text)))?;
    Ok(match (is_wanted, is_done) {
        (Some(true), Some(false)) | (Some(false) | None, _) => None,
        (Some(true), _) if mix == Mix::READS => Some(Verify::Reads),
        (Some(true), _) => Some(Verify::AfterWrites),
    })
}

/// What chooses memory, and how CPUs are shared out.
fn placement(options: &mut Options<'_>) -> Result<Option<CpuSet>, NotTaken> {
    // One thread a CPU, as the own engine always has it.
    options.value("cpus_allowed_policy", |text| match text {
        "split" | "shared" => Ok(()),
        other => Err(format!("{other:?} is neither split nor shared")),
    })?;
    options.value("numa_mem_policy", |text| match text.split_once(':') {
        Some(("bind", nodes)) => CpuSet::from_list(nodes).map_err(|error| error.to_string()),
        _ => Err("nearside's own engine knows bind:NODES only".to_owned()),
    })
}

/// Whether places are the same in every run: with the own engine they are, by the seed.
fn seeds(options: &mut Options<'_>) -> Result<(), NotTaken> {
    options.is_on("randrepeat")?;
    options.is_on("allrandrepeat")?;
    Ok(())
}
