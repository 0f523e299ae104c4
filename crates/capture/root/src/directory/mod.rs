// SPDX-License-Identifier: MIT OR Apache-2.0
//! Roots that are folders of the file system: the live machine, or a tree copied from one.

mod plain;

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use machine::{Fact, Why};
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use self::plain::Plain;
use crate::bounded::{Bounded, MOST};
use crate::memory::parts;
use crate::{OpenError, Question, Root, SMALL};

/// The most that a text attribute of sysfs has: one page (Documentation/filesystems/sysfs.rst).
/// Nearly all files of a machine fit, so that one call reads them.
const PAGE: usize = 4096;

/// As many links as Linux follows in one path.
const MAX_LINKS: usize = 40;

/// As often as a resolution that raced with a rename is tried again.
const RACES: usize = 8;

/// A copied tree in a folder. Links are resolved inside it, as if it were `/`.
#[derive(Debug)]
pub struct DirRoot {
    top: OwnedFd,
    path: PathBuf,
    opener: Opener,
    plain: Plain,
}

/// How links are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opener {
    /// As the kernel does: the folder is the live `/`.
    Plain,
    /// By the kernel, inside the folder: `openat2`, Linux 5.6.
    InRoot,
    /// By us, inside the folder: older kernels, and containers that forbid `openat2`.
    Walk,
}

/// A file that is open, and what the kernel says of it where it was asked.
struct Readable {
    fd: OwnedFd,
    stat: Option<rustix::fs::Stat>,
}

/// Whether a link at the end of a path is followed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Follow,
    Keep,
}

/// How far a walk came.
struct Walk {
    /// A path without links; nothing for the root's own folder.
    at: String,
    /// Bytes of it that were walked through, so that they are folders.
    through: usize,
    links: usize,
}

impl Walk {
    /// Goes back to where a link starts from.
    fn follow(&mut self, target: &str, above: usize) -> Result<(), Errno> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(Errno::LOOP);
        }
        self.at.truncate(if target.starts_with('/') { 0 } else { above });
        Ok(())
    }
}

