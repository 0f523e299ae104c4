// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `--near` names: a device by name, or a path, which is asked of the file system where the
//! machine is this one.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

use linux::Asked;
use rustix::fs::{AtFlags, CWD, StatxFlags, major, minor, statx};

use crate::expected::Expected;
use crate::source::Kind;

/// Everything named, each value being a list, or one path with a comma in it.
pub(super) fn all(values: &[String], kind: Kind) -> Result<Vec<Asked>, Expected> {
    let mut asked = Vec::new();
    for value in values {
        let is_one = kind == Kind::Live && value.contains('/') && Path::new(value).exists();
        let parts: Vec<&str> = if is_one { vec![value] } else { value.split(',').collect() };
        for part in parts {
            if part.is_empty() {
                let what = format!("--near {value:?} names nothing at one place");
                return Err(Expected::usage(what, "name devices and paths with a comma between"));
            }
            asked.push(one(part, kind)?);
        }
    }
    Ok(asked)
}

fn one(name: &str, kind: Kind) -> Result<Asked, Expected> {
    let is_path = name.contains('/') || matches!(name, "." | "..");
    if !is_path {
        return Ok(Asked::Name(name.to_owned()));
    }
    match kind {
        Kind::Live => on_disk(name),
        Kind::Replayed if name.starts_with("/dev/") => Ok(Asked::Name(name.to_owned())),
        Kind::Replayed if name.starts_with('/') => {
            let path = match name.trim_end_matches('/') {
                "" => "/".to_owned(),
                path => path.to_owned(),
            };
            let name = name.to_owned();
            Ok(Asked::Path { name, path, number: None, mount: None })
        }
        // vg0/data is a volume.
        Kind::Replayed => Ok(Asked::Name(name.to_owned())),
    }
}

/// A path of this machine: a device's file, or what lies in a file system.
pub(in crate::verbs) fn on_disk(name: &str) -> Result<Asked, Expected> {
    let path = match fs::canonicalize(name) {
        Ok(path) => path,
        // vg0/data is a volume even where no such file is in this folder.
        Err(_) if !name.starts_with(['/', '.']) => return Ok(Asked::Name(name.to_owned())),
        Err(error) => return Err(unseen(name, &error)),
    };
    let there = path.metadata().map_err(|error| unseen(name, &error))?;
    let name = name.to_owned();
    let kinds = there.file_type();
    if kinds.is_block_device() || kinds.is_char_device() {
        let kind = if kinds.is_block_device() { "block" } else { "char" };
        return Ok(Asked::Node { name, kind, number: number(there.rdev()) });
    }
    let mount = statx(CWD, &path, AtFlags::empty(), StatxFlags::MNT_ID).ok();
    let mount = mount.filter(|found| found.stx_mask & StatxFlags::MNT_ID.bits() != 0);
    Ok(Asked::Path {
        name,
        path: path.to_string_lossy().into_owned(),
        number: Some(number(there.dev())),
        mount: mount.map(|found| found.stx_mnt_id),
    })
}

fn number(device: u64) -> String {
    format!("{}:{}", major(device), minor(device))
}

fn unseen(name: &str, error: &std::io::Error) -> Expected {
    let help = "name a file or folder that is there, or a device as `nearside topology` does";
    Expected::precondition(format!("cannot look at {name}: {error}"), help)
}
