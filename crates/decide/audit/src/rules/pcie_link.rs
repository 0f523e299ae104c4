// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links that run below their best, and which side limits them.
//!
//! Not flagged: functions without a link of their own, virtual functions, a GPU's speed (it drops
//! at idle; its width still counts), board graphics, narrow links of devices that are not for I/O,
//! tunnels (Thunderbolt ports always say 2.5 GT/s), and a slot that can do no more, unless the
//! network port behind it cannot reach its line rate through it.

use machine::{Fact, Function, Link, LinkSide, Nic, NicKind, PortKind, Why};
use setting::{Confidence, Evidence, Owner, Severity};
use units::{ByteRate, PciAddress, Transfers};

use crate::context::Context;
use crate::devices::{Role, is_integrated, role};
use crate::draft::Draft;
use crate::lines;

/// A speed and a width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pace {
    speed: Transfers,
    width: u8,
}

impl Pace {
    /// As people say it: `Gen5 x4`.
    fn generation(self) -> String {
        match self.speed.generation() {
            Some(number) => format!("Gen{number} x{}", self.width),
            None => self.to_string(),
        }
    }

    fn rate(self) -> ByteRate {
        self.speed.rate(self.width)
    }
}

impl std::fmt::Display for Pace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} x{}", self.speed, self.width)
    }
}

/// Findings: one a function, alike ones grouped.
pub(crate) fn drafts(context: &Context<'_>) -> Vec<Draft> {
    let functions = context.machine.functions.iter();
    functions
        .filter(|function| is_worth(context, function))
        .filter_map(|function| judge(context, function))
        .collect()
}

/// The fact `link`: full, or what it is of what both ends could do.
pub(crate) fn summary(function: &Function) -> Fact<String> {
    let link = function.link.as_ref().ok_or(Why::NotSupported)?;
    let now = Pace { speed: link.speed.clone()?, width: link.width.clone()? };
    let best = best(link).ok_or(Why::Absent)?;
    let full = now.speed >= best.speed && now.width >= best.width;
    Ok(if full { "full".to_owned() } else { format!("{now} of {best}") })
}

fn pace(side: &LinkSide) -> Option<Pace> {
    Some(Pace { speed: side.speed.clone().ok()?, width: side.width.clone().ok()? })
}

/// What both ends can do; none where the end above cannot be seen: a slot of fewer lanes would look
/// the same as a link that trained low.
fn best(link: &Link) -> Option<Pace> {
    link.above.as_ref().and_then(pace)?;
    pace(&link.best())
}

fn is_worth(context: &Context<'_>, function: &Function) -> bool {
    // The first function speaks for its card; a port's own link is seen from its lower end.
    if !function.is_readable() || function.is_upper_end() {
        return false;
    }
    let speaks = function.physical_function.is_none() && is_first(context, function);
    let role = role(function);
    let is_bridge = role == Role::Bridge && function.port != Some(PortKind::Upstream);
    speaks
        && !is_bridge
        && role != Role::Other
        && !is_integrated(function)
        && !is_tunnel(context, function)
}

/// Whether no function of the same card with a smaller number has a link.
fn is_first(context: &Context<'_>, function: &Function) -> bool {
    let lower = (0..function.address.function)
        .map(|number| PciAddress { function: number, ..function.address });
    let mut lower = lower.filter_map(|at| context.devices.function(at));
    lower.all(|other| other.link.is_none())
}

/// PCI Express carried over Thunderbolt or USB4: the ports say 2.5 GT/s whatever it carries.
fn is_tunnel(context: &Context<'_>, function: &Function) -> bool {
    let says = |function: &Function| {
        let name = &function.names.device;
        name.contains("Thunderbolt") || name.contains("USB4")
    };
    says(function) || context.devices.above(function.address).any(says)
}

fn judge(context: &Context<'_>, function: &Function) -> Option<Draft> {
    let link = function.link.as_ref()?;
    let width = link.width.clone().ok()?;
    let best = best(link)?;
    let gpu = is_behind_gpu(context, function);
    // An idle GPU lowers its speed and raises it again under load.
    let speed = if gpu { best.speed } else { link.speed.clone().ok()? };
    let now = Pace { speed: speed.min(best.speed), width: width.min(best.width) };
    if now == best {
        return too_narrow(context, function, link, best);
    }
    Some(trained_low(context, function, link, now, best))
}

/// A GPU, or the switch on a GPU's board.
fn is_behind_gpu(context: &Context<'_>, function: &Function) -> bool {
    // Makers of GPUs put a switch of their own on the board; others' switches keep their speed.
    let is_gpu = |other: &Function| role(other) == Role::Gpu && other.vendor == function.vendor;
    if role(function) != Role::Bridge {
        return is_gpu(function);
    }
    let below = context.machine.functions.iter().filter(|other| is_gpu(other));
    below
        .into_iter()
        .any(|gpu| context.devices.above(gpu.address).any(|port| port.address == function.address))
}

