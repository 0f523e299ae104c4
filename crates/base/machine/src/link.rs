// SPDX-License-Identifier: MIT OR Apache-2.0
//! The link above a function: what it is, what limits it, what it carries.

use units::{ByteRate, PciAddress, Transfers};

use crate::{Fact, Why};

/// A link as seen from the function at its lower end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Speed now; unknown when the port is down or sysfs says `Unknown`.
    pub speed: Fact<Transfers>,
    /// Width now in lanes; unknown when 0 or 255.
    pub width: Fact<u8>,
    /// What this function could do.
    pub own: LinkSide,
    /// What the port above could do; none where there is no port.
    pub above: Option<LinkSide>,
    /// The port above.
    pub port: Option<PciAddress>,
    /// ASPM of this link.
    pub aspm: Aspm,
}

/// What one end of a link can do at best.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkSide {
    /// `max_link_speed`.
    pub speed: Fact<Transfers>,
    /// `max_link_width`.
    pub width: Fact<u8>,
}

/// ASPM of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aspm {
    /// States supported by this end (LnkCap bits 11:10), from config space.
    pub supported: Fact<AspmStates>,
    /// States enabled at this end (LnkCtl bits 1:0).
    pub enabled: Fact<AspmStates>,
    /// L1 substates enabled, ASPM or PCI-PM.
    pub l1_substates: Fact<L1Substates>,
    /// Files in `link/`: (`l1_aspm`, on).
    pub files: Vec<(String, bool)>,
}

/// States in which an idle link sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AspmStates {
    /// L0s: each direction by itself, awake within a microsecond.
    pub l0s: bool,
    /// L1: both directions, awake within some microseconds.
    pub l1: bool,
}

/// Deeper states below L1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct L1Substates {
    /// L1.1.
    pub l1_1: bool,
    /// L1.2.
    pub l1_2: bool,
}

impl std::fmt::Display for AspmStates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match (self.l0s, self.l1) {
            (false, false) => "off",
            (true, false) => "l0s",
            (false, true) => "l1",
            (true, true) => "l0s+l1",
        })
    }
}

/// Which part of a link keeps it from doing more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LimitedBy {
    /// It runs below what both ends can do: training, signal, or power saving.
    Trained,
    /// The port above can do less than the card: the slot.
    Port,
    /// The card can do less than the port above.
    Card,
    /// It runs below the card's best, and the other end cannot be seen (a guest, a dangling link).
    Unseen,
}

impl Link {
    /// What both ends together can do at best; one end alone where the other is unseen.
    pub fn best(&self) -> LinkSide {
        let Some(above) = &self.above else { return self.own.clone() };
        LinkSide {
            speed: lower(&self.own.speed, &above.speed),
            width: lower(&self.own.width, &above.width),
        }
    }

    /// What keeps the link from doing more; none when both ends are alike and it does its best,
    /// and none when too little is known to tell.
    pub fn limited_by(&self) -> Option<LimitedBy> {
        let best = self.best();
        if below(&self.speed, &best.speed) || below(&self.width, &best.width) {
            return Some(if self.above.is_some() { LimitedBy::Trained } else { LimitedBy::Unseen });
        }
        let above = self.above.as_ref()?;
        let port = below(&above.speed, &self.own.speed) || below(&above.width, &self.own.width);
        let card = below(&self.own.speed, &above.speed) || below(&self.own.width, &above.width);
        match (port, card) {
            (true, _) => Some(LimitedBy::Port),
            (false, true) => Some(LimitedBy::Card),
            (false, false) => None,
        }
    }

    /// Bytes a second in one direction at the speed and width of now.
    pub fn rate_now(&self) -> Fact<ByteRate> {
        rate(&self.speed, &self.width)
    }

    /// Bytes a second in one direction at the best of both ends.
    pub fn rate_best(&self) -> Fact<ByteRate> {
        let best = self.best();
        rate(&best.speed, &best.width)
    }
}

impl Default for LinkSide {
    fn default() -> Self {
        Self { speed: Err(Why::Absent), width: Err(Why::Absent) }
    }
}

impl Aspm {
    /// All of it unknown for one reason.
    pub fn unknown(why: &Why) -> Self {
        let unknown = || Err(why.clone());
        Self {
            supported: unknown(),
            enabled: unknown(),
            l1_substates: Err(why.clone()),
            files: Vec::new(),
        }
    }
}

impl Default for Aspm {
    fn default() -> Self {
        Self::unknown(&Why::Absent)
    }
}

fn rate(speed: &Fact<Transfers>, width: &Fact<u8>) -> Fact<ByteRate> {
    Ok(speed.clone()?.rate(width.clone()?))
}

fn lower<T: Ord + Copy>(one: &Fact<T>, other: &Fact<T>) -> Fact<T> {
    match (one, other) {
        (Ok(one), Ok(other)) => Ok(*one.min(other)),
        (Ok(known), Err(_)) | (Err(_), Ok(known)) => Ok(*known),
        (Err(why), Err(_)) => Err(why.clone()),
    }
}

fn below<T: Ord>(now: &Fact<T>, best: &Fact<T>) -> bool {
    matches!((now, best), (Ok(now), Ok(best)) if now < best)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(speed: u16, width: u8) -> LinkSide {
        LinkSide { speed: Ok(Transfers(speed)), width: Ok(width) }
    }

    fn link(now: LinkSide, own: LinkSide, above: Option<LinkSide>) -> Link {
        Link { speed: now.speed, width: now.width, own, above, port: None, aspm: Aspm::default() }
    }

    #[test]
    fn the_part_that_limits_is_named() {
        let (gen5x4, gen4x4, gen5x2) = (side(320, 4), side(160, 4), side(320, 2));
        let cases = [
            (&gen5x4, &gen5x4, Some(&gen5x4), None),
            (&gen5x2, &gen5x4, Some(&gen5x4), Some(LimitedBy::Trained)),
            (&gen4x4, &gen5x4, Some(&gen4x4), Some(LimitedBy::Port)),
            (&gen4x4, &gen4x4, Some(&gen5x4), Some(LimitedBy::Card)),
            (&gen4x4, &gen5x4, None, Some(LimitedBy::Unseen)),
            (&gen5x4, &gen5x4, None, None),
        ];
        for (now, own, above, wanted) in cases {
            let link = link(now.clone(), own.clone(), above.cloned());
            assert_eq!(link.limited_by(), wanted, "{link:?}");
        }
    }

    #[test]
    fn what_is_unknown_limits_nothing() {
        let link = link(LinkSide::default(), side(320, 4), Some(side(320, 4)));
        assert_eq!(link.limited_by(), None);
        assert_eq!(link.rate_now(), Err(Why::Absent));
        assert_eq!(link.rate_best().map(|rate| rate.to_string()), Ok("15.8 GB/s".to_owned()));
    }

    #[test]
    fn a_wide_slow_card_in_a_narrow_fast_slot_is_limited_by_the_slot() {
        let link = link(side(80, 4), side(80, 16), Some(side(320, 4)));
        assert_eq!(link.limited_by(), Some(LimitedBy::Port));
        assert_eq!(link.best(), side(80, 4));
    }
}
