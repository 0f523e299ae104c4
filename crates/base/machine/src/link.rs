// SPDX-License-Identifier: MIT OR Apache-2.0
//! What limits a link, and what it carries.

use units::{ByteRate, Transfers};

use crate::{Fact, Function, Link, LinkSide, PortKind, Why};

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

impl Function {
    /// Whether its identity could be read. A link in `/sys/bus/pci/devices` may lead nowhere: then
    /// only the address and its place in the tree are known. No vendor has the id 0.
    pub fn is_readable(&self) -> bool {
        self.vendor != 0
    }

    /// Whether other functions hang below it: a bridge or port by class, or by its capability.
    pub fn is_port(&self) -> bool {
        let by_capability = self.port.is_some_and(|port| {
            use PortKind::{Bridge, Downstream, Root, Upstream};
            matches!(port, Root | Upstream | Downstream | Bridge)
        });
        by_capability || (self.class.base == 0x06 && self.class.sub == 0x04)
    }

    /// Whether it is the upper end of its link: a root port or a switch's downstream port.
    pub fn is_upper_end(&self) -> bool {
        matches!(self.port, Some(PortKind::Root | PortKind::Downstream))
    }
}

fn rate(speed: &Fact<Transfers>, width: &Fact<u8>) -> Fact<ByteRate> {
    let (speed, width) = (speed.clone()?, width.clone()?);
    Ok(ByteRate(speed.lane_rate().0 * f64::from(width)))
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

impl Default for LinkSide {
    fn default() -> Self {
        Self { speed: Err(Why::Absent), width: Err(Why::Absent) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Aspm;

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
