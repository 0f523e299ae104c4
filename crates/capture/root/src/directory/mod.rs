// SPDX-License-Identifier: MIT OR Apache-2.0
//! Roots that are folders of the file system: the live machine, or a tree copied from one.

mod folders;

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use machine::{Fact, Why};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use self::folders::{Folder, Folders};
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
    /// Where the folder really is, without a slash at its end; empty for `/`.
    prefix: String,
    opener: Opener,
    folders: Folders,
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
        let prefix = real_path(&top).unwrap_or_default().trim_end_matches('/').to_owned();
        Ok(Self { top, path: path.to_owned(), prefix, opener, folders: Folders::default() })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn open_at(&self, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let relative = match path.trim_start_matches('/') {
            "" => ".",
            relative => relative,
        };
        // openat2 refuses flags that have no meaning beside O_PATH.
        let quiet = OFlags::NOCTTY | OFlags::NONBLOCK;
        let flags = if flags.contains(OFlags::PATH) { flags } else { flags | quiet };
        let flags = flags | OFlags::CLOEXEC;
        match self.opener {
            Opener::Plain => rustix::fs::openat(&self.top, relative, flags, Mode::empty()),
            Opener::InRoot => self.open_inside(path, relative, flags),
            Opener::Walk => {
                let last = if flags.contains(OFlags::NOFOLLOW) { Last::Keep } else { Last::Follow };
                let real = self.walk(path, last)?;
                let real = if real.is_empty() { "." } else { &real };
                rustix::fs::openat(&self.top, real, flags | OFlags::NOFOLLOW, Mode::empty())
            }
        }
    }

    /// Opens a file of a folder that is open already, unless it is a link.
    fn open_inside(&self, path: &str, relative: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        // Of a link, a folder or a mere place, these flags would open another thing.
        let is_file = !flags.intersects(OFlags::PATH | OFlags::DIRECTORY);
        if let Some((above, name)) = folders::split(path).filter(|_| is_file)
            && let Some(folder) = self.folders.get(above)
        {
            let flags = flags | OFlags::NOFOLLOW;
            let opened = rustix::fs::openat(&folder.fd, name, flags, Mode::empty());
            if !matches!(opened, Err(Errno::LOOP)) {
                return opened;
            }
        }
        self.open_in_root(relative, flags)
    }

    /// A folder inside the root, kept open for what is asked of it next.
    fn folder(&self, path: &str) -> Result<Arc<Folder>, Errno> {
        if let Some(known) = self.folders.get(path) {
            return Ok(known);
        }
        let folder = match folders::split(path) {
            Some((above, name)) => {
                self.folder(above)?.enter(name).or_else(|errno| match errno {
                    // A link, or no folder.
                    Errno::NOTDIR | Errno::LOOP => self.folder_by_path(path),
                    errno => Err(errno),
                })?
            }
            None => self.folder_by_path(path)?,
        };
        Ok(self.folders.keep(path, folder))
    }

    fn folder_by_path(&self, path: &str) -> Result<Folder, Errno> {
        let fd = self.open_at(path, OFlags::PATH | OFlags::DIRECTORY)?;
        let real = real_path(&fd).ok().and_then(|real| self.inside(&real).ok());
        Ok(Folder { fd, real })
    }

    /// The path from this root of what is there by the kernel's word.
    fn inside(&self, real: &str) -> Fact<String> {
        if real == self.prefix {
            return Ok("/".to_owned());
        }
        let inside = real.strip_prefix(&self.prefix).filter(|inside| inside.starts_with('/'));
        inside
            .map(str::to_owned)
            .ok_or_else(|| Why::Failed(format!("{real} is not below the root")))
    }

    /// What a name in a folder is, the link itself where it is one.
    fn entry(&self, above: &str, name: &str) -> Result<rustix::fs::Stat, Errno> {
        rustix::fs::statat(&self.folder(above)?.fd, name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Where a path is, if neither its folder nor its end need the kernel's word for it.
    fn plain_place(&self, path: &str) -> Result<Option<String>, Errno> {
        match self.folder(path) {
            Ok(folder) => return Ok(folder.real.clone()),
            Err(Errno::NOTDIR) => {}
            Err(errno) => return Err(errno),
        }
        let Some((above, name)) = folders::split(path) else { return Ok(None) };
        let is_link = is_link(&self.entry(above, name)?);
        Ok(if is_link { None } else { self.folder(above)?.below(name) })
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

    /// A path inside the folder without links, by reading each part.
    fn walk(&self, path: &str, last: Last) -> Result<String, Errno> {
        let mut pending: Vec<String> = parts(path).rev().map(str::to_owned).collect();
        let mut done: Vec<String> = Vec::new();
        let mut links = 0;
        while let Some(name) = pending.pop() {
            if name == ".." {
                done.pop();
                continue;
            }
            done.push(name);
            if pending.is_empty() && last == Last::Keep {
                break;
            }
            match rustix::fs::readlinkat(&self.top, done.join("/"), Vec::new()) {
                Err(Errno::INVAL) => {}
                Err(errno) => return Err(errno),
                Ok(target) => {
                    links += 1;
                    let target = target.into_string().map_err(|_| Errno::NOENT)?;
                    if links > MAX_LINKS {
                        return Err(Errno::LOOP);
                    }
                    done.pop();
                    if target.starts_with('/') {
                        done.clear();
                    }
                    pending.extend(parts(&target).rev().map(str::to_owned));
                }
            }
        }
        Ok(done.join("/"))
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
        for entry in rustix::fs::Dir::new(fd).map_err(why)? {
            let entry = entry.map_err(why)?;
            let name = entry.file_name().to_str().unwrap_or_default();
            if !matches!(name, "" | "." | "..") {
                names.push(name.to_owned());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn link(&self, path: &str) -> Fact<String> {
        let target = match (self.opener, folders::split(path)) {
            (Opener::Plain, _) => {
                let relative = path.trim_start_matches('/');
                rustix::fs::readlinkat(&self.top, relative, Vec::new())
            }
            (Opener::InRoot, Some((above, name))) => {
                let folder = self.folder(above).map_err(why)?;
                rustix::fs::readlinkat(&folder.fd, name, Vec::new())
            }
            _ => {
                let fd = self.open_at(path, OFlags::PATH | OFlags::NOFOLLOW).map_err(why)?;
                // Of an open file that is no link, an empty path says ENOENT.
                rustix::fs::readlinkat(&fd, c"", Vec::new()).map_err(|errno| match errno {
                    Errno::NOENT => Errno::INVAL,
                    other => other,
                })
            }
        };
        let target = target.map_err(why)?;
        target.into_string().map_err(|_| Why::Unparsed("a link that is no UTF-8".to_owned()))
    }

    fn resolve(&self, path: &str) -> Fact<String> {
        if self.opener == Opener::Walk {
            let real = self.walk(path, Last::Follow).map_err(why)?;
            self.open_at(&real, OFlags::PATH).map_err(why)?;
            return Ok(format!("/{real}"));
        }
        if self.opener == Opener::InRoot
            && let Some(real) = self.plain_place(path).map_err(why)?
        {
            return Ok(real);
        }
        let fd = self.open_at(path, OFlags::PATH).map_err(why)?;
        let Ok(real) = real_path(&fd) else {
            // No /proc to ask.
            return Ok(format!("/{}", self.walk(path, Last::Follow).map_err(why)?));
        };
        self.inside(&real)
    }

    fn mode(&self, path: &str) -> Fact<u32> {
        if let (Opener::InRoot, Some((above, name))) = (self.opener, folders::split(path)) {
            let entry = self.entry(above, name).map_err(why)?;
            if !is_link(&entry) {
                return Ok(entry.st_mode & 0o7777);
            }
        }
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

/// Where an open file is, with all links resolved, by the kernel's own word.
fn real_path(fd: &OwnedFd) -> Fact<String> {
    let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let target = rustix::fs::readlink(link, Vec::new()).map_err(why)?;
    target.into_string().map_err(|_| Why::Unparsed("a path that is no UTF-8".to_owned()))
}

fn is_link(entry: &rustix::fs::Stat) -> bool {
    FileType::from_raw_mode(entry.st_mode) == FileType::Symlink
}

fn why(errno: Errno) -> Why {
    match errno {
        // The object vanished between listing and reading, was never there, or is a folder.
        Errno::NOENT
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
            "/none",
            "sys/empty",
            "/sys//bus/./1/",
        ];
        for root in &roots {
            for path in paths {
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
