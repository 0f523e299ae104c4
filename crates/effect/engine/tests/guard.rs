// SPDX-License-Identifier: MIT OR Apache-2.0
//! The guard on loop devices: each reason to refuse, made for real and taken away again.
//!
//! Needs root and loop devices; one trial after the other, for a device may show up in another's claims.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use nearside_engine::{Fallback, Request, guard, run};
use record::Workload;
use root::LiveRoot;
use support::{Failed, Need, Trial, failed, trial};

const BYTES: u64 = 64 << 20;

type Check = fn() -> Result<(), Failed>;

fn main() {
    let cases: [(&str, &[Need], Check); 12] = [
        ("an unused device is held for the whole run", &[], held),
        ("only the one that is meant", &[], meant),
        ("mounted, and its file system", &[Need::Tool("mkfs.ext4")], mounted),
        ("swapped to", &[Need::Tool("mkswap"), Need::Tool("swapon")], swapped),
        ("under another loop", &[], under_loop),
        ("held exclusively", &[], exclusive),
        ("open for writing", &[], open),
        ("through a link", &[], linked),
        ("written and verified", &[], written),
        ("open for writing under another name", &[Need::Tool("mknod")], open_elsewhere),
        ("a partition by more than its drive's number", &[Need::Tool("sfdisk")], partition),
        ("more than can be verified", &[], too_much),
    ];
    let needs = |more: &[Need]| {
        let all = [Need::Root, Need::Tool("losetup")];
        all.into_iter().chain(more.iter().copied()).collect::<Vec<_>>()
    };
    let trials = cases.into_iter().map(|(name, more, check)| trial(name, &needs(more), check));
    let trials: Vec<Trial> = trials.collect();
    let mut arguments = support::Arguments::from_args();
    arguments.test_threads = Some(1);
    support::run_with(&arguments, trials)
}

/// A loop device over a file of zeros; taken away with the file.
struct Loop {
    device: PathBuf,
    _folder: tempfile::TempDir,
}

impl Loop {
    fn new() -> Result<Self, Failed> {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let file = folder.path().join("disk");
        File::create(&file)?.set_len(BYTES)?;
        Ok(Self { device: attach(&file)?, _folder: folder })
    }

    fn refusal(&self, token: Option<&str>) -> Result<String, Failed> {
        match guard(&LiveRoot::open().map_err(failed)?, &self.device, token) {
            Ok(_) => Err(failed("it was not refused")),
            Err(refused) => Ok(refused.to_string()),
        }
    }

    fn is_refused_for(&self, wanted: &str) -> Result<(), Failed> {
        let error = self.refusal(Some(&BYTES.to_string()))?;
        if error.contains(wanted) {
            Ok(())
        } else {
            Err(failed(format!("{error:?}: no {wanted:?}")))
        }
    }

    fn name(&self) -> String {
        self.device.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = call("losetup", &["-d", &self.device.to_string_lossy()]);
    }
}

fn attach(file: &Path) -> Result<PathBuf, Failed> {
    Ok(call("losetup", &["-f", "--show", &file.to_string_lossy()])?.trim().into())
}

