// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables of receive-side scaling that leave queues out, or give some far more than others.
//!
//! Not flagged: shares that differ by one entry, for a table has only so many; queues beyond the
//! entries of the table; ports whose link is down. With flow steering on, queues may be left out for
//! flows that rules bring there: that is said, and no change is proposed.

use machine::{Fact, Nic, ReceiveSpread};
use setting::{Confidence, Severity};

use crate::context::Context;
use crate::devices;
use crate::draft::Draft;
use crate::lines;
use crate::words;

/// The entry that this rule speaks of.
pub(crate) const ID: &str = "nic-receive-spread";

/// How a table spreads over the queues that it could use.
enum Shape {
    /// As evenly as its size allows, over all.
    Even,
    /// So many get nothing.
    Partial(u32),
    /// The largest share is so many times the mean.
    Uneven(usize),
}

/// Findings: one a port.
pub(crate) fn drafts(context: &Context<'_>) -> Vec<Draft> {
    let ports = context.machine.nics.iter();
    ports.filter(|nic| devices::is_port(nic) && devices::is_up(nic)).filter_map(judge).collect()
}

/// The fact `receive-spread`: even, partial, uneven.
pub(crate) fn summary(nic: &Nic) -> Fact<String> {
    let spread = nic.receive_spread.as_ref().map_err(Clone::clone)?;
    let word = match shape(spread, queues(nic, spread)) {
        Shape::Even => "even",
        Shape::Partial(_) => "partial",
        Shape::Uneven(_) => "uneven",
    };
    Ok(word.to_owned())
}

/// Queues that a table could name: by the driver, else by the kernel's folders.
fn queues(nic: &Nic, spread: &ReceiveSpread) -> u32 {
    let counted = u32::try_from(nic.rx_queues.len()).unwrap_or(u32::MAX);
    spread.queues.unwrap_or(counted).min(spread.most())
}

fn shape(spread: &ReceiveSpread, queues: u32) -> Shape {
    let shares = spread.shares();
    let used = u32::try_from(shares.len()).unwrap_or(u32::MAX);
    if used < queues {
        return Shape::Partial(queues - used);
    }
    let (most, least) = (shares.values().max(), shares.values().min());
    match (most.copied().unwrap_or(0), least.copied().unwrap_or(0)) {
        (most, least) if most - least <= 1 => Shape::Even,
        (most, _) => Shape::Uneven(most.saturating_mul(shares.len()) / spread.table.len().max(1)),
    }
}

fn judge(nic: &Nic) -> Option<Draft> {
    let spread = nic.receive_spread.as_ref().ok()?;
    let queues = queues(nic, spread);
    let count = usize::try_from(queues).unwrap_or(usize::MAX);
    let (title, because, severity) = match shape(spread, queues) {
        Shape::Even => return None,
        Shape::Partial(idle) => (
            format!(
                "{{devices}}: RSS gives no packets to {idle} of {}",
                words::count(count, "receive queue")
            ),
            format!(
                "the table that spreads packets ({} entries) names {}: the cores of the others wait \
                 while these fill up",
                spread.table.len(),
                words::count(spread.shares().len(), "queue")
            ),
            if idle.saturating_mul(2) >= queues { Severity::Medium } else { Severity::Low },
        ),
        Shape::Uneven(times) => (
            format!(
                "{{devices}}: RSS gives its {} unequal shares",
                words::count(count, "receive queue")
            ),
            format!(
                "of {} entries of the table one queue has {}: its core is full first",
                spread.table.len(),
                spread.shares().values().max().copied().unwrap_or(0)
            ),
            if times >= 2 { Severity::Medium } else { Severity::Low },
        ),
    };
    let draft = Draft::new(ID, severity, title)
        .about(&nic.name)
        .values(shares(spread), "even")
        .weighed(match severity {
            Severity::Medium => "half of the cores that could serve, or fewer, take most packets",
            _ => "most of the cores that could serve take packets",
        })
        .because(because)
        .evidence(lines::ethtool("-x", &nic.name));
    Some(if is_steered(nic) {
        draft.confidence(Confidence::Unsure)
    } else {
        let line = format!("ethtool -X {} equal {queues}", nic.name);
        draft.confidence(Confidence::Likely).change([line])
    })
}

/// Whether rules may bring flows to queues of their own.
fn is_steered(nic: &Nic) -> bool {
    let features = nic.features.as_deref().unwrap_or_default();
    let filter = setting::feature_name("ntuple");
    features.iter().any(|feature| feature.name == filter && feature.active)
}

/// `queue 0: 96, queue 1: 32`, the first few.
fn shares(spread: &ReceiveSpread) -> String {
    let shares = spread.shares();
    let shown = shares.iter().take(4).map(|(queue, share)| format!("queue {queue}: {share}"));
    let text = shown.collect::<Vec<_>>().join(", ");
    if shares.len() > 4 { format!("{text} and so on") } else { text }
}
