// SPDX-License-Identifier: MIT OR Apache-2.0
//! A capture opened again answers as what was captured.

use std::io::Read;

use super::*;
use crate::archive::{self, Limits};
use crate::{MemoryRoot, Question, Recorder, Root};

/// A question to a root, and its answer as text.
#[derive(Debug, Clone)]
pub(crate) enum Asked {
    Read(String),
    Stream(String),
    List(String),
    Link(String),
    Resolve(String),
    Mode(String),
    Ask(Question),
}

pub(crate) fn ask(root: &dyn Root, asked: &Asked) -> String {
    match asked {
        Asked::Read(path) => format!("{:?}", root.read(path)),
        Asked::Stream(path) => match root.stream(path) {
            Err(why) => format!("{why:?}"),
            Ok(mut stream) => {
                let mut bytes = Vec::new();
                let end = stream.read_to_end(&mut bytes).map_err(|error| error.to_string());
                format!("{end:?} {bytes:?}")
            }
        },
        Asked::List(path) => format!("{:?}", root.list(path)),
        Asked::Link(path) => format!("{:?}", root.link(path)),
        Asked::Resolve(path) => format!("{:?}", root.resolve(path)),
        Asked::Mode(path) => format!("{:?}", root.mode(path)),
        Asked::Ask(question) => format!("{:?}", root.ask(question)),
    }
}

fn reopen(bytes: &[u8]) -> (MemoryRoot, Option<About>) {
    restore(archive::read(bytes, &Limits::default()).unwrap().root).unwrap()
}

fn about() -> About {
    About {
        nearside: "0.1.0".to_owned(),
        kernel: "6.1.0".to_owned(),
        time: "2024-01-01T00:00:00Z".to_owned(),
        redacted: false,
    }
}

/// Asks through a recorder, writes, opens, and asks the same again.
fn round_trip(root: &dyn Root, questions: &[Asked]) {
    let recorder = Recorder::new(root);
    let said: Vec<String> = questions.iter().map(|asked| ask(&recorder, asked)).collect();
    let record = recorder.into_record();
    let mut bytes = Vec::new();
    record.write(&mut bytes, &about(), None).unwrap();
    let (opened, header) = reopen(&bytes);
    assert_eq!(header, Some(about()));
    for (asked, said) in questions.iter().zip(said) {
        assert_eq!(ask(&opened, asked), said, "{asked:?}");
    }
    let mut again = Vec::new();
    record.write(&mut again, &about(), None).unwrap();
    assert!(again == bytes, "the same record gives the same bytes");
}

fn machine() -> MemoryRoot {
    let mut root = MemoryRoot::new();
    root.file("/sys/devices/pci0000:00/0000:00:02.0/class", "0x010802\n")
        .file_with_mode("/sys/devices/pci0000:00/0000:00:02.0/config", [0, 1, 2, 255], 0o600)
        .file("/sys/devices/pci0000:00/0000:00:02.0/numa_node", "-1\n")
        .symlink("/sys/bus/pci/devices/0000:00:02.0", "../../../devices/pci0000:00/0000:00:02.0")
        .symlink("/sys/class/nvme/nvme0", "../../bus/pci/devices/0000:00:02.0")
        .symlink("/sys/dangling", "nowhere")
        .symlink("/sys/loop", "loop")
        .symlink("/proc/mounts", "self/mounts")
        .symlink("/proc/self", "77")
        .file("/proc/77/mounts", "rootfs / rootfs rw 0 0\n")
        .refuse("/sys/denied", Why::Denied)
        .refuse("/sys/broken", Why::Failed("I/O error".to_owned()))
        .refuse("/sys/refused", Why::NotSupported)
        .folder("/sys/empty")
        .file("/proc/interrupts", vec![b'1'; 1_200_000])
        .answer(Question::User, Ok("1000".to_owned()))
        .answer(Question::Rings("eth0".to_owned()), Err(Why::Denied));
    root
}

