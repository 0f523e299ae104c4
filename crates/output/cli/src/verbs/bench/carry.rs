// SPDX-License-Identifier: MIT OR Apache-2.0
//! Has a load carried out: by our own engine, by fio or by gdsio.

use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use engine::{Error, Fallback, Guard, Made, Request};
use record::{
    Access, Blocks, Division, Engine, Environment, Outcome, Pace, Pattern, Run, SCHEMA, Workload,
};
use run::child::Limits;
use run::fio::{self, Fio, job_file};
use run::gdsio::{self, Gdsio};
use run::{DriveError, stamp};

use super::ground::Ground;
use super::progress::Progress;
use super::seats::Seated;
use crate::args::{EngineName, Means};
use crate::expected::Expected;

/// What one run is to do.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) workload: Workload,
    pub(crate) seated: Seated,
}

/// Carries it out. What failed after it began is the outcome of a run.
pub(crate) fn out(ground: &Ground, asked: &Asked, means: &Means) -> Result<Vec<Run>, Expected> {
    let names: Vec<Option<String>> = device_names(&asked.workload);
    let drives = ground.drives(&names);
    let before = ground.glance(&drives);
    let progress = Progress::new(ground, &drives, &asked.workload);
    let runs = match means.engine {
        EngineName::Fio => by_fio(ground, asked, means),
        EngineName::Gdsio => by_gdsio(ground, asked, means),
        _ => own(ground, asked, means, &progress).map(|run| vec![run]),
    };
    progress.end();
    let mut runs = runs?;
    for run in &mut runs {
        ground.surround(run, &drives, &before);
        run.id = stamp::id(run);
    }
    Ok(runs)
}

fn device_names(workload: &Workload) -> Vec<Option<String>> {
    let name = |path: &str| Some(Path::new(path).file_name()?.to_string_lossy().into_owned());
    workload.targets.iter().map(|target| name(&target.path)).collect()
}

/// This moment in ms since 1970.
pub(crate) fn now_ms() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0)
}

fn own(
    ground: &Ground,
    asked: &Asked,
    means: &Means,
    progress: &Progress<'_>,
) -> Result<Run, Expected> {
    let workload = &asked.workload;
    let started = stamp::rfc3339(now_ms());
    let finished = engine::run(
        &ground.live,
        &Request {
            workload,
            seats: &asked.seated.seats,
            placed_as: asked.seated.asked.clone(),
            token: &|path| token(ground, &means.serial, path),
            stop: &ground.stop,
            watch: &|seen| progress.tell(seen),
            fallback: match means.engine {
                EngineName::Libaio => Fallback::Aio,
                EngineName::Psync => Fallback::Positioned,
                _ => Fallback::None,
            },
        },
    );
    let (outcome, engine, placement) = match finished {
        Ok(finished) => (finished.outcome, finished.engine, Some(finished.placement)),
        Err(Error::Stopped) => (Outcome::Cancelled, own_engine(), None),
        Err(error) => return Err(error.into()),
    };
    Ok(Run {
        schema: SCHEMA.to_owned(),
        id: String::new(),
        started,
        note: means.note.clone(),
        workload_hash: Some(workload.hash()),
        workload: Some(workload.clone()),
        engine,
        placement,
        environment: Environment::default(),
        outcome,
    })
}

fn own_engine() -> Engine {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    Engine { name: "nearside".to_owned(), version, way: None, command: Vec::new() }
}

/// What a device that is written to is known by: of the serial numbers that were told its own, so
/// that each of several is matched with its device.
fn token(ground: &Ground, serials: &[String], path: &str) -> Option<String> {
    let own = identity(ground, Path::new(path)).filter(|own| serials.contains(own));
    own.or_else(|| serials.first().cloned())
}

/// The serial number of a block device; its size where it has none.
pub(super) fn identity(ground: &Ground, path: &Path) -> Option<String> {
    let there = path.metadata().ok().filter(|there| there.file_type().is_block_device())?;
    let (major, minor) = (rustix::fs::major(there.rdev()), rustix::fs::minor(there.rdev()));
    let claimed = linux::claims(&ground.live, &format!("{major}:{minor}")).ok()?;
    engine::identity(&claimed).map(|(_, own)| own)
}

