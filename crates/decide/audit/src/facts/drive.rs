// SPDX-License-Identifier: MIT OR Apache-2.0
//! Facts about drives.

use machine::{Drive, Fact, Managed, Why};

use super::{Answer, switch};
use crate::context::Context;

/// What is asked of one device.
type Ask = fn(&Context<'_>, &Drive) -> Fact<String>;

/// Answers a fact about drives.
pub(super) fn answer(context: &Context<'_>, fact: &str) -> Option<Vec<Answer>> {
    let (ask, file): (Ask, &str) = match fact {
        "apst" => (|_, drive| apst(drive), "device"),
        "drive-irqs" => (irqs, "device/device/msi_irqs"),
        "drive-queues" => (|_, drive| queues(drive), "mq"),
        _ => return None,
    };
    let answers = context.machine.drives.iter().map(|drive| {
        let value = ask(context, drive);
        let reason = value.as_ref().map_or_else(crate::words::unknown, Clone::clone);
        let path = format!("/sys/block/{}/{file}", drive.name);
        Answer::device(&drive.name, value, path, reason)
    });
    Some(answers.collect())
}

fn apst(drive: &Drive) -> Fact<String> {
    match &drive.apst {
        Ok(None) => Ok("not supported".to_owned()),
        Ok(Some(enabled)) => Ok(switch(*enabled)),
        Err(why) => Err(why.clone()),
    }
}

/// Managed where the kernel places all I/O vectors; else near when every one stays on the node of
/// its function.
fn irqs(context: &Context<'_>, drive: &Drive) -> Fact<String> {
    let mut word = None;
    for function in drive.controllers.iter().filter_map(|path| path.function) {
        let node = context.devices.function(function).and_then(|function| function.node);
        for irq in context.io_irqs(function) {
            if irq.managed != Managed::No {
                word = word.or(Some("managed"));
                continue;
            }
            let near = node.and_then(|node| context.places.cpus(node)).ok_or(Why::Absent)?;
            if !context.target(irq).is_subset(near) {
                return Ok("far".to_owned());
            }
            word = Some("near");
        }
    }
    word.map(str::to_owned).ok_or(Why::Absent)
}

fn queues(drive: &Drive) -> Fact<String> {
    let told = drive.controllers.iter().map(|path| path.queues).max().unwrap_or(0);
    let listed = u32::try_from(drive.queues.len()).unwrap_or(u32::MAX);
    match told.max(listed) {
        0 => Err(Why::Absent),
        queues => Ok(queues.to_string()),
    }
}
