// SPDX-License-Identifier: MIT OR Apache-2.0
//! Roots that are folders of the file system: the live machine, or a tree copied from one.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use machine::{Fact, Why};
use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::{OpenError, Question, Root, SMALL};

/// A copied tree in a folder. Links are resolved inside it (`RESOLVE_IN_ROOT`), as if it were `/`.
#[derive(Debug)]
pub struct DirRoot {
    top: OwnedFd,
    path: PathBuf,
    /// Where the folder really is, without a slash at its end; empty for `/`.
    prefix: String,
    resolve: ResolveFlags,
}

impl DirRoot {
    /// Opens a folder that holds `sys` or `proc`.
    ///
    /// # Errors
    /// The folder cannot be opened.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        Self::open_with(path, ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS)
    }

    fn open_with(path: &Path, resolve: ResolveFlags) -> Result<Self, OpenError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let top = rustix::fs::open(path, flags, Mode::empty())
            .map_err(|errno| OpenError::Io { path: path.to_owned(), source: errno.into() })?;
        let prefix = real_path(&top).unwrap_or_default().trim_end_matches('/').to_owned();
        Ok(Self { top, path: path.to_owned(), prefix, resolve })
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
        // openat2 refuses O_PATH together with flags that only an opened file can have.
        let quiet = match flags.contains(OFlags::PATH) {
            true => OFlags::CLOEXEC,
            false => OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK,
        };
        let flags = flags | quiet;
        rustix::fs::openat2(&self.top, relative, flags, Mode::empty(), self.resolve)
    }
}

/// A file of the kernel's or of a copied tree: nothing but a regular file is read, so that a FIFO
/// or a device in a hostile tree cannot hang or endlessly feed the reader.
fn regular(fd: OwnedFd) -> Fact<File> {
    let stat = rustix::fs::fstat(&fd).map_err(why)?;
    match rustix::fs::FileType::from_raw_mode(stat.st_mode) {
        rustix::fs::FileType::RegularFile => Ok(File::from(fd)),
        rustix::fs::FileType::Directory => Err(Why::Absent),
        _ => Err(Why::Failed("no regular file".to_owned())),
    }
}

impl Root for DirRoot {
    fn read(&self, path: &str) -> Fact<Vec<u8>> {
        let file = regular(self.open_at(path, OFlags::RDONLY).map_err(why)?)?;
        let mut bytes = Vec::with_capacity(256);
        file.take(SMALL as u64).read_to_end(&mut bytes).map_err(|error| why_io(&error))?;
        Ok(bytes)
    }

    fn stream(&self, path: &str) -> Fact<Box<dyn BufRead + '_>> {
        let file = regular(self.open_at(path, OFlags::RDONLY).map_err(why)?)?;
        Ok(Box::new(BufReader::with_capacity(1 << 16, file)))
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
        let fd = self.open_at(path, OFlags::PATH | OFlags::NOFOLLOW).map_err(why)?;
        let target = rustix::fs::readlinkat(&fd, c"", Vec::new()).map_err(|errno| match errno {
            Errno::NOENT => Why::NotSupported,
            other => why(other),
        })?;
        target.into_string().map_err(|_| Why::Unparsed("a link that is no UTF-8".to_owned()))
    }

    fn resolve(&self, path: &str) -> Fact<String> {
        let fd = self.open_at(path, OFlags::PATH).map_err(why)?;
        let real = real_path(&fd)?;
        let inside = real.strip_prefix(&self.prefix).filter(|inside| inside.starts_with('/'));
        inside
            .map(str::to_owned)
            .ok_or_else(|| Why::Failed(format!("{real} is not below the root")))
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
        let files = DirRoot::open_with(Path::new("/"), ResolveFlags::empty())?;
        Ok(Self { files })
    }
}

impl Root for LiveRoot {
    fn read(&self, path: &str) -> Fact<Vec<u8>> {
        self.files.read(path)
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
    use std::os::fd::AsRawFd;
    let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let target = rustix::fs::readlink(link, Vec::new()).map_err(why)?;
    target.into_string().map_err(|_| Why::Unparsed("a path that is no UTF-8".to_owned()))
}

fn why(errno: Errno) -> Why {
    match errno {
        // The object vanished between listing and reading, or was never there.
        Errno::NOENT | Errno::NODEV | Errno::NXIO | Errno::NOTDIR => Why::Absent,
        Errno::ACCESS | Errno::PERM => Why::Denied,
        Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS => Why::NotSupported,
        other => Why::Failed(other.to_string()),
    }
}

fn why_io(error: &std::io::Error) -> Why {
    Errno::from_io_error(error).map_or_else(|| Why::Failed(error.to_string()), why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_modes_of_a_folder_are_told() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("sys/devices/a")).unwrap();
        std::fs::write(folder.path().join("sys/devices/a/class"), "0x010802\n").unwrap();
        std::os::unix::fs::symlink("../sys/devices/a", folder.path().join("sys/b")).unwrap();
        let root = DirRoot::open(folder.path()).unwrap();
        assert_eq!(root.link("/sys/b").unwrap(), "../sys/devices/a");
        assert_eq!(root.resolve("/sys/b/class").unwrap(), "/sys/devices/a/class");
        assert_eq!(root.mode("/sys/b/class").unwrap() & 0o400, 0o400);
        assert_eq!(root.link("/sys/devices"), Err(Why::NotSupported));
        assert_eq!(root.mode("/sys/none"), Err(Why::Absent));
    }
}
