// SPDX-License-Identifier: MIT OR Apache-2.0
//! Children that end well, badly, not at all, or leave others behind.

use std::cell::Cell;

use super::*;

fn limits() -> Limits {
    Limits {
        time: Duration::from_secs(60),
        output_bytes: 1 << 20,
        grace: Duration::from_secs(20),
        files: Vec::new(),
    }
}

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

fn run(script: &str, limits: &Limits) -> Ended {
    supervise(shell(script), limits, &|| false).unwrap()
}

/// Whether a process of that number, as `sh` printed it, is there and no zombie.
fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

#[test]
fn what_it_says_and_how_it_ends_is_kept() {
    let ended = run("echo out; echo err >&2; exit 3", &limits());
    assert_eq!((ended.why, ended.code, ended.signal), (Why::Done, Some(3), None));
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("out\n", "err\n"));
    let ended = run("kill -SEGV $$", &limits());
    assert_eq!((ended.code, ended.signal), (None, Some(11)));
}

#[test]
fn a_program_that_is_not_there_is_an_error() {
    let error = supervise(Command::new("/nowhere/fio"), &limits(), &|| false).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}

#[test]
fn what_runs_too_long_is_ended() {
    let limits = Limits { time: Duration::from_millis(200), ..limits() };
    let ended = run("echo begun; sleep 1000", &limits);
    assert_eq!((ended.why, ended.signal), (Why::Time, Some(15)));
    assert_eq!(ended.stdout, "begun\n");
}

#[test]
fn what_does_not_listen_is_killed_with_all_it_started() {
    let limits =
        Limits { time: Duration::from_millis(500), grace: Duration::from_millis(200), ..limits() };
    let ended = run("trap '' TERM; sleep 1000 & echo $!; sleep 1000", &limits);
    assert_eq!((ended.why, ended.signal), (Why::Time, Some(9)));
    assert!(!is_alive(&ended.stdout), "{}", ended.stdout);
}

#[test]
fn what_it_leaves_behind_is_ended_too() {
    let ended = run("sleep 1000 & echo $!", &limits());
    assert_eq!((ended.why, ended.code), (Why::Done, Some(0)));
    assert!(!is_alive(&ended.stdout), "{}", ended.stdout);
}

#[test]
fn what_writes_too_much_is_ended() {
    let ended = run("yes", &limits());
    assert_eq!(ended.why, Why::Output);
    assert_eq!(ended.stdout.len(), 1 << 20);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("out");
    let limits = Limits { files: vec![file.clone()], ..limits() };
    let ended = run(&format!("yes > {}", file.display()), &limits);
    assert_eq!(ended.why, Why::Output);
}

#[test]
fn a_cancelled_child_is_asked_to_end() {
    let asked = Cell::new(0);
    let is_cancelled = || {
        asked.set(asked.get() + 1);
        asked.get() > 20
    };
    let ended = supervise(shell("sleep 1000"), &limits(), &is_cancelled).unwrap();
    assert_eq!((ended.why, ended.signal), (Why::Cancelled, Some(15)));
}