fn questions() -> Vec<Asked> {
    let paths = [
        "/",
        "/sys",
        "/sys/bus/pci/devices",
        "/sys/bus/pci/devices/0000:00:02.0",
        "/sys/bus/pci/devices/0000:00:02.0/class",
        "/sys/class/nvme/nvme0/config",
        "/sys/class/nvme/nvme0",
        "/sys/class/nvme/nvme0/../0000:00:02.0/numa_node",
        "/sys/dangling",
        "/sys/dangling/below",
        "/sys/loop",
        "/sys/loop/below",
        "/proc/mounts",
        "/proc/self/mounts",
        "/sys/denied",
        "/sys/denied/below",
        "/sys/broken",
        "/sys/refused",
        "/sys/empty",
        "/sys/none",
        "/sys/none/below",
        "/proc/interrupts",
        "/proc/interrupts/below",
    ];
    let mut asked: Vec<Asked> = paths
        .iter()
        .flat_map(|path| {
            let path = (*path).to_owned();
            [
                Asked::List(path.clone()),
                Asked::Read(path.clone()),
                Asked::Mode(path.clone()),
                Asked::Link(path.clone()),
                Asked::Resolve(path.clone()),
                Asked::Stream(path),
            ]
        })
        .collect();
    asked.push(Asked::Ask(Question::User));
    asked.push(Asked::Ask(Question::Affinity));
    asked.push(Asked::Ask(Question::Rings("eth0".to_owned())));
    asked
}

#[test]
fn every_kind_of_answer_comes_back() {
    round_trip(&machine(), &questions());
}

#[test]
fn the_live_machine_comes_back_as_it_was_asked() {
    let live = crate::LiveRoot::open().unwrap();
    let mut asked = Vec::new();
    for path in ["/proc/cpuinfo", "/proc/mounts", "/proc/self/status", "/proc/interrupts"] {
        asked.extend([Asked::Stream(path.to_owned()), Asked::Read(path.to_owned())]);
    }
    for class in ["net", "block", "nvme", "infiniband"] {
        let folder = format!("/sys/class/{class}");
        asked.push(Asked::List(folder.clone()));
        for name in live.list(&folder).unwrap_or_default() {
            let path = format!("{folder}/{name}");
            asked.extend([Asked::Link(path.clone()), Asked::Resolve(path.clone())]);
            for file in ["address", "mtu", "device/numa_node", "device/driver", "queue/scheduler"] {
                let path = format!("{path}/{file}");
                asked.extend([Asked::Read(path.clone()), Asked::Link(path.clone())]);
                asked.push(Asked::Mode(path));
            }
        }
    }
    asked.push(Asked::Ask(Question::Uname));
    round_trip(&live, &asked);
}

#[test]
fn what_was_never_asked_is_absent() {
    let root = machine();
    let recorder = Recorder::new(&root);
    recorder.read("/sys/devices/pci0000:00/0000:00:02.0/class").unwrap();
    let mut bytes = Vec::new();
    recorder.into_record().write(&mut bytes, &about(), None).unwrap();
    let (opened, _) = reopen(&bytes);
    assert_eq!(opened.read("/sys/devices/pci0000:00/0000:00:02.0/numa_node"), Err(Why::Absent));
    // Half a listing would be a wrong number.
    assert_eq!(opened.list("/sys/devices/pci0000:00"), Err(Why::Absent));
}

