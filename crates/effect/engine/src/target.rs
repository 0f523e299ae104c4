// SPDX-License-Identifier: MIT OR Apache-2.0
//! The block devices and files of a run: looked at, held, made, opened.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use record::{Access, Cache, Path as Way, Workload};
use root::{LiveRoot, Root as _};

use crate::Error;
use crate::draw::{self, Random, Stretch};
use crate::guard::{self, Guard, block_of, number};
use crate::nvme::Namespace;

/// A target that is ready.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
    /// Its length in bytes.
    pub(crate) bytes: u64,
    /// What places and sizes must be a multiple of with direct access, in bytes.
    pub(crate) block: u64,
    /// The number of the block device that it is, or lies on; none where there is none.
    pub(crate) number: Option<String>,
    /// That device's name.
    pub(crate) device: Option<String>,
    /// For commands.
    pub(crate) namespace: Option<Namespace>,
    guard: Option<Guard>,
    /// Taken away with it.
    _made: Option<Made>,
}

/// What a target is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Block,
    File,
    Commands,
}

/// A file that was made for runs; taken away with it.
#[derive(Debug)]
pub struct Made(PathBuf);

impl Made {
    /// Makes a file with contents, drawn from a seed.
    ///
    /// # Errors
    /// It is there already, there is no room, it would lie in `/dev`, or it was stopped.
    pub fn lay_out(path: &Path, bytes: u64, seed: u64, stop: &AtomicBool) -> Result<Self, Error> {
        Ok(new_file(path, bytes, seed, stop)?.0)
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        // It was made a moment ago with O_EXCL, and nothing else is known to be wanted of it.
        let _ = fs::remove_file(&self.0);
    }
}

/// Gets all targets of a workload ready. `token` gives what a device is to be known by.
///
/// # Errors
/// What cannot be opened, held or made, does not fit, or was stopped while it was made.
pub(crate) fn ready(
    root: &LiveRoot,
    workload: &Workload,
    token: &dyn Fn(&str) -> Option<String>,
    stop: &AtomicBool,
) -> Result<Vec<Target>, Error> {
    let one = |target: &record::Target| {
        let path = Path::new(&target.path);
        let ready = match target.make_bytes {
            Some(bytes) => make(path, bytes, workload.seed, stop),
            None => find(root, path, workload, token),
        }?;
        ready.check(workload)?;
        let device = ready.number.as_deref().and_then(|number| name_of(root, number));
        Ok(Target { device, ..ready })
    };
    workload.targets.iter().map(one).collect()
}

/// The name of a block device by its number.
fn name_of(root: &LiveRoot, number: &str) -> Option<String> {
    let path = root.resolve(&format!("/sys/dev/block/{number}")).ok()?;
    path.rsplit('/').next().map(str::to_owned)
}

fn find(
    root: &LiveRoot,
    path: &Path,
    workload: &Workload,
    token: &dyn Fn(&str) -> Option<String>,
) -> Result<Target, Error> {
    // A file that is there is read, and never written: what stands in it is somebody's.
    let held = match workload.mix.destroys() {
        true => Some(guard::guard(root, path, token(&path.to_string_lossy()).as_deref())?),
        false => None,
    };
    let open = |source| Error::Open { path: path.to_owned(), source };
    let metadata = fs::metadata(path).map_err(open)?;
    let kind = metadata.file_type();
    if kind.is_block_device() {
        return block(path, metadata.rdev(), held);
    }
    if kind.is_file() && held.is_some() {
        // A device was held under this name: what is there now is somebody's file.
        let what = "it became a plain file".to_owned();
        return Err(Error::Target { path: path.to_owned(), what });
    }
    if kind.is_file() {
        return Ok(Target {
            path: path.to_owned(),
            kind: Kind::File,
            bytes: metadata.len(),
            block: file_block(path),
            number: on_device(metadata.dev()),
            device: None,
            namespace: None,
            guard: None,
            _made: None,
        });
    }
    commands(root, path, held)
}

fn block(path: &Path, device: u64, guard: Option<Guard>) -> Result<Target, Error> {
    let open = |source| Error::Open { path: path.to_owned(), source };
    let file = File::open(path).map_err(open)?;
    let bytes = rustix::fs::seek(&file, rustix::fs::SeekFrom::End(0));
    let block = rustix::fs::ioctl_blksszget(&file);
    Ok(Target {
        path: path.to_owned(),
        kind: Kind::Block,
        bytes: bytes.map_err(|error| open(error.into()))?,
        block: block.map_err(|error| open(error.into()))?.into(),
        number: Some(number(device)),
        device: None,
        namespace: None,
        guard,
        _made: None,
    })
}

