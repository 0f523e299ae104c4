// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes what fuzzing begins with: the tables' examples, and a capture of a made-up machine.

use std::fs;
use std::io;
use std::path::Path;

fn main() -> io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for (number, parser) in linux::fuzz::PARSERS.iter().enumerate() {
        let number = u8::try_from(number).unwrap_or(u8::MAX);
        put(&corpus.join("parsers"), parser.name, &[&[number], parser.example].concat())?;
    }
    for (number, parser) in run::fuzz::PARSERS.iter().enumerate() {
        let number = u8::try_from(number).unwrap_or(u8::MAX);
        put(&corpus.join("tools"), parser.name, &[&[number], parser.example].concat())?;
    }
    if let Some(parser) = root::fuzz::parser("netlink answer") {
        put(&corpus.join("parsers"), parser.name, &[&[u8::MAX], parser.example].concat())?;
    }
    if let Some(parser) = root::fuzz::parser("redaction") {
        put(&corpus.join("redact"), parser.name, parser.example)?;
    }
    for parser in linux::fuzz::PARSERS {
        put(&corpus.join("redact"), parser.name, parser.example)?;
    }
    let machine = synthetic::named("virtual-machine").unwrap_or_default();
    put(&corpus.join("toml"), "virtual-machine", machine.as_bytes())?;
    let machine = synthetic::parse(machine).map_err(io::Error::other)?.build();
    let recorder = root::Recorder::new(&machine);
    linux::read(&recorder);
    let folder = corpus.join("archive");
    fs::create_dir_all(&folder)?;
    let about = root::About {
        nearside: "0.1.0".to_owned(),
        kernel: "6.12.0".to_owned(),
        time: "2026-01-01T00:00:00Z".to_owned(),
        redacted: false,
    };
    let capture = folder.join("capture.tar.zst");
    let saved = recorder.into_record().save(&capture, &about, None, root::Overwrite::Replace);
    saved.map(|_| ()).map_err(io::Error::other)
}

fn put(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join(name.replace(' ', "-")), bytes)
}