#[test]
fn a_newer_format_is_refused_by_name_and_an_older_minor_read() {
    let with = |header: &str| {
        let mut root = MemoryRoot::new();
        root.file("/nearside-capture.json", header).file("/sys/class/x", "1");
        restore(root).map(|(_, about)| about.unwrap().kernel).map_err(|error| error.to_string())
    };
    assert_eq!(with(r#"{"format": "capture/1", "kernel": "6.1"}"#).unwrap(), "6.1");
    assert_eq!(with(r#"{"format": "capture/1.7", "new": [1], "kernel": "6.2"}"#).unwrap(), "6.2");
    assert_eq!(
        with(r#"{"format": "capture/2", "odd": 7}"#).unwrap_err(),
        "its format is \"capture/2\", and this nearside reads \"capture/1\": a newer one made it"
    );
    for bad in ["", "[]", "{}", r#"{"format": "study/1"}"#, r#"{"format": "capture/1", "odd": 7}"#]
    {
        let error = with(bad).unwrap_err();
        assert!(error.starts_with("its nearside-capture.json cannot be read: "), "{error}");
    }
}

#[test]
fn a_capture_is_saved_whole_or_not_at_all() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("machine.tar.zst");
    let root = machine();
    let recorder = Recorder::new(&root);
    recorder.list("/sys").unwrap();
    let record = recorder.into_record();
    record.save(&path, &about(), None, Overwrite::Never).unwrap();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let error = record.save(&path, &about(), None, Overwrite::Never).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
    record.save(&path, &about(), None, Overwrite::Replace).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no draft is left");
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    for odd in [&link, folder.path()] {
        let error = record.save(odd, &about(), None, Overwrite::Replace).unwrap_err();
        assert_eq!(error.to_string(), "it is no plain file");
    }
    assert_eq!(std::fs::read_link(&link).unwrap(), path, "a link is not replaced");
    let opened = crate::open(&path, None).unwrap();
    assert_eq!(opened.about, Some(about()));
    // Unpacked by hand it is the same machine.
    let unpacked = folder.path().join("unpacked");
    std::fs::create_dir(&unpacked).unwrap();
    let file = std::fs::File::open(&path).unwrap();
    tar::Archive::new(zstd::Decoder::new(file).unwrap()).unpack(&unpacked).unwrap();
    let folder = crate::open(&unpacked, None).unwrap();
    assert_eq!(folder.about, Some(about()));
    assert_eq!(folder.root.list("/sys"), opened.root.list("/sys"));
}

mod property {
    use proptest::prelude::*;

    use super::*;

    fn path() -> impl Strategy<Value = String> {
        proptest::collection::vec("[abc]|\\.\\.", 1..5)
            .prop_map(|parts| format!("/{}", parts.join("/")))
    }

    fn tree() -> impl Strategy<Value = MemoryRoot> {
        let literal =
            || proptest::collection::vec("[abc]", 1..4).prop_map(|p| format!("/{}", p.join("/")));
        let entry = (literal(), 0..5, "(/|\\.\\./|)[abc](/[abc]|/\\.\\.){0,2}", 0_u32..0o1000);
        proptest::collection::vec(entry, 0..12).prop_map(|entries| {
            let mut root = MemoryRoot::new();
            for (path, kind, text, mode) in entries {
                match kind {
                    0 | 1 => root.file_with_mode(&path, text, mode),
                    2 => root.symlink(&path, &text),
                    3 => root.folder(&path),
                    _ => root.refuse(&path, if mode % 2 == 0 { Why::Denied } else { Why::Absent }),
                };
            }
            root
        })
    }

    fn asked() -> impl Strategy<Value = Asked> {
        (0..6, path()).prop_map(|(kind, path)| match kind {
            0 => Asked::Read(path),
            1 => Asked::Stream(path),
            2 => Asked::List(path),
            3 => Asked::Link(path),
            4 => Asked::Resolve(path),
            _ => Asked::Mode(path),
        })
    }

    proptest! {
        #[test]
        fn any_tree_comes_back_as_it_was_asked(
            root in tree(), questions in proptest::collection::vec(asked(), 0..25),
        ) {
            round_trip(&root, &questions);
        }

        #[test]
        fn a_recorder_says_what_its_root_says(
            root in tree(), questions in proptest::collection::vec(asked(), 0..25),
        ) {
            let recorder = Recorder::new(&root);
            for asked in &questions {
                prop_assert_eq!(ask(&recorder, asked), ask(&root, asked), "{:?}", asked);
            }
        }
    }
}
