// SPDX-License-Identifier: MIT OR Apache-2.0
//! `bench` and `sweep` from end to end: files that are made and go again, what is kept, other people's
//! tools, what is refused, and signals. What writes to a device does so on loop devices of its own.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use support::{Failed, Need, Trial, failed, trial};

type Check = fn() -> Result<(), Failed>;

fn main() {
    let root = &[Need::Root, Need::Tool("losetup")];
    let cases: [(&str, &[Need], Check); 16] = [
        ("a file is made, measured, kept and taken away", &[], made),
        ("a file that is there is read and never written", &[], there),
        ("ways are asked by name", &[], ways),
        ("writes are verified on a file of the run's own", &[], verified),
        ("words that are not understood", &[], misunderstood),
        ("a script does the same", &[], script),
        ("a signal ends it and leaves nothing", &[], signal),
        ("a captured machine is not measured", &[], captured),
        ("a job file is carried out step by step", &[], jobs),
        ("fio is driven", &[Need::Tool("fio")], by_fio),
        ("fio's error is a failed run", &[Need::Tool("fio")], fio_fails),
        ("a sweep is a grid with its knee and its picture", &[], swept),
        ("a sweep that cannot be is refused before it begins", &[], sweep_refused),
        ("a device is not written without its serial number", root, unnamed),
        ("a mounted device is not written", &[Need::Root, Need::Tool("mkfs.ext4")], mounted),
        ("a device is written where it is told which", root, written),
    ];
    let trials = cases.into_iter().map(|(name, needs, check)| trial(name, needs, check));
    let trials: Vec<Trial> = trials.collect();
    // One after the other: loads disturb each other.
    let mut arguments = support::Arguments::from_args();
    arguments.test_threads = Some(1);
    support::run_with(&arguments, trials)
}

/// A folder on a disk, which takes direct access.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Result<Self, Failed> {
        Ok(Self(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A file of that many MiB that hold something.
    fn file(&self, name: &str, mib: usize) -> Result<Vec<u8>, Failed> {
        let bytes: Vec<u8> = (0..251).cycle().take(mib << 20).collect();
        fs::write(self.path(name), &bytes)?;
        fs::File::open(self.path(name))?.sync_all()?;
        Ok(bytes)
    }

    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nearside"));
        command.args(words.split_whitespace()).args(["--store", "store"]);
        command.current_dir(&self.0).env("LC_ALL", "C.UTF-8").env("NO_COLOR", "1");
        command
    }

    fn run(&self, words: &str) -> Result<Output, Failed> {
        Ok(self.command(words).output()?)
    }

    fn document(&self, words: &str) -> Result<Value, Failed> {
        let output = self.run(&format!("{words} --json"))?;
        hold(output.status.success(), || format!("{words}: {}", said(&output)))?;
        serde_json::from_slice(&output.stdout).map_err(failed)
    }

    fn refused(&self, words: &str, code: i32, wanted: &str) -> Result<(), Failed> {
        let output = self.run(words)?;
        let said = said(&output);
        let is_so = output.status.code() == Some(code) && said.contains(wanted);
        hold(is_so && said.contains("\nhelp: "), || format!("{words}: {:?}: {said}", output.status))
    }

    /// What is in it beside the store.
    fn names(&self) -> Result<Vec<String>, Failed> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.retain(|name| name != "store");
        names.sort();
        Ok(names)
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn hold(holds: bool, what: impl FnOnce() -> String) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(failed(what())) }
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

/// The numbers of a run agree with each other.
fn is_sound(run: &Value) -> Result<(), Failed> {
    let reads = &run["outcome"]["directions"][0];
    let (operations, seconds) = (number(&reads["operations"]), number(&reads["seconds"]));
    let rate = operations / seconds;
    let sound = operations > 0.0
        && (number(&reads["iops"]) / rate - 1.0).abs() < 1e-6
        && (number(&reads["bytes_per_second"]) / (rate * 4096.0) - 1.0).abs() < 1e-6;
    hold(run["schema"] == "run/1" && run["outcome"]["class"] == "measured" && sound, || {
        run.to_string()
    })
}