/// What stands between a tool and what it must not write to, and what was made for it: held until
/// the tool has ended.
#[derive(Default)]
struct Held {
    _guards: Vec<Guard>,
    _made: Vec<Made>,
}

fn hold(ground: &Ground, workload: &Workload, means: &Means) -> Result<Held, Expected> {
    let mut held = Held::default();
    for target in &workload.targets {
        let path = Path::new(&target.path);
        if let Some(bytes) = target.make_bytes {
            // Whole and by us, so that no tool has to make a file where it should not.
            held._made.push(Made::lay_out(path, bytes, workload.seed, &ground.stop)?);
        } else if workload.mix.destroys() {
            let token = token(ground, &means.serial, &target.path);
            let guard = engine::guard(&ground.live, path, token.as_deref());
            held._guards.push(guard.map_err(Error::from)?);
        }
    }
    Ok(held)
}

/// How long a tool may run: what was asked, and time to lay files out and to write its results.
fn limits(workload: &Workload) -> Limits {
    const BESIDE: Duration = Duration::from_secs(900);
    let seconds = workload.limits.seconds.unwrap_or(0.0) + workload.limits.ramp_seconds;
    let asked = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    Limits {
        time: asked.saturating_add(BESIDE),
        output_bytes: 256 << 20,
        grace: Duration::from_secs(10),
        files: Vec::new(),
    }
}

fn by_fio(ground: &Ground, asked: &Asked, means: &Means) -> Result<Vec<Run>, Expected> {
    let fio = Fio::find()?;
    let has_ring = fio.engine_knows("io_uring", "fixedbufs")?;
    let places = match means.hosts.is_empty() && fio.knows_nodes()? {
        true => places(asked),
        // Without libnuma it does not know the option; CPUs here are no CPUs there.
        false if means.hosts.is_empty() => without_memory(places(asked)),
        false => Vec::new(),
    };
    let ring = if has_ring { "io_uring" } else { "libaio" };
    let job_file = job_file::write(&asked.workload, ring, &places).map_err(|unwritten| {
        Expected::usage(unwritten.to_string(), "our own engine does it: leave --engine out")
    })?;
    let task = fio::Task {
        job_file,
        workload: Some(asked.workload.clone()),
        hosts: means.hosts.clone(),
        note: means.note.clone(),
        now_ms: now_ms(),
    };
    let is_here = means.hosts.is_empty();
    let makes = asked.workload.targets.iter().any(|target| target.make_bytes.is_some());
    if !is_here && (makes || asked.workload.mix.destroys()) {
        let what = "nothing is written or made on other hosts: what is there cannot be looked at";
        return Err(Expected::usage(what, "run nearside bench there"));
    }
    let _held = if is_here { hold(ground, &asked.workload, means)? } else { Held::default() };
    Ok(fio.carry_out(&task, &limits(&asked.workload), &|| ground.is_stopped())?)
}

/// Where the threads of each target may run, and whose memory they take.
pub(super) fn places(asked: &Asked) -> Vec<job_file::Place> {
    let of_each = usize::try_from(asked.seated.threads.max(1)).unwrap_or(usize::MAX);
    let place = |seats: &[engine::Seat]| job_file::Place {
        cpus: seats.iter().filter_map(|seat| seat.cpu).collect(),
        memory_nodes: seats.iter().filter_map(|s| Some(units::Cpu(s.memory_node?.0))).collect(),
    };
    asked.seated.seats.chunks(of_each).map(place).collect()
}

fn without_memory(mut places: Vec<job_file::Place>) -> Vec<job_file::Place> {
    places.iter_mut().for_each(|place| place.memory_nodes = units::CpuSet::new());
    places
}

fn by_gdsio(ground: &Ground, asked: &Asked, means: &Means) -> Result<Vec<Run>, Expected> {
    let gdsio = Gdsio::find()?;
    let task = gdsio_task(asked, means)?;
    let _held = hold(ground, &asked.workload, means)?;
    Ok(gdsio.carry_out(&task, &limits(&asked.workload), &|| ground.is_stopped())?)
}

