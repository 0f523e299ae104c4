// SPDX-License-Identifier: MIT OR Apache-2.0
//! Descriptions of machines and entries of a user's catalogue.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = synthetic::parse(text);
    let _ = catalogue::Catalogue::with_folder([("fuzz.toml".to_owned(), text.to_owned())]);
});