fn made() -> Result<(), Failed> {
    let place = Place::new()?;
    let output = place.run("bench --size 16m --runtime 1 --iodepth 8 --numjobs 1")?;
    let (text, said) = (String::from_utf8_lossy(&output.stdout).into_owned(), said(&output));
    hold(output.status.success(), || said.clone())?;
    for part in ["read          ", " IOPS", "p99 ", "asked         100 % reads, random, 4 KiB"] {
        hold(text.contains(part), || format!("{part:?}\n{text}"))?;
    }
    let told = said.contains("made for this and taken away. It measures this file system");
    hold(told && said.contains("kept: nearside runs show "), || said.clone())?;
    hold(place.names()?.is_empty(), || format!("{:?}", place.names()))?;
    let list = place.document("runs list")?;
    hold(list["total"] == 1, || list.to_string())?;
    let run = place.document("runs show last")?;
    is_sound(&run)?;
    let environment = &run["environment"];
    hold(environment["kernel"].is_string() && environment["topology_hash"].is_string(), || {
        environment.to_string()
    })
}

fn there() -> Result<(), Failed> {
    let place = Place::new()?;
    let before = place.file("data", 4)?;
    let run = place.document("bench data --runtime 500ms --iodepth 4 --numjobs 2")?;
    is_sound(&run)?;
    hold(run["placement"]["threads"].as_array().map(Vec::len) == Some(2), || run.to_string())?;
    for words in
        ["bench data --rw write", "bench data --rw randrw --size 4m", "bench data --rw trim"]
    {
        place.refused(words, 4, "it is a regular file, not a block device")?;
    }
    hold(fs::read(place.path("data"))? == before, || "it was written".to_owned())
}

fn ways() -> Result<(), Failed> {
    let place = Place::new()?;
    place.file("data", 4)?;
    for (engine, way) in
        [("io_uring", None), ("libaio", Some("io_submit")), ("psync", Some("pread"))]
    {
        let words = format!("bench data --runtime 300ms --numjobs 1 --engine {engine} --place 0");
        let run = place.document(&words)?;
        let is_asked = way.is_none_or(|way| run["engine"]["way"] == way);
        let placement = &run["placement"];
        let is_placed = placement["asked"] == "0" && placement["threads"][0]["cpu"] == 0;
        hold(is_asked && is_placed, || run.to_string())?;
        let doubts = run["outcome"]["doubts"].to_string();
        hold(way.is_none() || !doubts.contains("fallback"), || doubts)?;
    }
    Ok(())
}

fn verified() -> Result<(), Failed> {
    let place = Place::new()?;
    let words =
        "bench own --size 8m --rw randwrite --bs 4k-16k --verify --runtime 500ms --numjobs 2";
    let run = place.document(&words.replace("4k-16k", "4k"))?;
    hold(run["outcome"]["directions"][0]["kind"] == "write", || run.to_string())?;
    hold(run["workload"]["verify"] == "after-writes", || run.to_string())?;
    hold(place.names()?.is_empty(), || format!("{:?}", place.names()))
}

fn misunderstood() -> Result<(), Failed> {
    let place = Place::new()?;
    place.file("data", 1)?;
    let made = Command::new("mkfifo").arg(place.path("pipe")).status()?;
    hold(made.success(), || "mkfifo".to_owned())?;
    for (words, code, wanted) in [
        // Nobody writes to it: to open it would take for ever.
        ("bench pipe", 2, "neither a block device nor a file"),
        ("bench pipe --dry-run", 2, "neither a block device nor a file"),
        ("bench data --bs 4x", 2, "--bs: \"4x\" is no size"),
        ("bench data --rw sideways", 2, "--rw: nearside's own engine does not know \"sideways\""),
        ("bench data --bs 3000", 2, "places and sizes must be multiples of its"),
        ("bench data --bs 2m", 2, "1048576 bytes are fewer than one operation"),
        ("bench data --numjobs 0", 2, "--numjobs: \"0\" is no number of threads"),
        ("bench data --place 9000", 4, ""),
        ("bench data --place nearby", 2, "it is near, far, spread, or a list of CPUs"),
        ("bench node:77", 4, "no drive is known to be on node 77"),
        ("bench no-such-drive", 4, "cannot measure no-such-drive: No such file"),
        ("bench .", 2, ". is a folder"),
        ("bench /dev/nearside-typo --size 1m", 2, "no file is made below /dev"),
        ("bench data --engine nothing", 2, "invalid value 'nothing'"),
        ("bench data --hosts a --engine libaio", 2, "only fio works on other hosts"),
        ("bench data data", 2, "is named twice"),
    ] {
        place.refused(words, code, wanted)?;
    }
    hold(!Path::new("/dev/nearside-typo").exists(), || "a file was made in /dev".to_owned())?;
    hold(place.names()? == ["data", "pipe"], || format!("{:?}", place.names()))
}

