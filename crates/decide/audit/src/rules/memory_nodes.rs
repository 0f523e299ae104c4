// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nodes that have memory and no CPUs: a note on what lands there.

use machine::{Node, NodeKind};
use setting::{Confidence, Severity};
use units::Bytes;

use crate::context::Context;
use crate::draft::Draft;
use crate::lines;
use crate::words;

/// One note for the machine.
pub(crate) fn drafts(context: &Context<'_>) -> Vec<Draft> {
    let nodes: Vec<&Node> =
        context.machine.nodes.iter().filter(|node| is_memory_only(node)).collect();
    let Some(first) = nodes.first() else { return Vec::new() };
    let ids = words::numbers("node", nodes.iter().map(|node| node.id));
    let kinds: std::collections::BTreeSet<&str> =
        nodes.iter().map(|node| kind(node.kind)).collect();
    let kinds = kinds.into_iter().collect::<Vec<_>>().join(", ");
    let far = far_distance(first)
        .map(|distance| format!(" (the first at distance {distance} from its nearest node)"))
        .unwrap_or_default();
    let hold = if nodes.len() == 1 { "holds" } else { "hold" };
    let because = format!(
        "{ids} {hold} {kinds}{far}: pages that spill or interleave over all nodes land there too, \
         so that memory policies should name the nodes they mean"
    );
    let mut draft = Draft::new(
        "memory-only-nodes",
        Severity::Note,
        format!("{} {hold} memory and no CPUs ({kinds})", words::capital(&ids)),
    )
    .confidence(Confidence::Sure)
    .weighed("nothing is wrong with it")
    .values(ids, "named in every memory policy")
    .because(because);
    for node in nodes.iter().take(8) {
        draft = draft.evidence(lines::node_cpus(node.id)).evidence(lines::node_memory(node.id));
    }
    vec![draft]
}

fn is_memory_only(node: &Node) -> bool {
    let has_memory = node.memory.as_ref().is_ok_and(|memory| *memory > Bytes(0));
    node.cpus.is_empty() && has_memory && !matches!(node.kind, NodeKind::Ordinary | NodeKind::Empty)
}

fn kind(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::PersistentMemory => "persistent memory",
        NodeKind::Cxl => "CXL memory",
        NodeKind::HighBandwidth => "high-bandwidth memory",
        NodeKind::Gpu => "GPU memory",
        NodeKind::Ordinary | NodeKind::MemoryOnly | NodeKind::Empty => {
            "memory of a kind that the kernel does not tell"
        }
    }
}

/// The distance to the nearest other node.
fn far_distance(node: &Node) -> Option<u32> {
    let others = node.distances.iter().filter(|(other, _)| *other != node.id);
    others.map(|(_, distance)| *distance).min()
}
