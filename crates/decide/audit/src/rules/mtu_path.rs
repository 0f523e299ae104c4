// SPDX-License-Identifier: MIT OR Apache-2.0
//! MTUs that differ along a bond, a bridge or a VLAN.
//!
//! A VLAN below its parent's MTU is legal and often meant, hence a note. Ports of guests and
//! containers in a bridge are their owners' business.

use machine::{Fact, Nic, NicKind};
use setting::{Confidence, Severity};

use crate::context::Context;
use crate::draft::Draft;
use crate::lines;
use crate::words;

/// Findings: one a stacked device.
pub(crate) fn drafts(context: &Context<'_>) -> Vec<Draft> {
    let nics = &context.machine.nics;
    nics.iter().filter_map(|nic| judge(context, nic)).collect()
}

/// The fact `mtu-path`: equal, or which device differs.
pub(crate) fn summary(context: &Context<'_>, nic: &Nic) -> Fact<String> {
    let mtu = nic.mtu.clone()?;
    let above = nic.upper.iter().chain(&nic.master);
    let differs = above
        .filter_map(|name| find(context, name))
        .find(|upper| is_stacked(upper) && upper.mtu.as_ref().is_ok_and(|above| *above != mtu));
    Ok(differs.map_or_else(|| "equal".to_owned(), |upper| format!("{} differs", upper.name)))
}

fn find<'a>(context: &Context<'a>, name: &str) -> Option<&'a Nic> {
    context.machine.nics.iter().find(|nic| nic.name == name)
}

fn is_stacked(nic: &Nic) -> bool {
    matches!(nic.kind, NicKind::Bond | NicKind::Bridge | NicKind::Vlan)
}

fn judge(context: &Context<'_>, upper: &Nic) -> Option<Draft> {
    if !is_stacked(upper) {
        return None;
    }
    let mtu = *upper.mtu.as_ref().ok()?;
    let below = upper.lower.iter().filter_map(|name| find(context, name));
    let counts = |nic: &&Nic| nic.kind != NicKind::Virtual && nic.kind != NicKind::Loopback;
    let differ: Vec<(&Nic, u32)> = below
        .filter(counts)
        .filter_map(|nic| Some((nic, *nic.mtu.as_ref().ok()?)))
        .filter(|(_, below)| *below != mtu)
        .collect();
    let (_, first) = differ.first()?;
    let severity = match upper.kind {
        NicKind::Vlan if differ.iter().all(|(_, below)| *below > mtu) => Severity::Note,
        _ if differ.iter().any(|(_, below)| *below < mtu) => Severity::Medium,
        _ => Severity::Low,
    };
    let names: Vec<String> =
        differ.iter().map(|(nic, below)| format!("{} has {below}", nic.name)).collect();
    let title = format!("{}: The MTU is {mtu}, and below it {}", upper.name, words::names(&names));
    let because = because(severity, upper, mtu);
    let draft = Draft::new("mtu-path", severity, title)
        .about(&upper.name)
        .about_all(differ.iter().map(|(nic, _)| nic.name.clone()))
        .confidence(if severity == Severity::Medium {
            Confidence::Sure
        } else {
            Confidence::Likely
        })
        .values(format!("{mtu} over {first}"), "one MTU all the way")
        .weighed(weight(severity))
        .because(because)
        .evidence(lines::port(&upper.name, "mtu"))
        .evidences(differ.iter().take(6).map(|(nic, _)| lines::port(&nic.name, "mtu")));
    Some(draft)
}

fn weight(severity: Severity) -> &'static str {
    match severity {
        Severity::Medium => "packets that do not fit are lost or cut",
        Severity::Note => "it is legal, and often meant",
        _ => "nothing is lost: there are more packets than need be",
    }
}

fn because(severity: Severity, upper: &Nic, mtu: u32) -> String {
    let name = &upper.name;
    match severity {
        Severity::Medium => {
            format!("packets of {mtu} bytes that {name} makes do not fit the smaller device below")
        }
        Severity::Note => format!(
            "{name} sends packets of {mtu} bytes although its parent could carry larger ones; fine where the network behind that VLAN needs it"
        ),
        _ => format!(
            "{name} holds traffic to {mtu} bytes a packet although all below could carry larger ones"
        ),
    }
}