/// A device for commands: its block device tells its size, and the kernel's files its limits.
fn commands(root: &LiveRoot, path: &Path, guard: Option<Guard>) -> Result<Target, Error> {
    let bad = |what: &str| Error::Target { path: path.to_owned(), what: what.to_owned() };
    let node = block_of(root, path).ok_or_else(|| bad("neither a block device nor a file"))?;
    let device =
        fs::metadata(&node).map_err(|source| Error::Open { path: node.clone(), source })?;
    let target = block(&node, device.rdev(), guard)?;
    let name = node.file_name().unwrap_or_default().to_string_lossy();
    let number = |file: &str| {
        let text = root::text(root, &format!("/sys/block/{name}/{file}")).ok()?;
        text.parse::<u32>().ok()
    };
    let namespace = Namespace {
        number: number("nsid").ok_or_else(|| bad("its namespace's number is unknown"))?,
        block_shift: target.block.ilog2(),
        longest: number("queue/max_hw_sectors_kb").unwrap_or(128).saturating_mul(1024),
    };
    Ok(Target { path: path.to_owned(), kind: Kind::Commands, namespace: Some(namespace), ..target })
}

/// A file as a target of one run.
fn make(path: &Path, bytes: u64, seed: u64, stop: &AtomicBool) -> Result<Target, Error> {
    let (made, device) = new_file(path, bytes, seed, stop)?;
    Ok(Target {
        path: path.to_owned(),
        kind: Kind::File,
        bytes,
        block: file_block(path),
        number: on_device(device),
        device: None,
        namespace: None,
        guard: None,
        _made: Some(made),
    })
}

/// Makes a file: laid out for real, with contents, for extents that are only allocated are answered
/// without the device.
fn new_file(path: &Path, bytes: u64, seed: u64, stop: &AtomicBool) -> Result<(Made, u64), Error> {
    let open = |source| Error::Open { path: path.to_owned(), source };
    let bad = |what: &str| Error::Target { path: path.to_owned(), what: what.to_owned() };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = fs::canonicalize(folder.unwrap_or(Path::new("."))).map_err(open)?;
    if folder.starts_with("/dev") && !folder.starts_with("/dev/shm") {
        return Err(bad("no file is made below /dev: it would be one in memory"));
    }
    let mut file =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(open)?;
    let made = Made(path.to_owned());
    let made_all = lay_out(&mut file, bytes, seed, stop).map_err(open)?;
    if !made_all {
        return Err(Error::Stopped);
    }
    let metadata = file.metadata().map_err(open)?;
    Ok((made, metadata.dev()))
}

/// Writes all of a file. False where it was stopped.
fn lay_out(file: &mut File, bytes: u64, seed: u64, stop: &AtomicBool) -> io::Result<bool> {
    /// So much is on its way to the device at most: what is in memory is not stopped.
    const PORTION: u64 = 64 << 20;
    let mut random = Random::of(seed, u64::MAX - 1);
    let mut piece = vec![0; 1 << 20];
    let mut left = bytes;
    while left > 0 {
        if stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        random.fill(&mut piece);
        let length = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
        file.write_all(piece.get(..length).unwrap_or_default())?;
        left -= length as u64;
        if left.is_multiple_of(PORTION) {
            file.sync_data()?;
        }
    }
    file.sync_all()?;
    // What stays in the page cache would answer reads that are not direct.
    let _ = rustix::fs::fadvise(&*file, 0, None, rustix::fs::Advice::DontNeed);
    Ok(true)
}

/// What direct access to a file must be a multiple of; 512 where the kernel does not tell.
fn file_block(path: &Path) -> u64 {
    use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
    /// `STATX_DIOALIGN` (include/uapi/linux/stat.h), since 6.1.
    const DIRECT: u32 = 0x2000;
    let told = statx(CWD, path, AtFlags::empty(), StatxFlags::from_bits_retain(DIRECT)).ok();
    let told = told.filter(|told| told.stx_mask & DIRECT != 0);
    told.map_or(512, |told| u64::from(told.stx_dio_offset_align)).max(1)
}

/// The number of the device that a file lies on; none for file systems without one.
fn on_device(device: u64) -> Option<String> {
    (rustix::fs::major(device) != 0).then(|| number(device))
}

impl Target {
    /// Holds that the workload fits.
    fn check(&self, workload: &Workload) -> Result<(), Error> {
        let bad = |what: String| Err(Error::Target { path: self.path.clone(), what });
        let is_commands = self.kind == Kind::Commands;
        if is_commands != (workload.access.path == Way::Passthrough) {
            return bad("commands go to /dev/ngXnY, and nothing else does".to_owned());
        }
        let stretch = self.stretch(workload);
        let largest = draw::largest(workload);
        if largest > stretch.bytes {
            return bad(format!("{} bytes are fewer than one operation", stretch.bytes));
        }
        if u32::try_from(largest).is_err() || i32::try_from(largest).is_err() {
            return bad(format!("{largest} bytes are more than one operation can have"));
        }
        if workload.access.cache == Cache::Direct && !self.is_aligned(workload) {
            let block = self.block;
            return bad(format!("places and sizes must be multiples of its {block} bytes a block"));
        }
        Ok(())
    }

    fn is_aligned(&self, workload: &Workload) -> bool {
        let sizes = |blocks: &record::Blocks| match blocks {
            record::Blocks::Shares { shares } => shares.iter().map(|share| share.bytes).collect(),
            blocks => vec![blocks.min_bytes(), blocks.max_bytes()],
        };
        let mut all = sizes(&workload.blocks);
        all.extend(workload.write_blocks.iter().flat_map(sizes));
        all.push(workload.offset_bytes);
        all.iter().all(|number| number % self.block == 0)
    }

