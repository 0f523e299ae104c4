// SPDX-License-Identifier: MIT OR Apache-2.0
//! Roots where people have them.

use std::fs;

use super::*;
use crate::{Overwrite, Question, Recorder};

fn tree(prefixes: &[&str]) -> MemoryRoot {
    let mut root = MemoryRoot::new();
    for prefix in prefixes {
        root.file(&format!("{prefix}/sys/class/dmi/id/name"), *prefix);
        root.file(&format!("{prefix}/proc/sys/kernel/x"), "1");
        root.file(&format!("{prefix}/proc/cpuinfo"), "processor : 0\n");
    }
    root
}

fn archive(tree: &MemoryRoot, folder: &Path) -> std::path::PathBuf {
    let below = folder.join("files");
    fs::create_dir_all(&below).unwrap();
    tree.write_to(&below).unwrap();
    let path = folder.join("archive");
    let mut builder = tar::Builder::new(fs::File::create(&path).unwrap());
    builder.follow_symlinks(false);
    builder.append_dir_all(".", &below).unwrap();
    builder.finish().unwrap();
    path
}

#[test]
fn a_root_is_found_at_the_top_or_below_in_folders_and_archives() {
    for prefix in ["", "/tree", "/sosreport-x", "/sysfs/server", "/a/b/c/d/e/f"] {
        let folder = tempfile::tempdir().unwrap();
        let archive = archive(&tree(&[prefix]), folder.path());
        for path in [archive, folder.path().join("files")] {
            let opened = open(&path, None).unwrap();
            assert_eq!(opened.name, prefix.trim_start_matches('/'));
            let name = opened.root.read("/sys/class/dmi/id/name").unwrap();
            assert_eq!(name, prefix.as_bytes());
        }
    }
}

#[test]
fn of_several_one_is_named_by_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let several = tree(&["/sysfs/server", "/sysfs/desktop", "/old/server"]);
    let archive = archive(&several, folder.path());
    for path in [archive, folder.path().join("files")] {
        let error = open(&path, None).unwrap_err();
        let expected =
            format!("{} holds 3 machines: old/server, sysfs/desktop, sysfs/server", path.display());
        assert_eq!(error.to_string(), expected);
        assert_eq!(open(&path, Some("desktop")).unwrap().name, "sysfs/desktop");
        assert_eq!(open(&path, Some("old/server")).unwrap().name, "old/server");
        let error = open(&path, Some("server")).unwrap_err().to_string();
        assert!(
            error.contains("holds no one machine called \"server\"; it holds: old/"),
            "{error}"
        );
    }
}

#[test]
fn a_sys_itself_and_what_is_no_machine() {
    let folder = tempfile::tempdir().unwrap();
    let mut root = MemoryRoot::new();
    root.file("/sys/class/x", "1").file("/sys/devices/x", "1").file("/sys/bus/x", "1");
    root.file("/other/proc/sys/class/x", "1");
    root.write_to(folder.path()).unwrap();
    assert_eq!(
        open(&folder.path().join("sys"), None).unwrap().root.read("/sys/class/x").unwrap(),
        b"1"
    );
    assert!(matches!(open(&folder.path().join("other"), None), Err(OpenError::NoRoot(_))));
    let mut root = MemoryRoot::new();
    for name in ["cpuinfo", "interrupts", "cmdline"] {
        root.file(&format!("/box/proc/{name}"), name);
    }
    root.write_to(folder.path()).unwrap();
    let opened = open(&folder.path().join("box/proc"), None).unwrap();
    assert_eq!(opened.root.read("/proc/cmdline").unwrap(), b"cmdline");
    assert!(matches!(open(&folder.path().join("none"), None), Err(OpenError::Io { .. })));
    let error = open(Path::new("/dev/null"), None).unwrap_err();
    assert_eq!(error.to_string(), "cannot open /dev/null: neither a folder nor a plain file");
    let text = folder.path().join("text");
    fs::write(&text, "no archive").unwrap();
    assert_eq!(
        open(&text, None).unwrap_err().to_string(),
        format!(
            "cannot open {}: it is no archive: neither tar, nor tar packed with gzip, xz or zstd",
            text.display()
        )
    );
}

/// What `ethtool -a` prints, and the answer that it is.
const PAUSE: &str = "Pause parameters for eth0:\nAutonegotiate:\ton\nRX:\t\toff\nTX:\t\ton\n";
const ANSWER: &str = "[false,true]";

