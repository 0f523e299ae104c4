// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads every file of a machine once, and says how long it took: `read_all PATH [record [FILE]]`.
//!
//! The price of reading alone, to compare with what other tools take for the same tree; with
//! `record`, the price of recording on top, and with a file, of writing the capture.

use std::path::Path;
use std::time::Instant;

use nearside_root as root;
use root::{About, Overwrite, Recorder, Redactor, Root};

#[expect(clippy::print_stdout, reason = "an example's answer")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let path = arguments.get(1).ok_or("which folder or archive?")?;
    let start = Instant::now();
    let opened = root::open(Path::new(path), None)?;
    println!("opened in {:?}", start.elapsed());
    let start = Instant::now();
    if arguments.len() < 3 {
        let (files, bytes) = read_all(&*opened.root);
        println!("{files} files, {bytes} bytes in {:?}", start.elapsed());
        return Ok(());
    }
    let recorder = Recorder::new(&*opened.root);
    let (files, bytes) = read_all(&recorder);
    println!("{files} files, {bytes} bytes recorded in {:?}", start.elapsed());
    if let Some(file) = arguments.get(3) {
        let start = Instant::now();
        let mut redactor = Redactor::random()?;
        let about = About::default();
        let record = recorder.into_record();
        record.save(Path::new(file), &about, Some(&mut redactor), Overwrite::Replace)?;
        println!("written in {:?}", start.elapsed());
    }
    Ok(())
}

fn read_all(root: &dyn Root) -> (u64, usize) {
    let (mut files, mut bytes) = (0, 0);
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for name in root.list(&format!("{folder}/")).unwrap_or_default() {
            let path = format!("{folder}/{name}");
            if let Ok(content) = root.read(&path) {
                files += 1;
                bytes += content.len();
            } else if root.link(&path).is_err() {
                folders.push(path);
            }
        }
    }
    (files, bytes)
}