    /// The part of it that a workload uses.
    pub(crate) fn stretch(&self, workload: &Workload) -> Stretch {
        let start = workload.offset_bytes.min(self.bytes);
        let rest = self.bytes - start;
        let bytes = workload.length_bytes.map_or(rest, |length| length.min(rest));
        Stretch { start, bytes, step: draw::step(workload).max(1) }
    }

    /// Opens it once more, for one thread. Nothing is ever made, and what was held is what is opened.
    pub(crate) fn open(&self, access: Access, writes: bool) -> Result<File, Error> {
        let open = |source| Error::Open { path: self.path.clone(), source };
        let is_direct = access.cache == Cache::Direct && self.kind != Kind::Commands;
        let flags = libc::O_CLOEXEC | if is_direct { libc::O_DIRECT } else { 0 };
        let with = |flags| {
            OpenOptions::new().read(true).write(writes).custom_flags(flags).open(&self.path)
        };
        // Looking whether the time of access is due costs 5 % of a read that no device answers. Only
        // a file's owner may do without (open(2), O_NOATIME).
        let file = match self.kind {
            Kind::File => with(flags | libc::O_NOATIME).or_else(|_| with(flags)),
            Kind::Block | Kind::Commands => with(flags),
        };
        let file = file.map_err(open)?;
        let held = self.guard.as_ref().filter(|_| self.kind == Kind::Block);
        if let Some(held) = held.map(Guard::number).transpose().map_err(open)?
            && file.metadata().map_err(open)?.rdev() != held
        {
            let what = "it became another device".to_owned();
            return Err(Error::Target { path: self.path.clone(), what });
        }
        Ok(file)
    }

    /// Opens what can be looked at of it: the block device of a device for commands.
    pub(crate) fn open_to_look(&self, root: &LiveRoot) -> Result<File, Error> {
        let commands = (self.kind == Kind::Commands).then(|| block_of(root, &self.path)).flatten();
        let path = commands.unwrap_or_else(|| self.path.clone());
        let options = |flags| OpenOptions::new().read(true).custom_flags(flags).open(&path);
        // A file system that has no direct access can still tell what it is.
        let direct = options(libc::O_DIRECT | libc::O_CLOEXEC);
        let opened = direct.or_else(|_| options(libc::O_CLOEXEC));
        opened.map_err(|source| Error::Open { path, source })
    }

    /// What it is called in a result: its path.
    pub(crate) fn name(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made;

    static NEVER: AtomicBool = AtomicBool::new(false);

    #[test]
    fn a_file_that_is_stopped_while_it_is_made_goes() {
        let folder = tempfile::tempdir_in(made::folder()).unwrap();
        let path = folder.path().join("file");
        let error = make(&path, 1 << 40, 1, &AtomicBool::new(true)).unwrap_err();
        assert!(matches!(error, Error::Stopped) && !path.exists());
    }

    #[test]
    fn a_made_file_is_laid_out_and_taken_away() {
        let folder = tempfile::tempdir_in(made::folder()).unwrap();
        let path = folder.path().join("file");
        let target = make(&path, 3 << 20, 1, &NEVER).unwrap();
        assert_eq!((target.bytes, fs::metadata(&path).unwrap().len()), (3 << 20, 3 << 20));
        assert!(make(&path, 1, 1, &NEVER).is_err(), "a file that is there is not made again");
        drop(target);
        assert!(!path.exists());
    }

    #[test]
    fn nothing_is_made_below_dev() {
        let path = Path::new("/dev/nearside-test-typo");
        let error = make(path, 1 << 20, 1, &NEVER).unwrap_err();
        assert!(error.to_string().contains("no file is made below /dev"), "{error}");
        assert!(!path.exists());
    }

    #[test]
    fn what_does_not_fit_is_refused_before_anything_is_done() {
        let folder = tempfile::tempdir_in(made::folder()).unwrap();
        let target = make(&folder.path().join("file"), 1 << 20, 1, &NEVER).unwrap();
        let target = Target { block: 4096, ..target };
        let text = |workload: &Workload| target.check(workload).err().map(|e| e.to_string());
        let workload = made::workload("any");
        assert_eq!(text(&workload), None);
        let small = record::Blocks::One { bytes: 512 };
        let half = Workload { blocks: small, ..workload.clone() };
        assert!(text(&half).unwrap().contains("4096 bytes a block"));
        let odd = Workload { offset_bytes: 512, ..workload.clone() };
        assert!(text(&odd).unwrap().contains("4096 bytes a block"));
        let late = Workload { offset_bytes: 2 << 20, ..workload.clone() };
        assert!(text(&late).unwrap().contains("fewer than one operation"));
        let access = Access { path: Way::Passthrough, ..Access::default() };
        assert!(text(&Workload { access, ..workload }).unwrap().contains("/dev/ngXnY"));
    }
}