fn pause() -> Question {
    Question::Pause("eth0".to_owned())
}

#[test]
fn what_ethtool_printed_beside_a_root_answers_for_it() {
    for (prefix, file, text) in [
        ("", "/sos_commands/networking/ethtool_-a_eth0", PAUSE.to_owned()),
        ("/sosreport-x", "/sosreport-x/sos_commands/networking/ethtool_-a_eth0", PAUSE.to_owned()),
        ("/tree", "/say/ethtool.txt", format!("== ethtool -a eth0\n{PAUSE}")),
        ("/a/tree", "/a/say/ethtool.txt", format!("== ethtool -a eth0\n{PAUSE}")),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut tree = tree(&[prefix]);
        tree.file(file, &text);
        let archive = archive(&tree, folder.path());
        let files = folder.path().join("files");
        // A root can be named itself, by a path that is not straight, and by its /sys.
        let root = files.join(prefix.trim_start_matches('/'));
        let crooked = root.join("proc/..");
        fs::create_dir_all(root.join("sys/bus")).unwrap();
        fs::create_dir_all(root.join("sys/devices")).unwrap();
        for path in [archive, files, crooked, root.join("sys"), root] {
            let opened = open(&path, None).unwrap();
            assert_eq!(opened.root.ask(&pause()).as_deref(), Ok(ANSWER), "{}", path.display());
            assert_eq!(opened.root.ask(&Question::User), Err(machine::Why::Absent));
            assert_eq!(opened.root.read("/sys/class/dmi/id/name").unwrap(), prefix.as_bytes());
        }
    }
}

#[test]
fn of_several_machines_each_has_its_own_answers() {
    let folder = tempfile::tempdir().unwrap();
    let mut several = tree(&["/one", "/two"]);
    several.file("/one/sos_commands/networking/ethtool_-a_eth0", PAUSE);
    let archive = archive(&several, folder.path());
    for path in [archive, folder.path().join("files")] {
        let ask = |which| open(&path, Some(which)).unwrap().root.ask(&pause());
        assert_eq!(ask("one").as_deref(), Ok(ANSWER));
        assert_eq!(ask("two"), Err(machine::Why::Absent));
    }
}

#[test]
fn a_capture_answers_by_itself() {
    let mut machine = tree(&[""]);
    machine.answer(pause(), Err(machine::Why::Denied));
    let recorder = Recorder::new(&machine);
    recorder.read("/proc/cpuinfo").unwrap();
    recorder.ask(&pause()).unwrap_err();
    let record = recorder.into_record();
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("capture");
    record.save(&capture, &About::default(), None, Overwrite::Never).unwrap();
    let tree = folder.path().join("tree");
    fs::create_dir_all(tree.join("sos_commands/networking")).unwrap();
    let file = File::open(&capture).unwrap();
    tar::Archive::new(zstd::Decoder::new(file).unwrap()).unpack(&tree).unwrap();
    fs::write(tree.join("sos_commands/networking/ethtool_-a_eth0"), PAUSE).unwrap();
    fs::create_dir(folder.path().join("say")).unwrap();
    let sections = format!("== ethtool -a eth0\n{PAUSE}");
    fs::write(folder.path().join("say/ethtool.txt"), sections).unwrap();
    let packed = folder.path().join("packed");
    let mut builder = tar::Builder::new(File::create(&packed).unwrap());
    builder.append_dir_all("tree", &tree).unwrap();
    builder.append_dir_all("say", folder.path().join("say")).unwrap();
    builder.finish().unwrap();
    for path in [tree.as_path(), folder.path(), &packed] {
        let opened = open(path, None).unwrap();
        assert!(opened.about.is_some(), "{}", path.display());
        assert_eq!(opened.root.ask(&pause()), Err(machine::Why::Denied));
    }
}

#[test]
fn names_to_choose_from_are_few_and_harmless() {
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..30).map(|i| format!("/m\u{1b}[31m{i:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let archive = archive(&tree(&names), folder.path());
    let message = open(&archive, None).unwrap_err().to_string();
    assert!(message.contains(r#"holds 30 machines: "m\u{1b}[31m00", "#), "{message}");
    assert!(message.ends_with(r#""m\u{1b}[31m19" and 10 more"#), "{message}");
}
