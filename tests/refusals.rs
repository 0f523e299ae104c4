// SPDX-License-Identifier: MIT OR Apache-2.0
//! What wrong input gets: the exit code, one line of what failed and why, one line of help.

use std::io::Write;
use std::process::{Command, Output, Stdio};

fn nearside(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nearside"));
    command.args(arguments).env("LANG", "C.UTF-8").env_remove("NO_COLOR").env_remove("COLUMNS");
    command
}

/// Holds that a run ended with `code` and said `what` and then a help.
fn refused(arguments: &[&str], code: i32, what: &str) {
    let output = nearside(arguments).output().expect("the program is built");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
    assert!(error.starts_with("nearside: ") && error.contains(what), "{arguments:?}: {error}");
    assert_eq!(error.lines().count(), 2, "{arguments:?}: {error}");
    assert!(error.contains("\nhelp: "), "{arguments:?}: {error}");
    assert!(output.stdout.is_empty(), "{arguments:?} prints an answer");
}

#[test]
fn wrong_arguments_end_with_2() {
    for (arguments, what) in [
        (&["topologie"][..], "unrecognized subcommand 'topologie'"),
        (&["topology", "--frm", "x"], "unexpected argument '--frm' found"),
        (&["audit", "--goal", "fast"], "invalid value 'fast' for '--goal <GOAL>'"),
        (&["generate"], "no command is named"),
        (&["explain"], "the following required arguments were not provided"),
        (&["explain", ""], "\"\" could be "),
        (&["audit", "--device", "nope"], "this machine has no device called \"nope\""),
        (&["topology", "--near", "a\u{1b}[31m"], "no device called \"a\u{fffd}[31m\""),
        (&["--machine", "x"], "--machine chooses among several"),
        (&["capture", "--output", "-", "--json"], "one output cannot take both"),
    ] {
        refused(arguments, 2, what);
    }
}

#[test]
fn what_is_missing_ends_with_4() {
    refused(&["--from", "/nowhere"], 4, "cannot open /nowhere: No such file");
    refused(&["--from", "/dev/null"], 4, "neither a folder nor a plain file");
    refused(&["--from", "-"], 4, "cannot open standard input: it is no archive");
}

#[test]
fn what_has_no_end_or_no_beginning_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo.toml");
    let made = Command::new("mkfifo").arg(&fifo).status().expect("mkfifo");
    assert!(made.success());
    let fifo = fifo.to_str().unwrap();
    let from = format!("synthetic:{fifo}");
    let (machine, plain) = ("synthetic:healthy-two-socket", "it is no plain file");
    for file in ["/dev/zero", fifo] {
        refused(&["plan", "--from", machine, "--profile", file], 4, plain);
        refused(&["revert", "--list", "--journal", file], 4, plain);
        refused(&["verify", "--journal", file], 4, plain);
        refused(&["topology", "--from", machine, "--svg", file, "--force"], 4, plain);
    }
    refused(&["topology", "--from", &from], 4, plain);
    let there = folder.path().join("there.svg");
    std::fs::write(&there, "mine").unwrap();
    let svg = ["topology", "--from", machine, "--svg", there.to_str().unwrap()];
    refused(&svg, 4, "File exists");
    assert_eq!(std::fs::read(&there).unwrap(), b"mine");
    assert!(nearside(&[&svg[..], &["--force"]].concat()).status().unwrap().success());
    assert!(std::fs::read(&there).unwrap().starts_with(b"<svg"));
    refused(&["verify", "--watch", "0s"], 2, "a period is at least 1s");
}

#[test]
fn nothing_but_a_plain_file_is_replaced_by_a_capture() {
    // Not tried on /dev/null itself: where this fails, it would be gone.
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("stdout");
    std::os::unix::fs::symlink("/dev/null", &link).unwrap();
    for place in [&link, folder.path()] {
        let arguments = ["--force", "--from", "synthetic:faulty", "--output"];
        let arguments = [&["capture"], &arguments[..], &[place.to_str().unwrap()]].concat();
        refused(&arguments, 4, "it is no plain file");
        assert!(!place.symlink_metadata().unwrap().is_file());
    }
}

#[test]
fn a_capture_goes_through_a_pipe() {
    let from = ["--from", "synthetic:faulty"];
    let captured = nearside(&from).args(["capture", "--output", "-"]).output().unwrap();
    assert!(captured.status.success() && captured.stderr.is_empty());
    let mut replay = nearside(&["--from", "-", "topology"]);
    let mut replay =
        replay.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    replay.stdin.take().unwrap().write_all(&captured.stdout).unwrap();
    let replayed = replay.wait_with_output().unwrap();
    let direct = nearside(&from).arg("topology").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&replayed.stdout), String::from_utf8_lossy(&direct.stdout));
}

#[test]
fn an_answer_that_cannot_be_written_ends_with_4() {
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    for arguments in [&["-h"][..], &["--version"], &["explain", "--list"]] {
        let output = nearside(arguments).stdout(full()).output().unwrap();
        assert_eq!(output.status.code(), Some(4), "{arguments:?}");
    }
    let status = nearside(&["bogus"]).stderr(full()).status().unwrap();
    assert_eq!(status.code(), Some(2), "an error that cannot be told stays one");
}

#[test]
fn short_help_fits_a_screen_of_24_lines_and_80_columns() {
    let verbs = "topology audit plan apply verify revert persist explain capture exec generate";
    let verbs = verbs.split(' ').map(|verb| vec![verb]).chain([Vec::new()]);
    for verb in verbs {
        let Output { stdout, .. } =
            nearside(&verb).arg("-h").env("COLUMNS", "80").output().unwrap();
        let help = String::from_utf8(stdout).unwrap();
        assert!(help.lines().count() <= 24, "{verb:?}: {} lines", help.lines().count());
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{verb:?}: {help}");
    }
}

#[test]
fn entries_that_cannot_be_read_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.toml");
    let arguments = ["explain", "--list", "--catalogue", folder.path().to_str().unwrap()];
    std::fs::create_dir(&file).unwrap();
    refused(&arguments, 4, "x.toml: it is no plain file");
    std::fs::remove_dir(&file).unwrap();
    std::fs::write(&file, b"id = \"x\"\ntitle = \"\xff\"\n").unwrap();
    refused(&arguments, 2, "x.toml:2:10: a byte here is no UTF-8");
    std::fs::write(&file, vec![b'#'; 2 << 20]).unwrap();
    refused(&arguments, 4, "x.toml: it is longer than 1048576 bytes");
    std::fs::write(&file, "id = ").unwrap();
    refused(&arguments, 2, "x.toml:1:6: ");
    std::os::unix::fs::symlink("/dev/zero", folder.path().join("y.toml")).unwrap();
    refused(&arguments, 4, "y.toml: it is no plain file");
    refused(&["capture", "--key-file", "/dev/zero"], 4, "the key /dev/zero: it is no plain file");
}

#[test]
fn any_value_of_no_color_means_none() {
    let coloured = |name: &str, value: &str| {
        let mut command = nearside(&["--from", "synthetic:faulty"]);
        let output = command.env("CLICOLOR_FORCE", "1").env(name, value).output().unwrap();
        output.stdout.contains(&0x1b)
    };
    assert!(coloured("NO_COLOR", ""));
    assert!(!coloured("NO_COLOR", "0"));
    assert!(!coloured("NO_COLOR", "1"));
}
