// SPDX-License-Identifier: MIT OR Apache-2.0
//! The catalogue that is compiled in: it loads, passes the lint, and holds what it promises.

use nearside_catalogue::Catalogue;

#[test]
fn every_entry_passes_the_lint() {
    let complaints: Vec<String> =
        Catalogue::built_in().lint().iter().map(ToString::to_string).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}