impl DirRoot {
    /// Opens a folder that holds `sys` or `proc`.
    ///
    /// # Errors
    /// The folder cannot be opened.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let mut root = Self::open_with(path, Opener::InRoot)?;
        if root.open_at("/", OFlags::PATH).is_err() {
            root.opener = Opener::Walk;
        }
        Ok(root)
    }

    fn open_with(path: &Path, opener: Opener) -> Result<Self, OpenError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let top = rustix::fs::open(path, flags, Mode::empty())
            .map_err(|errno| OpenError::Io { path: path.to_owned(), source: errno.into() })?;
        Ok(Self { top, path: path.to_owned(), opener, plain: Plain::default() })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn open_at(&self, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        // openat2 refuses flags that have no meaning beside O_PATH.
        let quiet = OFlags::NOCTTY | OFlags::NONBLOCK;
        let flags = if flags.contains(OFlags::PATH) { flags } else { flags | quiet };
        let flags = flags | OFlags::CLOEXEC;
        match self.opener {
            Opener::Plain => rustix::fs::openat(&self.top, relative(path), flags, Mode::empty()),
            Opener::InRoot => self.open_in_root(relative(path), flags),
            Opener::Walk => {
                let last = if flags.contains(OFlags::NOFOLLOW) { Last::Keep } else { Last::Follow };
                let real = self.walk(path, last)?;
                let flags = flags | OFlags::NOFOLLOW;
                rustix::fs::openat(&self.top, relative(&real), flags, Mode::empty())
            }
        }
    }

    fn open_in_root(&self, relative: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        let open = || rustix::fs::openat2(&self.top, relative, flags, Mode::empty(), resolve);
        let mut opened = open();
        for _ in 0..RACES {
            if !matches!(opened, Err(Errno::AGAIN | Errno::INTR)) {
                break;
            }
            opened = open();
        }
        opened
    }

    /// A path inside the folder without links, by reading each part that is not known for none.
    fn walk(&self, path: &str, last: Last) -> Result<String, Errno> {
        let (start, rest) = self.plain.start(path);
        let mut walk = Walk { at: start.to_owned(), through: 0, links: 0 };
        let mut pending: Vec<String> = parts(rest).rev().map(str::to_owned).collect();
        while let Some(name) = pending.pop() {
            if name == ".." {
                self.climb(&mut walk)?;
                continue;
            }
            let above = walk.at.len();
            walk.at.push('/');
            walk.at.push_str(&name);
            if pending.is_empty() && last == Last::Keep {
                break;
            }
            if let Some(target) = self.target(&walk.at)? {
                walk.follow(&target, above)?;
                pending.extend(parts(&target).rev().map(str::to_owned));
            }
            walk.through = walk.through.max(above).min(walk.at.len());
        }
        Ok(if walk.at.is_empty() { "/".to_owned() } else { walk.at })
    }

    /// Where a link leads; none of what is there and no link.
    fn target(&self, at: &str) -> Result<Option<String>, Errno> {
        if self.plain.knows(at) {
            return Ok(None);
        }
        match rustix::fs::readlinkat(&self.top, relative(at), Vec::new()) {
            Ok(target) => target.into_string().map(Some).map_err(|_| Errno::NOENT),
            Err(Errno::INVAL) => {
                self.plain.keep(at);
                Ok(None)
            }
            Err(errno) => Err(errno),
        }
    }

    /// Takes `..`, which leads nowhere from what is no folder or may not be searched.
    fn climb(&self, walk: &mut Walk) -> Result<(), Errno> {
        if walk.at.len() > walk.through {
            let up = format!("{}/..", relative(&walk.at));
            match rustix::fs::readlinkat(&self.top, up, Vec::new()) {
                Ok(_) | Err(Errno::INVAL) => {}
                Err(errno) => return Err(errno),
            }
        }
        walk.at.truncate(walk.at.rfind('/').unwrap_or(0));
        walk.through = walk.through.min(walk.at.len());
        Ok(())
    }

    /// A file that may be read.
    ///
    /// Nothing but a plain file is read from a copied tree, so that a FIFO or a device in a hostile
    /// one cannot hang or endlessly feed the reader. In the kernel's own trees all files are plain.
    fn readable(&self, path: &str) -> Fact<Readable> {
        let fd = self.open_at(path, OFlags::RDONLY).map_err(why)?;
        if self.opener == Opener::Plain {
            return Ok(Readable { fd, stat: None });
        }
        let stat = rustix::fs::fstat(&fd).map_err(why)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok(Readable { fd, stat: Some(stat) }),
            FileType::Directory => Err(Why::Absent),
            _ => Err(Why::Failed("no regular file".to_owned())),
        }
    }

    fn content(&self, path: &str, file: Readable) -> Fact<Vec<u8>> {
        let Readable { fd, stat } = file;
        let size = stat.and_then(|stat| usize::try_from(stat.st_size).ok());
        let mut page = [MaybeUninit::<u8>::uninit(); PAGE];
        let mut first = || rustix::io::read(&fd, &mut page[..]).map(|(read, _)| read.to_vec());
        let mut bytes = rustix::io::retry_on_intr(&mut first).map_err(why)?;
        if !self.ends(path, size, bytes.len()) {
            let rest = (SMALL - bytes.len()) as u64;
            let read = File::from(fd).take(rest).read_to_end(&mut bytes);
            read.map_err(|error| why_io(&error))?;
        }
        Ok(bytes)
    }

    /// Whether a file ends after what one read gave. What sysfs says of sizes is never less than
    /// a page, so a copy whose size is what was read is whole; a text attribute is given whole.
    fn ends(&self, path: &str, size: Option<usize>, read: usize) -> bool {
        read == 0
            || size == Some(read)
            || (self.opener == Opener::Plain && path.starts_with("/sys/") && read < PAGE)
    }
}

impl Root for DirRoot {
    fn read(&self, path: &str) -> Fact<Vec<u8>> {
        self.content(path, self.readable(path)?)
    }

    fn read_with_mode(&self, path: &str) -> (Fact<Vec<u8>>, Fact<u32>) {
        let file = match self.readable(path) {
            Ok(file) => file,
            Err(why) => return (Err(why), self.mode(path)),
        };
        let stat = file.stat.map_or_else(|| rustix::fs::fstat(&file.fd), Ok);
        let mode = stat.map(|stat| stat.st_mode & 0o7777).map_err(why);
        (self.content(path, file), mode)
    }

