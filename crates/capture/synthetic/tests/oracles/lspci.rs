// SPDX-License-Identifier: MIT OR Apache-2.0
//! What pciutils makes of the config spaces: class, vendor, device, and the link at its best and
//! now, which must be what the files of sysfs say.

use std::fmt::Write;
use std::process::Command;

use support::{Failed, failed};

use crate::{Written, equal, output};

pub(crate) fn check(machine: &Written) -> Result<(), Failed> {
    let functions = machine.functions()?;
    let mut dump = String::new();
    for function in &functions {
        let bytes = std::fs::read(machine.of_function(function, "config"))?;
        write_dump(&mut dump, function, &bytes)?;
    }
    let file = machine.path().join("config-dump.txt");
    std::fs::write(&file, dump)?;
    let text = output(Command::new("lspci").arg("-F").arg(&file).args(["-vv", "-n", "-D"]))?;
    let blocks: Vec<&str> = text.split("\n\n").filter(|block| !block.trim().is_empty()).collect();
    equal("functions", blocks.len(), functions.len())?;
    blocks.into_iter().try_for_each(|block| check_block(machine, block))
}

/// `00: 86 80 c0 29 ...`, sixteen bytes a line, as `lspci -xxxx` prints and `-F` reads.
fn write_dump(dump: &mut String, function: &str, bytes: &[u8]) -> Result<(), Failed> {
    writeln!(dump, "{function} Device")?;
    for (index, line) in bytes.chunks(16).enumerate() {
        write!(dump, "{:02x}:", index * 16)?;
        line.iter().try_for_each(|byte| write!(dump, " {byte:02x}"))?;
        dump.push('\n');
    }
    dump.push('\n');
    Ok(())
}

/// `0000:01:00.0 0108: 1344:51c5 (prog-if 02 [NVM Express])` and what follows.
fn check_block(machine: &Written, block: &str) -> Result<(), Failed> {
    let mut words = block.split_whitespace();
    let function = words.next().ok_or_else(|| failed("a block without address"))?;
    let file = |name: &str| -> Result<String, Failed> {
        let text = std::fs::read_to_string(machine.of_function(function, name))?;
        Ok(text.trim().trim_start_matches("0x").to_owned())
    };
    let class = words.next().unwrap_or_default().trim_end_matches(':');
    equal(function, class, &file("class")?[..4])?;
    let id = words.next().unwrap_or_default();
    equal(function, id.to_owned(), format!("{}:{}", file("vendor")?, file("device")?))?;
    for (line, speed, width) in [
        ("LnkCap:", "max_link_speed", "max_link_width"),
        ("LnkSta:", "current_link_speed", "current_link_width"),
    ] {
        let told = block.lines().find(|text| text.trim().starts_with(line)).map(link);
        let described = match file(speed) {
            Ok(speed) => {
                let number = speed.split_whitespace().next().unwrap_or_default();
                Some((number.trim_end_matches(".0").to_owned(), file(width)?))
            }
            Err(_) => None,
        };
        equal(&format!("{function} {line}"), told, described)?;
    }
    Ok(())
}

/// `LnkSta: Speed 16GT/s (downgraded), Width x4`.
fn link(line: &str) -> (String, String) {
    let after = |key: &str| line.split(key).nth(1).unwrap_or_default();
    let speed = after("Speed ").split("GT/s").next().unwrap_or_default();
    let width = after("Width x").split([',', ' ', '(']).next().unwrap_or_default();
    (speed.to_owned(), width.to_owned())
}