/// The load in gdsio's words; refused where it has none for it.
pub(super) fn gdsio_task(asked: &Asked, means: &Means) -> Result<gdsio::Task, Expected> {
    use gdsio::Access::{RandomRead, RandomWrite, Read, Write};
    let cannot = |what: &str| {
        Expected::usage(
            format!("gdsio cannot do it: {what}"),
            "leave it out, or use another engine",
        )
    };
    let workload = &asked.workload;
    let [target] = workload.targets.as_slice() else {
        return Err(cannot("it has one target"));
    };
    let Blocks::One { bytes: io_bytes } = workload.blocks else {
        return Err(cannot("it has one block size"));
    };
    let access = match (workload.mix, workload.pattern) {
        (record::Mix::READS, Pattern::Sequential) => Read,
        (record::Mix::WRITES, Pattern::Sequential) => Write,
        (record::Mix::READS, Pattern::Uniform) => RandomRead,
        (record::Mix::WRITES, Pattern::Uniform) => RandomWrite,
        _ => return Err(cannot("it reads or writes, sequentially or at random")),
    };
    let unknown = [
        (workload.pace != Pace::Closed || workload.verify.is_some(), "a rate, or verifying"),
        (workload.depth > 1, "more than one operation in flight a thread (--iodepth)"),
        (workload.offset_bytes > 0, "a place to begin at (--offset)"),
        (workload.limits.ramp_seconds > 0.0, "time that does not count (--ramp-time)"),
        (workload.limits.bytes.is_some(), "an amount to end at"),
        (workload.access != Access::default(), "another way to the device than O_DIRECT"),
        (workload.division != Division::default(), "a piece of the target for each thread"),
    ];
    if let Some((_, what)) = unknown.iter().find(|(is_asked, _)| *is_asked) {
        return Err(cannot(&format!("it does not know {what}")));
    }
    let size = workload.length_bytes.or(target.make_bytes);
    let set_bytes = size.ok_or_else(|| cannot("it wants a --size"))?;
    if !set_bytes.is_multiple_of(1024) || !io_bytes.is_multiple_of(1024) {
        return Err(cannot("sizes are whole KiB"));
    }
    let node = asked.seated.seats.first().and_then(|seat| seat.memory_node);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a checked length")]
    let seconds = workload.limits.seconds.map(|seconds| seconds.ceil() as u32);
    Ok(gdsio::Task {
        file: PathBuf::from(&target.path),
        gpu: means.gpu,
        node: node.map(|node| node.0),
        threads: workload.threads,
        set_bytes,
        io_bytes,
        transfer: gdsio::Transfer::Direct,
        access,
        seconds,
        note: means.note.clone(),
        now_ms: now_ms(),
    })
}

impl From<Error> for Expected {
    fn from(error: Error) -> Self {
        use engine::Why;
        let what = error.to_string();
        match error {
            Error::Workload(_) | Error::Target { .. } => {
                Self::usage(what, "`nearside bench -h` shows what may be asked")
            }
            Error::Refused(refused) => {
                let help = match &refused.why {
                    Why::NoToken(_, own) => format!("--serial {own}"),
                    Why::Other(..) => "`nearside topology --json` shows serial numbers".to_owned(),
                    Why::Unseen(_) => "run it as root on the machine itself".to_owned(),
                    Why::Absent => "`nearside topology` shows the drives".to_owned(),
                    Why::NotBlock("a regular file") => {
                        "name a file that is not there, and --size: it is made and taken away"
                            .to_owned()
                    }
                    _ => "name another device; what is on this one stays".to_owned(),
                };
                Self::precondition(what, help)
            }
            Error::Open { .. } => Self::precondition(what, "look at its name and permissions"),
            Error::Machine { .. } => Self::precondition(what, "ask for less, or look at ulimit -a"),
            Error::Unsupported { .. } => Self::precondition(what, "ask for it otherwise"),
            Error::Stopped => Self::precondition(what, ""),
        }
    }
}

impl From<DriveError> for Expected {
    fn from(error: DriveError) -> Self {
        let help = match &error {
            DriveError::Absent(_) => "install it, or leave --engine out: our own engine needs none",
            DriveError::Host(_) => "--hosts server1,ip:10.0.0.2",
            _ => "look at what the PATH leads to",
        };
        Self::precondition(error.to_string(), help)
    }
}
