// SPDX-License-Identifier: MIT OR Apache-2.0
//! Carries a workload out that is read as JSON from standard input, and prints what came as JSON.
//!
//! `load [--cpu N] [--way io_submit|pread] [--token SERIAL] < workload.json`

use std::io::Read as _;
use std::sync::atomic::AtomicBool;

use nearside_engine::{Fallback, Request, Seat, run};
use record::Workload;
use root::LiveRoot;
use units::Cpu;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let (mut seats, mut fallback, mut token) = (Vec::new(), Fallback::None, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or("a value is missing")?;
        match (name.as_str(), value.as_str()) {
            ("--cpu", number) => {
                seats.push(Seat { cpu: Some(Cpu(number.parse()?)), ..Seat::default() });
            }
            ("--way", "io_submit") => fallback = Fallback::Aio,
            ("--way", "pread") => fallback = Fallback::Positioned,
            ("--token", serial) => token = Some(serial.to_owned()),
            _ => return Err(format!("{name} {value} is not known").into()),
        }
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let workload: Workload = serde_json::from_str(&text)?;
    let root = LiveRoot::open()?;
    let finished = run(
        &root,
        &Request {
            workload: &workload,
            seats: &seats,
            placed_as: None,
            token: &|_| token.clone(),
            stop: &AtomicBool::new(false),
            watch: &|_| {},
            fallback,
        },
    )?;
    use std::io::Write as _;
    let text = serde_json::to_string_pretty(&finished.outcome)?;
    writeln!(std::io::stdout(), "{text}")?;
    Ok(())
}
