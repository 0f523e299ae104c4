// SPDX-License-Identifier: MIT OR Apache-2.0
//! Receive and transmit queues with their CPU masks.

use machine::{Fact, RxQueue, TxQueue, Why};
use root::Dir;
use units::CpuSet;

/// Queues of the device in `dir`, by number: `queues/rx-0`, `queues/tx-0`.
pub(super) fn read(dir: &Dir<'_>) -> (Vec<RxQueue>, Vec<TxQueue>) {
    let queues = dir.sub("queues");
    let names = queues.list().unwrap_or_default();
    let rx = numbers(&names, "rx-").into_iter().map(|number| {
        let queue = queues.sub(&format!("rx-{number}"));
        RxQueue { number, rps: mask(&queue, "rps_cpus"), flow_count: queue.parse("rps_flow_cnt") }
    });
    let tx = numbers(&names, "tx-").into_iter().map(|number| {
        let queue = queues.sub(&format!("tx-{number}"));
        TxQueue { number, xps: mask(&queue, "xps_cpus") }
    });
    (rx.collect(), tx.collect())
}

/// Names sort as text (`rx-10` before `rx-2`); queues are wanted by number.
fn numbers(names: &[String], prefix: &str) -> Vec<u32> {
    let number = |name: &String| name.strip_prefix(prefix)?.parse().ok();
    let mut numbers: Vec<u32> = names.iter().filter_map(number).collect();
    numbers.sort_unstable();
    numbers
}

/// `00000000,0000000f`. A single-queue device answers ENOENT to `xps_cpus`.
fn mask(queue: &Dir<'_>, name: &str) -> Fact<CpuSet> {
    let text = queue.text(name)?;
    CpuSet::from_mask(&text).map_err(|_| Why::unparsed(&text))
}
