// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is looked at before a run begins: whether it can be done, and what speaks against its numbers
//! whatever they will be.

use record::{Doubt, Verify, Workload};
use root::LiveRoot;

use crate::draw::{self, Stretch};
use crate::target::{Kind, Target};
use crate::way::Way;
use crate::{Error, look, region, verify};

/// The stretches of a thread, one a target.
pub(crate) fn stretches(
    workload: &Workload,
    all: &[Target],
    number: u32,
    targets: &[u32],
) -> Vec<Stretch> {
    let used = targets.iter().filter_map(|at| all.get(*at as usize));
    used.map(|target| {
        let whole = target.stretch(workload);
        match workload.division {
            record::Division::Whole => whole,
            record::Division::Pieces => {
                whole.piece(number % workload.threads, workload.threads, draw::largest(workload))
            }
        }
    })
    .collect()
}

/// Doubts that the targets and the way give before anything is measured.
pub(crate) fn doubts(
    root: &LiveRoot,
    workload: &Workload,
    targets: &[Target],
    way: Way,
    said: Option<String>,
) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    if let Some(said) = said {
        let text = format!("{said}: {} was used instead", way.name());
        doubts.push(Doubt { kind: record::DoubtKind::Fallback, target: None, text });
    }
    for target in targets {
        doubts.extend(behind(root, workload, target));
        if workload.access.cache == record::Cache::Buffered {
            let (kind, name) = (record::DoubtKind::PageCache, Some(target.name()));
            doubts.push(Doubt { kind, target: name, text: buffered(workload).to_owned() });
        }
    }
    doubts
}

/// What speaks for there being no device behind a target.
fn behind(root: &LiveRoot, workload: &Workload, target: &Target) -> Vec<Doubt> {
    let stretch = target.stretch(workload);
    let is_read = workload.mix.read_percent > 0;
    // A device for commands is looked at through its block device.
    let opened = target.open_to_look(root);
    match (target.kind, opened) {
        (Kind::File, Ok(file)) if look::is_memory(&file) => {
            let text = "it lies in a file system in memory: this measures no device".to_owned();
            vec![Doubt { kind: record::DoubtKind::Memory, target: Some(target.name()), text }]
        }
        (Kind::File, Ok(file)) if is_read => look::file(&file, &target.name(), stretch),
        (Kind::Block | Kind::Commands, Ok(file)) if is_read => {
            look::device(&file, &target.name(), stretch, workload.seed).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

fn buffered(workload: &Workload) -> &'static str {
    if workload.verify.is_some() {
        "what is read back can come from the page cache: it is no proof of what the device holds"
    } else if workload.mix.read_percent == 0 {
        "writes end in the page cache: this measures memory as much as a device"
    } else {
        "reads can come from the page cache: this measures memory as much as a device"
    }
}

/// Verifying needs to know who wrote what.
pub(crate) fn check_verify(workload: &Workload) -> Result<(), Error> {
    let unsupported =
        |why: &str| Err(Error::Unsupported { what: "verifying".to_owned(), why: why.to_owned() });
    let unit = draw::step(workload);
    let sizes = |blocks: &record::Blocks| match blocks {
        record::Blocks::Shares { shares } => shares.iter().all(|share| share.bytes % unit == 0),
        blocks => blocks.min_bytes() % unit == 0 && blocks.max_bytes() % unit == 0,
    };
    let is_shared = workload.threads > 1 && workload.division == record::Division::Whole;
    match workload.verify {
        None => Ok(()),
        Some(Verify::AfterWrites) if is_shared => {
            unsupported("threads that share places cannot tell whose writing was the last")
        }
        Some(_) if !sizes(&workload.blocks) || !workload.write_blocks.iter().all(sizes) => {
            unsupported("every block size must be a multiple of the smallest")
        }
        Some(_) if workload.access.path == record::Path::Passthrough => {
            unsupported("it reads back through the block device")
        }
        Some(_) => Ok(()),
    }
}

/// A device that nobody polls makes a polled ring spin for ever, or for an interrupt.
pub(crate) fn check_polling(
    root: &LiveRoot,
    workload: &Workload,
    targets: &[Target],
) -> Result<(), Error> {
    if workload.access.polling == record::Polling::Interrupt {
        return Ok(());
    }
    for target in targets {
        let number = target.number.as_deref().unwrap_or_default();
        let path = |above: &str| format!("/sys/dev/block/{number}/{above}queue/io_poll");
        let polls = root::text(root, &path("")).or_else(|_| root::text(root, &path("../")));
        if polls.as_deref() != Ok("1") {
            return Err(Error::Unsupported {
                what: format!("polling {}", target.name()),
                why: "its io_poll is not 1: it has no queues for it (nvme.poll_queues), and the \
                      kernel would spin until an interrupt comes"
                    .to_owned(),
            });
        }
    }
    Ok(())
}

/// Every unit that can be written is kept account of: how many there are, of all threads. There is no
/// verifying without the account, so that too many are refused before anything is written.
pub(crate) fn check_account(
    workload: &Workload,
    targets: &[Target],
    threads: &[Vec<u32>],
) -> Result<u64, Error> {
    if workload.verify != Some(Verify::AfterWrites) {
        return Ok(0);
    }
    let mut all = 0_u64;
    for (number, of_thread) in (0_u32..).zip(threads) {
        let units =
            verify::units(&stretches(workload, targets, number, of_thread), draw::step(workload));
        if units > verify::MOST_UNITS {
            return Err(Error::Unsupported {
                what: format!("verifying {units} blocks of a thread"),
                why: format!(
                    "account is kept of {} at most: verify a part (--size, --offset), larger blocks, \
                     or more threads with a piece each",
                    verify::MOST_UNITS
                ),
            });
        }
        all = all.saturating_add(units);
    }
    Ok(all)
}

/// Buffers of all threads, and the account of `units` that are verified, must fit into half of the
/// memory that is available.
pub(crate) fn check_memory(root: &LiveRoot, workload: &Workload, units: u64) -> Result<(), Error> {
    let largest = usize::try_from(draw::largest(workload)).unwrap_or(usize::MAX);
    let of_thread = region::mapped(workload.depth as usize, largest).unwrap_or(usize::MAX);
    let of_thread = u64::try_from(of_thread).unwrap_or(u64::MAX);
    let buffers = of_thread.saturating_mul(workload.thread_count().into());
    let wanted = buffers.saturating_add(units.saturating_mul(verify::UNIT_BYTES));
    let text = root::text(root, "/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    match kib.map(|kib| kib.saturating_mul(1024)) {
        Some(available) if wanted > available / 2 => Err(Error::Unsupported {
            what: format!(
                "{wanted} bytes of memory for threads, depth, block size and what is verified"
            ),
            why: format!("{available} bytes of memory are available, and half of them may be used"),
        }),
        _ => Ok(()),
    }
}