/// Both ends can do better: contact, cable, a firmware limit, or a fault of the training.
fn trained_low(
    context: &Context<'_>,
    function: &Function,
    link: &Link,
    now: Pace,
    best: Pace,
) -> Draft {
    let share = now.rate().0 / best.rate().0;
    let spare = spare(context, function, now);
    let severity = match share {
        // A sign of a fault, but nothing that flows is held up.
        _ if spare.is_some() => Severity::Low,
        share if share < 0.7 => Severity::High,
        _ => Severity::Medium,
    };
    let alike = all_alike(context, function, now);
    let cause = match alike {
        _ if context.is_guest() => "both ends could do more, as far as a guest can see".to_owned(),
        None => "both ends could do more, so it is the training: a bad contact or cable, a dirty \
                 slot, or a damaged lane"
            .to_owned(),
        Some(count) => format!(
            "both ends could do more, and all {count} functions of this model run so: more likely a \
             speed limit in the firmware's set-up than a bad contact"
        ),
    };
    let because = format!(
        "the link could carry {} a direction and carries {} ({:.0} %){}; {cause}",
        best.rate(),
        now.rate(),
        share * 100.0,
        spare.map_or_else(String::new, |line| format!(", and its ports take in at most {line}"))
    );
    let confidence =
        if alike.is_some() || context.is_guest() { Confidence::Likely } else { Confidence::Sure };
    let draft = base(
        context,
        function,
        link,
        severity,
        format!(
            "{{devices}}: The link runs at {} and both ends can do {}: {} instead of {}",
            now.generation(),
            best.generation(),
            now.rate(),
            best.rate()
        ),
    )
    .confidence(confidence)
    .values(now.to_string(), best.to_string())
    .weighed(match severity {
        Severity::High => "less than 70 % of the bandwidth is left",
        Severity::Medium => "70 % of the bandwidth or more is left",
        _ => "what is left is more than its ports can take in",
    })
    .because(because)
    .owner(if alike.is_some() { Owner::Bios } else { Owner::Person });
    draft.change([])
}

/// How many functions of the same model there are, when more than two and all run at this pace.
fn all_alike(context: &Context<'_>, function: &Function, now: Pace) -> Option<usize> {
    let same = |other: &&Function| {
        other.vendor == function.vendor
            && other.device == function.device
            && other.link.is_some()
            && other.physical_function.is_none()
    };
    let all: Vec<&Function> = context.machine.functions.iter().filter(same).collect();
    let is_now = |other: &&Function| {
        let link = other.link.as_ref();
        link.is_some_and(|link| link.speed == Ok(now.speed) && link.width == Ok(now.width))
    };
    (all.len() > 2 && all.iter().all(is_now)).then_some(all.len())
}

/// The link is all that the slot can do. That is by design, and is said only where the card's own
/// ports can take in more than the slot carries.
fn too_narrow(
    context: &Context<'_>,
    function: &Function,
    link: &Link,
    best: Pace,
) -> Option<Draft> {
    let own = pace(&link.own)?;
    let is_less = own.width > best.width || own.speed > best.speed;
    if context.is_guest() || !is_less || role(function) != Role::Network {
        return None;
    }
    let line = line_rate(context, function);
    if line.0 <= best.rate().0 {
        return None;
    }
    let because = format!(
        "the card could do {own}, its slot does {best}: its ports take in up to {line}, the slot \
         carries {} a direction before protocol overhead",
        best.rate()
    );
    let title = format!(
        "{{devices}}: The slot ({}, {}) carries less than the ports' line rate",
        best.generation(),
        best.rate()
    );
    let draft = base(context, function, link, Severity::Medium, title)
        .values(best.to_string(), own.to_string())
        .weighed("the ports can bring more than the slot carries")
        .because(because)
        .owner(Owner::Person);
    Some(draft.change([]))
}

/// What the ports of a card take in at most, where the link carries it all as it is. A fifth is left
/// for the headers of packets of 128 bytes.
fn spare(context: &Context<'_>, function: &Function, now: Pace) -> Option<ByteRate> {
    let line = line_rate(context, function);
    let is_carried = line.0 > 0.0 && line.0 <= now.rate().0 * 0.8;
    // A port whose speed is unknown may take in any amount.
    let is_told = ports(context, function).all(|nic| nic.speed.is_ok());
    (role(function) == Role::Network && is_carried && is_told).then_some(line)
}

/// The network ports of a card, all its functions together.
fn ports<'a>(context: &Context<'a>, function: &Function) -> impl Iterator<Item = &'a Nic> {
    let card = function.address.card();
    let on_card = move |nic: &&Nic| {
        nic.kind == NicKind::Physical && nic.function.is_some_and(|at| at.card() == card)
    };
    context.machine.nics.iter().filter(on_card)
}

/// What the ports of a card run at, all functions of the card together.
fn line_rate(context: &Context<'_>, function: &Function) -> ByteRate {
    let bits = ports(context, function)
        .filter_map(|nic| nic.speed.as_ref().ok())
        .fold(0_u64, |sum, speed| sum.saturating_add(speed.0));
    #[expect(clippy::cast_precision_loss, reason = "line rates are far below 2^52 bits a second")]
    let bytes = bits as f64 / 8.0;
    ByteRate(bytes)
}

fn base(
    context: &Context<'_>,
    function: &Function,
    link: &Link,
    severity: Severity,
    title: String,
) -> Draft {
    let mut draft = Draft::new("pcie-link", severity, title)
        .about(context.devices.label(function.address))
        .evidences(lines::link_now(function));
    draft = bests(draft, function, &link.own);
    let port = link.port.and_then(|port| context.devices.function(port));
    if let (Some(port), Some(above)) = (port, &link.above) {
        draft = bests(draft, port, above);
    }
    let slot = |slot: &String| Evidence::file(format!("/sys/bus/pci/slots/{slot}/address"));
    draft.evidences(function.slot.as_ref().map(slot))
}

/// What one end could do.
fn bests(draft: Draft, function: &Function, side: &LinkSide) -> Draft {
    let at = function.address;
    if let (true, Some(best)) = (lines::has_registers(function), pace(side)) {
        return draft.evidence(lines::express(at, 0x0c, 4).meaning(format!("LnkCap {best}")));
    }
    draft
        .evidence(lines::function(at, "max_link_speed"))
        .evidence(lines::function(at, "max_link_width"))
}