    fn head(&self, path: &str, most: usize) -> Fact<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = File::from(self.readable(path)?.fd).take(most as u64).read_to_end(&mut bytes);
        read.map_err(|error| why_io(&error))?;
        Ok(bytes)
    }

    fn stream(&self, path: &str) -> Fact<Box<dyn BufRead + '_>> {
        let file = File::from(self.readable(path)?.fd);
        let mut reader = BufReader::with_capacity(1 << 16, file);
        // A folder opens and cannot be read; a file that refuses should do so now.
        reader.fill_buf().map_err(|error| why_io(&error))?;
        if self.opener == Opener::Plain {
            return Ok(Box::new(reader));
        }
        Ok(Box::new(Bounded::new(reader, MOST)))
    }

    fn list(&self, path: &str) -> Fact<Vec<String>> {
        let fd = self.open_at(path, OFlags::RDONLY | OFlags::DIRECTORY).map_err(why)?;
        let mut names = Vec::new();
        let is_plain = self.plain.knows(path);
        for entry in rustix::fs::Dir::new(fd).map_err(why)? {
            let entry = entry.map_err(why)?;
            let name = entry.file_name().to_str().unwrap_or_default();
            if matches!(name, "" | "." | "..") {
                continue;
            }
            if is_plain && entry.file_type() == FileType::Directory {
                self.plain.keep(&format!("{path}/{name}"));
            }
            names.push(name.to_owned());
        }
        names.sort_unstable();
        Ok(names)
    }

    fn link(&self, path: &str) -> Fact<String> {
        let fd = self.open_at(path, OFlags::PATH | OFlags::NOFOLLOW).map_err(why)?;
        // Of an open file that is no link, an empty path says ENOENT.
        let target = rustix::fs::readlinkat(&fd, c"", Vec::new()).map_err(|errno| match errno {
            Errno::NOENT => Why::NotSupported,
            other => why(other),
        })?;
        target.into_string().map_err(|_| Why::Unparsed("a link that is no UTF-8".to_owned()))
    }

    fn resolve(&self, path: &str) -> Fact<String> {
        self.walk(path, Last::Follow).map_err(why)
    }

    fn mode(&self, path: &str) -> Fact<u32> {
        let fd = self.open_at(path, OFlags::PATH).map_err(why)?;
        Ok(rustix::fs::fstat(&fd).map_err(why)?.st_mode & 0o7777)
    }

    fn ask(&self, _: &Question) -> Fact<String> {
        Err(Why::Absent)
    }
}

/// The machine that this process runs on: the only root that answers questions, and the only one
/// that what changes a machine will accept.
#[derive(Debug)]
pub struct LiveRoot {
    files: DirRoot,
}

impl LiveRoot {
    /// The live machine.
    ///
    /// # Errors
    /// `/` cannot be opened.
    pub fn open() -> Result<Self, OpenError> {
        Ok(Self { files: DirRoot::open_with(Path::new("/"), Opener::Plain)? })
    }
}

impl Root for LiveRoot {
    fn read(&self, path: &str) -> Fact<Vec<u8>> {
        self.files.read(path)
    }

    fn read_with_mode(&self, path: &str) -> (Fact<Vec<u8>>, Fact<u32>) {
        self.files.read_with_mode(path)
    }

    fn head(&self, path: &str, most: usize) -> Fact<Vec<u8>> {
        self.files.head(path, most)
    }

    fn stream(&self, path: &str) -> Fact<Box<dyn BufRead + '_>> {
        self.files.stream(path)
    }

    fn list(&self, path: &str) -> Fact<Vec<String>> {
        self.files.list(path)
    }

    fn link(&self, path: &str) -> Fact<String> {
        self.files.link(path)
    }

    fn resolve(&self, path: &str) -> Fact<String> {
        self.files.resolve(path)
    }

    fn mode(&self, path: &str) -> Fact<u32> {
        self.files.mode(path)
    }

    fn ask(&self, question: &Question) -> Fact<String> {
        crate::live::answer(question)
    }
}

/// A path from the root's own folder.
fn relative(path: &str) -> &str {
    match path.trim_start_matches('/') {
        "" => ".",
        relative => relative,
    }
}

fn why(errno: Errno) -> Why {
    match errno {
        // The object vanished between listing and reading (a process: ESRCH), was never there, or is
        // a folder.
        Errno::NOENT
        | Errno::SRCH
        | Errno::NODEV
        | Errno::NXIO
        | Errno::NOTDIR
        | Errno::ISDIR
        | Errno::NAMETOOLONG => Why::Absent,
        Errno::ACCESS | Errno::PERM => Why::Denied,
        Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS => Why::NotSupported,
        Errno::LOOP => Why::Failed("too many links".to_owned()),
        other => Why::Failed(other.to_string()),
    }
}

