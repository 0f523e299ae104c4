// SPDX-License-Identifier: MIT OR Apache-2.0
//! Descriptions of machines and entries of a user's catalogue.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = synthetic::parse(text);
    // Over nothing: to read the built-in entries for each input would be nearly all that is run.
    let _ =
        catalogue::Catalogue::default().with_entries([("fuzz.toml".to_owned(), text.to_owned())]);
});