fn call(program: &str, arguments: &[&str]) -> Result<String, Failed> {
    let output = Command::new(program).args(arguments).output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(failed(format!("{program} {arguments:?}: {said}")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn held() -> Result<(), Failed> {
    let disk = Loop::new()?;
    let root = LiveRoot::open().map_err(failed)?;
    let held = guard(&root, &disk.device, Some(&BYTES.to_string())).map_err(failed)?;
    let exclusive = OpenOptions::new().write(true).custom_flags(libc::O_EXCL).open(&disk.device);
    let errno = exclusive.err().and_then(|error| error.raw_os_error());
    drop(held);
    if errno != Some(libc::EBUSY) {
        return Err(failed(format!("somebody else could hold it: {errno:?}")));
    }
    OpenOptions::new().write(true).custom_flags(libc::O_EXCL).open(&disk.device)?;
    Ok(())
}

fn meant() -> Result<(), Failed> {
    let disk = Loop::new()?;
    let other = disk.refusal(Some("S123"))?;
    let none = disk.refusal(None)?;
    let size = BYTES.to_string();
    let is_told = other.contains(&size) && other.contains("S123 was told") && none.contains(&size);
    if is_told { Ok(()) } else { Err(failed(format!("{other:?} {none:?}"))) }
}

fn mounted() -> Result<(), Failed> {
    let disk = Loop::new()?;
    let device = disk.device.to_string_lossy().into_owned();
    call("mkfs.ext4", &["-q", &device])?;
    disk.is_refused_for("it bears the signature of ext file system")?;
    let folder = tempfile::tempdir()?;
    let at = folder.path().to_string_lossy().into_owned();
    call("mount", &[&device, &at])?;
    let refused = disk.is_refused_for(&format!("{} is mounted at {at}", disk.name()));
    call("umount", &[&at])?;
    refused
}

fn swapped() -> Result<(), Failed> {
    let disk = Loop::new()?;
    let device = disk.device.to_string_lossy().into_owned();
    call("mkswap", &[&device])?;
    disk.is_refused_for("it bears the signature of swap space")?;
    call("swapon", &[&device])?;
    let refused = disk.is_refused_for(&format!("the kernel swaps to {}", disk.name()));
    call("swapoff", &[&device])?;
    refused
}

fn under_loop() -> Result<(), Failed> {
    let disk = Loop::new()?;
    let above = attach(&disk.device)?;
    let name = above.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let refused = disk.is_refused_for(&format!("{} is the file of {name}", disk.name()));
    call("losetup", &["-d", &above.to_string_lossy()])?;
    refused
}

fn exclusive() -> Result<(), Failed> {
    let disk = Loop::new()?;
    // By this process, which is no claim of another: only the kernel knows.
    let held = OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(&disk.device)?;
    let refused = disk.is_refused_for("somebody holds it exclusively");
    drop(held);
    refused
}

fn open() -> Result<(), Failed> {
    let disk = Loop::new()?;
    open_at(&disk, &disk.device)
}

/// By a node that somebody made, as in a container.
fn open_elsewhere() -> Result<(), Failed> {
    use std::os::unix::fs::MetadataExt as _;
    let disk = Loop::new()?;
    let number = std::fs::metadata(&disk.device)?.rdev();
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let node = folder.path().join("xvda");
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    call("mknod", &[&node.to_string_lossy(), "b", &major.to_string(), &minor.to_string()])?;
    open_at(&disk, &node)
}

fn open_at(disk: &Loop, path: &Path) -> Result<(), Failed> {
    let script = format!("exec 3<>{}; echo; read line", path.display());
    let mut child = Command::new("sh")
        .args(["-c", &script])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()?;
    let mut said = [0];
    std::io::Read::read_exact(&mut child.stdout.take().ok_or("no output")?, &mut said)?;
    let refused = disk.is_refused_for(&format!("has {} open for writing", disk.name()));
    drop(child.stdin.take());
    child.wait()?;
    refused
}

/// A partition of a loop, which has no serial number: its size is what tells it.
fn partition() -> Result<(), Failed> {
    let disk = Loop::new()?;
    let device = disk.device.to_string_lossy().into_owned();
    // A loop device shows partitions only where it is told to.
    let script =
        format!("printf 'size=32768\\n,\\n' | sfdisk -q --no-reread {device} && partx -a {device}");
    call("sh", &["-c", &script])?;
    let refused = disk.is_refused_for("it has a partition");
    // They would outlive the file, and be the next one's.
    call("partx", &["-d", &device])?;
    refused
}

/// Every block is kept account of; where there are too many, nothing is written at all.
fn too_much() -> Result<(), Failed> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let file = folder.path().join("disk");
    File::create(&file)?.set_len(1 << 40)?;
    let disk = Loop { device: attach(&file)?, _folder: folder };
    let text = format!(
        r#"{{"targets": [{{"path": {:?}}}], "threads": 1, "depth": 8,
            "mix": {{"read_percent": 0, "write_percent": 100}}, "pattern": {{"kind": "uniform"}},
            "blocks": {{"kind": "one", "bytes": 512}}, "limits": {{"bytes": 1048576}},
            "verify": "after-writes"}}"#,
        disk.device
    );
    let workload: Workload = serde_json::from_str(&text).map_err(failed)?;
    let request = Request {
        workload: &workload,
        seats: &[],
        placed_as: None,
        token: &|_| Some((1_u64 << 40).to_string()),
        stop: &AtomicBool::new(false),
        watch: &|_| {},
        fallback: Fallback::None,
    };
    match run(&LiveRoot::open().map_err(failed)?, &request) {
        Err(error) if error.to_string().contains("account is kept of") => {}
        other => return Err(failed(format!("{other:?}"))),
    }
    let blocks = std::os::unix::fs::MetadataExt::blocks(&std::fs::metadata(&file)?);
    if blocks == 0 { Ok(()) } else { Err(failed(format!("{blocks} sectors were written"))) }
}

fn linked() -> Result<(), Failed> {
    let disk = Loop::new()?;
    let folder = tempfile::tempdir()?;
    let link = folder.path().join("disk");
    std::os::unix::fs::symlink(&disk.device, &link)?;
    let root = LiveRoot::open().map_err(failed)?;
    match guard(&root, &link, Some(&BYTES.to_string())) {
        Ok(_) => Err(failed("it was not refused")),
        Err(refused) if refused.to_string().contains("reached through a link") => Ok(()),
        Err(refused) => Err(failed(refused)),
    }
}

/// A whole run: writes, reads back, and the counters of the device agree.
fn written() -> Result<(), Failed> {
    let disk = Loop::new()?;
    let text = format!(
        r#"{{"targets": [{{"path": {:?}}}], "threads": 2, "depth": 8, "division": "pieces",
            "mix": {{"read_percent": 30, "write_percent": 70}}, "pattern": {{"kind": "uniform"}},
            "blocks": {{"kind": "one", "bytes": 4096}}, "limits": {{"bytes": 33554432}},
            "verify": "after-writes"}}"#,
        disk.device
    );
    let workload: Workload = serde_json::from_str(&text).map_err(failed)?;
    let go = |token: Option<String>| {
        let request = Request {
            workload: &workload,
            seats: &[],
            placed_as: None,
            token: &|_| token.clone(),
            stop: &AtomicBool::new(false),
            watch: &|_| {},
            fallback: Fallback::None,
        };
        run(&LiveRoot::open().map_err(failed)?, &request).map_err(failed)
    };
    if go(None).is_ok() {
        return Err(failed("it was written without being told which it is"));
    }
    let finished = go(Some(BYTES.to_string()))?;
    let measured = finished.outcome.measured().ok_or_else(|| failed(format!("{finished:?}")))?;
    let [device] = measured.devices.as_slice() else { return Err(failed("no counters")) };
    // What was read back is read of the device, too.
    let own = device.own_read.bytes + device.own_written.bytes;
    let done: u64 = measured.directions.iter().map(|direction| direction.bytes).sum();
    if done != 32 << 20 || own <= done || device.agreement != record::Agreement::Same {
        return Err(failed(format!("{device:?}")));
    }
    Ok(())
}