fn why_io(error: &std::io::Error) -> Why {
    Errno::from_io_error(error).map_or_else(|| Why::Failed(error.to_string()), why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryRoot;

    fn tree() -> MemoryRoot {
        let mut root = MemoryRoot::new();
        root.file("/sys/devices/pci0000:00/numa_node", "0\n")
            .file("/sys/long", vec![b'x'; 3 * PAGE + 7])
            .file("/sys/page", vec![b'x'; PAGE])
            .file("/sys/empty", "")
            .symlink("/sys/bus/0", "../devices/pci0000:00")
            .symlink("/sys/bus/1", "0")
            .symlink("/sys/absolute", "/sys/long")
            .symlink("/sys/out", "../../../../../../sys/long")
            .symlink("/sys/round", "/sys/devices/pci0000:00/../../long")
            .symlink("/sys/devices/up", "/sys/bus/1/..")
            .symlink("/sys/dangling", "nowhere")
            .symlink("/sys/loop", "loop")
            .symlink("/sys/passwd", "/etc/passwd");
        root
    }

    fn roots() -> (tempfile::TempDir, [DirRoot; 2]) {
        let folder = tempfile::tempdir().unwrap();
        tree().write_to(folder.path()).unwrap();
        let open = |opener| DirRoot::open_with(folder.path(), opener).unwrap();
        let roots = [open(Opener::InRoot), open(Opener::Walk)];
        (folder, roots)
    }

    #[test]
    fn a_folder_answers_as_memory_does_with_or_without_openat2() {
        let (_folder, roots) = roots();
        let memory = tree();
        let paths = [
            "/",
            "/sys",
            "/sys/devices/pci0000:00/numa_node",
            "/sys/long",
            "/sys/page",
            "/sys/empty",
            "/sys/bus/0",
            "/sys/bus/1",
            "/sys/bus/1/numa_node",
            "/sys/absolute",
            "/sys/out",
            "/sys/dangling",
            "/sys/loop",
            "/sys/passwd",
            "/sys/bus/0/../pci0000:00/numa_node",
            "/../../sys/long",
            "/sys/long/below",
            "/sys/round",
            "/sys/round/..",
            "/sys/long/../empty",
            "/sys/devices/up",
            "/sys/devices/up/pci0000:00/numa_node",
            "/sys/devices/../none/../empty",
            "/none",
            "sys/empty",
            "/sys//bus/./1/",
        ];
        // What was listed or resolved before must not change an answer.
        let twice = paths.iter().chain(&paths);
        for root in &roots {
            for path in twice.clone() {
                let name = format!("{path} by {:?}", root.opener);
                assert_eq!(root.read(path), memory.read(path), "read {name}");
                assert_eq!(root.list(path), memory.list(path), "list {name}");
                assert_eq!(root.resolve(path), memory.resolve(path), "resolve {name}");
                assert_eq!(root.mode(path), memory.mode(path), "mode {name}");
                if !path.ends_with('/') {
                    assert_eq!(root.link(path), memory.link(path), "link {name}");
                }
                let whole = |root: &dyn Root| {
                    root.stream(path).map(|mut stream| {
                        let mut bytes = Vec::new();
                        stream.read_to_end(&mut bytes).unwrap();
                        bytes
                    })
                };
                assert_eq!(whole(root), whole(&memory), "stream {name}");
            }
        }
    }

    #[test]
    fn what_is_no_plain_file_is_not_read() {
        let (folder, roots) = roots();
        let fifo = folder.path().join("fifo");
        let mode = Mode::from_raw_mode(0o644);
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, FileType::Fifo, mode, 0).unwrap();
        for root in roots {
            assert_eq!(root.read("/fifo"), Err(Why::Failed("no regular file".to_owned())));
            assert_eq!(root.stream("/fifo").err(), Some(Why::Failed("no regular file".to_owned())));
        }
    }

    #[test]
    fn the_live_machine_reads_itself() {
        let root = LiveRoot::open().unwrap();
        assert!(root.read("/proc/cpuinfo").unwrap().len() > 100);
        assert_eq!(
            root.list("/sys/devices/system/cpu/cpu0").is_ok(),
            root.mode("/sys/devices/system/cpu/cpu0").is_ok()
        );
        assert_eq!(root.read("/sys/devices"), Err(Why::Absent));
        assert_eq!(root.link("/proc/self/nothing"), Err(Why::Absent));
        assert_eq!(
            root.read("/proc/self/stat").unwrap().first(),
            root.read("/proc/self/stat").unwrap().first()
        );
    }
}
