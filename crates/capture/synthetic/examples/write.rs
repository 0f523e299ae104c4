// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes an embedded machine to a folder: `cargo run --example write -- r7725xd DIR [DIVISOR]`.

use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(name), Some(folder)) = (arguments.next(), arguments.next()) else {
        return Err("usage: write MACHINE DIR [DIVISOR]".into());
    };
    let divisor = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let text =
        nearside_synthetic::named(&name).ok_or_else(|| format!("no machine is named {name}"))?;
    std::fs::create_dir_all(&folder)?;
    let tree = nearside_synthetic::parse(text)?.scaled(divisor).tree();
    Ok(tree.write_to(Path::new(&folder))?)
}