fn script() -> Result<(), Failed> {
    let place = Place::new()?;
    let output = place.run("bench x --size 16m --bs 64k --rate-iops 50 --numjobs 1 --dry-run")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for part in
        ["trap 'rm -f -- ", "fio --output-format=json+ - <<'JOBS'", "\nbs=65536\n", "rate_iops=50"]
    {
        hold(text.contains(part), || format!("{part:?}\n{text}"))?;
    }
    hold(place.names()?.is_empty(), || format!("{:?}", place.names()))?;
    let mut shell = Command::new("sh");
    shell.arg("-n").stdin(Stdio::piped());
    let mut child = shell.spawn()?;
    std::io::Write::write_all(&mut child.stdin.take().ok_or("no input")?, text.as_bytes())?;
    hold(child.wait()?.success(), || text)
}

/// Ends a command by a signal once it says that it has begun.
fn interrupted(mut child: Child, begun: &Path) -> Result<Output, Failed> {
    let start = Instant::now();
    while !begun.exists() && start.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(10));
    }
    hold(begun.exists(), || "it did not begin".to_owned())?;
    let status = Command::new("kill").arg("-INT").arg(child.id().to_string()).status()?;
    hold(status.success(), || "no signal was sent".to_owned())?;
    let mut lines = Vec::new();
    if let Some(error) = child.stderr.take() {
        lines.extend(BufReader::new(error).lines().map_while(Result::ok));
    }
    let status = child.wait()?;
    hold(status.signal().is_none(), || format!("{status}"))?;
    Ok(Output { status, stdout: Vec::new(), stderr: lines.join("\n").into_bytes() })
}

fn signal() -> Result<(), Failed> {
    let place = Place::new()?;
    for words in ["bench own --size 64m --runtime 1h", "bench own --size 1t --runtime 1h"] {
        let mut command = place.command(words);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        // The larger one is stopped while it is laid out, where there is room for it at all.
        if words.contains("1t")
            && place.run("bench own --size 1t --dry-run")?.status.code() == Some(4)
        {
            continue;
        }
        let output = interrupted(command.spawn()?, &place.path("own"))?;
        hold(output.status.code() == Some(130), || {
            format!("{}: {}", output.status, said(&output))
        })?;
        hold(place.names()?.is_empty(), || format!("{:?}", place.names()))?;
    }
    let run = place.document("runs show last")?;
    hold(run["outcome"]["class"] == "cancelled", || run.to_string())
}

fn captured() -> Result<(), Failed> {
    let place = Place::new()?;
    place.refused("bench --from synthetic:faulty", 2, "a captured machine has no drives to measure")
}

fn jobs() -> Result<(), Failed> {
    let place = Place::new()?;
    place.file("data", 4)?;
    let text = "[global]\nfilename=data\ndirect=1\nruntime=300ms\ntime_based\nsize=4m\nioengine=io_uring\n\
                [deep]\nrw=randread\niodepth=8\ncpus_allowed=0\n[wide]\nstonewall\nrw=read\nbs=64k\n";
    fs::write(place.path("two.fio"), text)?;
    let output = place.run("bench --jobs two.fio")?;
    hold(output.status.success() && said(&output).contains("step 2 of 2"), || said(&output))?;
    let list = place.document("runs list")?;
    hold(list["total"] == 2 && place.names()? == ["data", "two.fio"], || list.to_string())?;
    fs::write(place.path("odd.fio"), "[x]\nfilename=data\nsize=1m\nthinktime=5\n")?;
    place.refused("bench --jobs odd.fio", 2, "odd.fio: line 4: thinktime of [x]: ")?;
    place.refused("bench --jobs none.fio", 4, "cannot read none.fio")?;
    place.refused("bench data --jobs two.fio", 2, "cannot be used with")
}

fn by_fio() -> Result<(), Failed> {
    let place = Place::new()?;
    place.file("data", 16)?;
    let run = place.document("bench data --engine fio --runtime 1 --iodepth 4 --numjobs 1")?;
    is_sound(&run)?;
    hold(run["engine"]["name"] == "fio" && run["workload"]["depth"] == 4, || run.to_string())?;
    let own = place
        .document("bench own --size 16m --engine fio --runtime 1 --rw randwrite --numjobs 1")?;
    hold(own["outcome"]["class"] == "measured", || own.to_string())?;
    hold(place.names()? == ["data"], || format!("{:?}", place.names()))?;
    place.refused("bench data --engine fio --rw write", 4, "it is a regular file")
}

fn fio_fails() -> Result<(), Failed> {
    let place = Place::new()?;
    place.file("data", 1)?;
    // Larger than the file: fio would make it longer, and an odd place is none for direct access.
    let output = place.run("bench data --engine fio --bs 1000 --runtime 1 --numjobs 1")?;
    hold(output.status.code() == Some(8), || format!("{}: {}", output.status, said(&output)))?;
    let run = place.document("runs show last")?;
    hold(run["outcome"]["class"] == "failed", || run.to_string())
}

