// SPDX-License-Identifier: MIT OR Apache-2.0
//! Real captures: every archive opens, is recorded, written and opened again as it was.

use std::io::Read;
use std::path::Path;

use nearside_root as root;
use root::archive::Limits;
use root::{About, OpenError, Overwrite, Record, Recorder, Redactor, Root};
use support::{Failed, Need, Trial, lab_captures, tree_captures, trial};

fn main() {
    let all = tree_captures().into_iter().chain(lab_captures());
    let mut trials: Vec<Trial> = all
        .map(|capture| trial(capture.name, &[Need::Captures], move || check(&capture.archive)))
        .collect();
    if trials.is_empty() {
        trials.push(trial("captures", &[Need::Captures], || Ok(())));
    }
    support::run(trials)
}

fn check(archive: &Path) -> Result<(), Failed> {
    match root::open(archive, None) {
        Ok(opened) => check_root(&*opened.root),
        Err(OpenError::Several { roots, .. }) => {
            for name in roots {
                check_root(&*root::open(archive, Some(&name))?.root)?;
            }
            Ok(())
        }
        Err(OpenError::NoRoot(_)) => holds_no_root(archive),
        Err(error) => Err(error.into()),
    }
}

/// Fragments of machines are refused: none of the signs of a root may be in there.
fn holds_no_root(archive: &Path) -> Result<(), Failed> {
    let unpacked = root::archive::read(std::fs::File::open(archive)?, &Limits::default())?;
    let (_, paths) = record(&unpacked.root);
    let signs = ["/sys/devices", "/sys/class", "/proc/cpuinfo", "/proc/interrupts"];
    let found = paths.iter().find(|path| signs.iter().any(|sign| path.ends_with(sign)));
    match found {
        Some(path) => Err(format!("{path} was overlooked").into()),
        None => Ok(()),
    }
}

fn check_root(root: &dyn Root) -> Result<(), Failed> {
    let (record, paths) = record(root);
    if paths.len() < 10 {
        return Err(format!("only {} entries", paths.len()).into());
    }
    let folder = tempfile::tempdir()?;
    let plain = folder.path().join("plain.tar.zst");
    record.save(&plain, &About::default(), None, Overwrite::Never)?;
    let opened = root::open(&plain, None)?;
    for path in &paths {
        if answers(root, path) != answers(&*opened.root, path) {
            return Err(format!("{path} differs after it was captured").into());
        }
    }
    let redacted = folder.path().join("redacted.tar.zst");
    let mut redactor = Redactor::new([5; 32]);
    record.save(&redacted, &About::default(), Some(&mut redactor), Overwrite::Never)?;
    let secret = root::open(&redacted, None)?;
    let (_, redacted_paths) = self::record(&*secret.root);
    if redacted_paths.len() != paths.len() {
        return Err(format!("{} entries of {}", redacted_paths.len(), paths.len()).into());
    }
    for path in &paths {
        let lengths = [root, &*secret.root].map(|root| root.read(path).map(|bytes| bytes.len()));
        // Names that hold an address are others.
        if lengths[1].is_ok() && lengths[0] != lengths[1] {
            return Err(format!("{path} has another length after it was redacted").into());
        }
        if path.ends_with("/serial") || path.ends_with("/address") {
            unchanged(root, &*secret.root, path)?;
        }
    }
    Ok(())
}

/// Fails where a secret was left as it was.
fn unchanged(root: &dyn Root, redacted: &dyn Root, path: &str) -> Result<(), Failed> {
    let text =
        |root: &dyn Root| root.read(path).map(|b| String::from_utf8_lossy(&b).trim().to_owned());
    let (Ok(before), Ok(after)) = (text(root), text(redacted)) else { return Ok(()) };
    let is_mac = before.len() == 17 && before.split(':').count() == 6;
    let is_shared = before.starts_with("00:00:00:00") || before.starts_with("ff:ff");
    if is_mac && !is_shared && before == after {
        return Err(format!("{path} still says {before}").into());
    }
    Ok(())
}

fn answers(root: &dyn Root, path: &str) -> String {
    let mut whole = Vec::new();
    let streamed = root.stream(path).map(|mut stream| stream.read_to_end(&mut whole).is_ok());
    format!(
        "{streamed:?} {whole:?} {:?} {:?} {:?}",
        root.list(path),
        root.link(path),
        root.resolve(path)
    )
}

/// Everything in a tree, asked through a recorder.
fn record(root: &dyn Root) -> (Record, Vec<String>) {
    let recorder = Recorder::new(root);
    let mut paths = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for name in recorder.list(&format!("{folder}/")).unwrap_or_default() {
            let path = format!("{folder}/{name}");
            answers(&recorder, &path);
            if recorder.link(&path).is_err() && recorder.list(&path).is_ok() {
                folders.push(path.clone());
            }
            paths.push(path);
        }
    }
    (recorder.into_record(), paths)
}
