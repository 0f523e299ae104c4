// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where system calls are forbidden, as container run-times do: a filter in a thread of its own.

#![expect(clippy::unwrap_used, reason = "a panic is how these tests fail")]
#![expect(unsafe_code, reason = "a seccomp filter is installed by prctl")]

use std::sync::atomic::AtomicBool;

use nearside_engine::{Error, Fallback, Finished, Request, run};
use record::{DoubtKind, Polling, Workload};
use root::LiveRoot;

const SETUP: u32 = 425;
const AIO_SETUP: u32 = 206;
const EPERM: u32 = 1;
const ENOSYS: u32 = 38;

/// `(code, jump if true, jump if false, value)` of a classic BPF instruction.
type Instruction = libc::sock_filter;

fn instruction(code: u16, jt: u8, jf: u8, k: u32) -> Instruction {
    libc::sock_filter { code, jt, jf, k }
}

/// Lets this thread, and those that it starts, have an errno for some system calls.
fn forbid(calls: &[u32], errno: u32) {
    const LOAD: u16 = 0x20;
    const EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    const ERRNO: u32 = 0x0005_0000;
    const ALLOW: u32 = 0x7fff_0000;
    let mut program = vec![instruction(LOAD, 0, 0, 0)];
    for call in calls {
        program.push(instruction(EQUAL, 0, 1, *call));
        program.push(instruction(RETURN, 0, 0, ERRNO | errno));
    }
    program.push(instruction(RETURN, 0, 0, ALLOW));
    let filter =
        libc::sock_fprog { len: program.len().try_into().unwrap(), filter: program.as_mut_ptr() };
    // SAFETY: the first call takes numbers; the second reads a program that lives through the call.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) == 0
    };
    assert!(done, "{}", std::io::Error::last_os_error());
}

/// A run in a thread that may not make some system calls.
fn in_sandbox(calls: &'static [u32], errno: u32, polling: Polling) -> Result<Finished, Error> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("made");
    let text = format!(
        r#"{{"targets": [{{"path": {path:?}, "make_bytes": 1048576}}], "threads": 2, "depth": 4,
            "mix": {{"read_percent": 50, "write_percent": 50}}, "pattern": {{"kind": "uniform"}},
            "blocks": {{"kind": "one", "bytes": 4096}}, "limits": {{"bytes": 1048576}}}}"#
    );
    let mut workload: Workload = serde_json::from_str(&text).unwrap();
    workload.access.polling = polling;
    let thread = std::thread::spawn(move || {
        forbid(calls, errno);
        let request = Request {
            workload: &workload,
            seats: &[],
            placed_as: None,
            token: &|_| None,
            stop: &AtomicBool::new(false),
            watch: &|_| {},
            fallback: Fallback::None,
        };
        run(&LiveRoot::open().unwrap(), &request)
    });
    thread.join().unwrap()
}

#[test]
fn the_next_way_is_taken_and_told() {
    let cases: [(&[u32], u32, &str, &str); 3] = [
        (&[SETUP], EPERM, "io_submit", "io_uring_setup says EPERM: io_submit was used instead"),
        (&[SETUP], ENOSYS, "io_submit", "io_uring_setup says ENOSYS: io_submit was used instead"),
        (
            &[SETUP, AIO_SETUP],
            EPERM,
            "pread",
            "io_uring_setup says EPERM, io_setup says EPERM: pread was used instead",
        ),
    ];
    for (calls, errno, way, wanted) in cases {
        let finished = in_sandbox(calls, errno, Polling::Interrupt).unwrap();
        assert_eq!(finished.engine.way.as_deref(), Some(way));
        let measured = finished.outcome.measured().unwrap();
        let fallback = measured.doubts.iter().find(|doubt| doubt.kind == DoubtKind::Fallback);
        assert_eq!(fallback.map(|doubt| doubt.text.as_str()), Some(wanted));
        let bytes: u64 = measured.directions.iter().map(|one| one.bytes).sum();
        assert_eq!(bytes, 1 << 20);
    }
}

#[test]
fn what_was_asked_by_name_is_not_replaced() {
    let error = in_sandbox(&[SETUP], EPERM, Polling::Polled).unwrap_err().to_string();
    assert!(error.ends_with("they need io_uring, and io_uring_setup says EPERM"), "{error}");
}
