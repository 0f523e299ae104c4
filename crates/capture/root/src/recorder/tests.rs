// SPDX-License-Identifier: MIT OR Apache-2.0
//! A recorder answers as what it records does, and the same again.

use std::io::Read;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::MemoryRoot;

/// Counts up with every read: whoever reads twice sees it.
struct Counting(AtomicU32);

impl Root for Counting {
    fn read(&self, _: &str) -> Fact<Vec<u8>> {
        Ok(self.0.fetch_add(1, Ordering::Relaxed).to_string().into_bytes())
    }
    fn stream(&self, path: &str) -> Fact<Box<dyn BufRead + '_>> {
        self.read(path).map(|bytes| Box::new(std::io::Cursor::new(bytes)) as Box<dyn BufRead>)
    }
    fn list(&self, path: &str) -> Fact<Vec<String>> {
        self.read(path).map(|bytes| vec![String::from_utf8(bytes).unwrap()])
    }
    fn link(&self, _: &str) -> Fact<String> {
        Err(Why::NotSupported)
    }
    fn resolve(&self, path: &str) -> Fact<String> {
        Ok(path.replace("/class/", "/devices/"))
    }
    fn mode(&self, path: &str) -> Fact<u32> {
        self.read(path).map(|_| 0o444)
    }
    fn ask(&self, _: &Question) -> Fact<String> {
        self.read("").map(|bytes| String::from_utf8(bytes).unwrap())
    }
}

#[test]
fn a_question_asked_again_gets_the_answer_that_was_kept() {
    let counting = Counting(AtomicU32::new(0));
    let recorder = Recorder::new(&counting);
    assert_eq!(recorder.read("/sys/devices/x/count").unwrap(), b"0");
    assert_eq!(recorder.read("/sys/devices/x/count").unwrap(), b"0");
    assert_eq!(recorder.read("/sys/class/x/count").unwrap(), b"0", "by another path");
    assert_eq!(recorder.read("/sys/devices/y/count").unwrap(), b"1");
    let mut text = String::new();
    recorder.stream("/sys/devices/x/count").unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "0");
    assert_eq!(recorder.list("/sys/devices/x").unwrap(), ["2"]);
    assert_eq!(recorder.list("/sys/class/x").unwrap(), ["2"]);
    assert_eq!(recorder.ask(&Question::User).unwrap(), "3");
    assert_eq!(recorder.ask(&Question::User).unwrap(), "3");
}

#[test]
fn a_stream_left_early_is_kept_whole() {
    let mut root = MemoryRoot::new();
    let long: Vec<u8> = (0..700_000).map(|i| b'a' + u8::try_from(i % 26).unwrap()).collect();
    root.file("/proc/interrupts", &long);
    let recorder = Recorder::new(&root);
    let mut first = [0; 10];
    recorder.stream("/proc/interrupts").unwrap().read_exact(&mut first).unwrap();
    drop(root.clone());
    let record = recorder.into_record();
    let empty = MemoryRoot::new();
    let again = Recorder { inner: &empty, record: Mutex::new(record) };
    let mut whole = Vec::new();
    again.stream("/proc/interrupts").unwrap().read_to_end(&mut whole).unwrap();
    assert_eq!(whole, long);
}

#[test]
fn a_recorder_may_be_asked_from_many_threads() {
    let counting = Counting(AtomicU32::new(0));
    let recorder = Recorder::new(&counting);
    let answers: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..8).map(|_| scope.spawn(|| recorder.read("/sys/devices/x/count"))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{answers:?}");
}