fn swept() -> Result<(), Failed> {
    let place = Place::new()?;
    let words =
        "sweep --size 16m --runtime 300ms --numjobs 1 --iodepth 1,4 --bs 4k,64k --svg map.svg";
    let sweep = place.document(words)?;
    let cells = sweep["cells"].as_array().cloned().unwrap_or_default();
    let is_whole = cells.len() == 4 && cells.iter().all(|cell| number(&cell["iops"]) > 0.0);
    hold(sweep["schema"] == "sweep/1" && is_whole, || sweep.to_string())?;
    hold(sweep["axes"][0]["name"] == "bs" && sweep["axes"][1]["name"] == "iodepth", || {
        sweep.to_string()
    })?;
    hold(number(&sweep["drift"]["last_iops"]) > 0.0, || sweep.to_string())?;
    hold(fs::read_to_string(place.path("map.svg"))?.starts_with("<svg "), || "no SVG".to_owned())?;
    hold(place.names()? == ["map.svg"], || format!("{:?}", place.names()))?;
    // Each cell is a run, and the first one is there twice.
    hold(place.document("runs list")?["total"] == 5, || "not all cells are kept".to_owned())?;
    place.refused(words, 4, "cannot write map.svg: it is there already")
}

fn sweep_refused() -> Result<(), Failed> {
    let place = Place::new()?;
    place.file("data", 1)?;
    for (words, code, wanted) in [
        ("sweep data", 2, "nothing varies"),
        ("sweep data --iodepth 4,2", 2, "--iodepth: values have to rise"),
        ("sweep data --bs 4k,x", 2, "--bs: \"x\" is no size"),
        ("sweep data --iodepth 1,2,3 --cells 2", 2, "3 cells are more than 2"),
    ] {
        place.refused(words, code, wanted)?;
    }
    // What is refused later is a cell without a number.
    let output = place.run("sweep data --rw read,write --runtime 200ms --numjobs 1")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let told = text.contains("refused       rw=write: ") && text.contains("is not written to");
    hold(output.status.code() == Some(4) && told, || format!("{}: {text}", output.status))
}

/// A loop device over a file of zeros; taken away with the file.
struct Disk {
    device: String,
    place: Place,
}

const DISK: u64 = 32 << 20;

impl Disk {
    fn new() -> Result<Self, Failed> {
        let place = Place::new()?;
        fs::File::create(place.path("disk"))?.set_len(DISK)?;
        let output =
            Command::new("losetup").args(["--find", "--show"]).arg(place.path("disk")).output()?;
        hold(output.status.success(), || said(&output))?;
        let device = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok(Self { device, place })
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.device]).status();
    }
}

fn unnamed() -> Result<(), Failed> {
    let disk = Disk::new()?;
    let device = &disk.device;
    for engine in ["io_uring", "libaio", "psync"] {
        let words = format!("bench {device} --rw write --runtime 1 --engine {engine}");
        disk.place.refused(&words, 4, "its identity was not told")?;
        let other = format!("{words} --serial 12345");
        disk.place.refused(&other, 4, "and 12345 was told")?;
    }
    let zeros = fs::read(disk.place.path("disk"))?.iter().all(|byte| *byte == 0);
    hold(zeros, || "it was written".to_owned())
}

fn mounted() -> Result<(), Failed> {
    let disk = Disk::new()?;
    let (device, folder) = (&disk.device, disk.place.path("mnt"));
    fs::create_dir(&folder)?;
    let call = |program: &str, words: &[&str]| -> Result<(), Failed> {
        let output = Command::new(program).args(words).output()?;
        hold(output.status.success(), || said(&output))
    };
    call("mkfs.ext4", &["-q", device])?;
    let words = format!("bench {device} --rw randwrite --runtime 1 --serial {DISK}");
    disk.place.refused(&words, 4, "it bears the signature of ext")?;
    call("mount", &[device, &folder.to_string_lossy()])?;
    let refused = disk.place.refused(&words, 4, "mounted");
    call("umount", &[&folder.to_string_lossy()])?;
    refused
}

fn written() -> Result<(), Failed> {
    let disk = Disk::new()?;
    let words =
        format!("bench {} --rw randwrite --runtime 500ms --numjobs 1 --serial {DISK}", disk.device);
    let run = disk.place.document(&words)?;
    hold(run["outcome"]["directions"][0]["kind"] == "write", || run.to_string())?;
    let is_written = fs::read(disk.place.path("disk"))?.iter().any(|byte| *byte != 0);
    hold(is_written, || "nothing was written".to_owned())
}
