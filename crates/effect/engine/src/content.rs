// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is written, and whether it is read again.
//!
//! Without verifying, a slot holds random bytes from the start, and each 4,096 of a write get a salt
//! that no other write has: nothing can be compressed, and nothing is there twice.
//!
//! With it, each unit (the smallest block of the workload) is wholly made of its place, of which
//! writing of it that was, and of the seed:
//!
//! ```text
//! 0   magic       8   place in bytes    16   generation    24   seed
//! 32  CRC-32C of the rest    36  0      40   random bytes of (seed, place, generation)
//! ```
//!
//! so that what is found can be told apart: another unit's content (misdirected), an earlier one
//! (lost), or some sectors of the one and some of the other (torn).

use record::FailureKind;

use crate::draw::Random;

const MAGIC: u64 = 0x6e65_6172_7369_6465;
const HEAD: usize = 40;
/// A drive writes sectors of 512 bytes at least whole.
const SECTOR: usize = 512;
/// How far salts lie apart: the smallest blocks that anybody looks for twice.
const SALTED: usize = 4096;

/// Gives each 4,096 bytes of a write a salt of its own.
#[inline]
pub(crate) fn salt(bytes: &mut [u8], random: &mut Random) {
    for block in bytes.chunks_mut(SALTED) {
        let salt = random.next().to_le_bytes();
        block.iter_mut().zip(salt).for_each(|(byte, new)| *byte = new);
    }
}

/// Fills one unit.
pub(crate) fn fill(unit: &mut [u8], seed: u64, place: u64, generation: u64) {
    let mut random = Random::of(seed ^ place.rotate_left(32), generation);
    let Some((head, body)) = unit.split_at_mut_checked(HEAD) else { return };
    random.fill(body);
    let words = [MAGIC, place, generation, seed];
    for (piece, word) in head.chunks_mut(8).zip(words) {
        piece.copy_from_slice(&word.to_le_bytes());
    }
    let crc = u64::from(checksum(head, body)).to_le_bytes();
    head.iter_mut().skip(32).zip(crc).for_each(|(byte, new)| *byte = new);
}

fn checksum(head: &[u8], body: &[u8]) -> u32 {
    let words = head.get(..32).unwrap_or_default();
    crc32c::crc32c_append(crc32c::crc32c(words), body)
}

/// What a unit says that it is; none without the magic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Head {
    place: u64,
    generation: u64,
    seed: u64,
    is_whole: bool,
}

fn head(unit: &[u8]) -> Option<Head> {
    let (head, body) = unit.split_at_checked(HEAD)?;
    let word = |at: usize| {
        let bytes = head.get(at * 8..at * 8 + 8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    };
    let is_whole = word(4)? == u64::from(checksum(head, body));
    (word(0)? == MAGIC).then_some(Head {
        place: word(1)?,
        generation: word(2)?,
        seed: word(3)?,
        is_whole,
    })
}

/// What is wrong with a unit that was read at `place`. `generation` is the one that was written last;
/// none where only the drive knows.
pub(crate) fn check(
    unit: &[u8],
    seed: u64,
    place: u64,
    generation: Option<u64>,
) -> Option<FailureKind> {
    let found = head(unit);
    let wanted = generation.or_else(|| found.map(|found| found.generation));
    if let Some(found) = found.filter(|found| found.is_whole) {
        return if found.place != place {
            Some(FailureKind::Misdirected)
        } else if found.seed != seed || wanted != Some(found.generation) {
            Some(FailureKind::Lost)
        } else {
            None
        };
    }
    let Some(wanted) = wanted else { return Some(FailureKind::Lost) };
    let mut whole = vec![0; unit.len()];
    fill(&mut whole, seed, place, wanted);
    let alike = |(one, other): (&[u8], &[u8])| one == other;
    let is_part = unit.chunks(SECTOR).zip(whole.chunks(SECTOR)).any(alike);
    // Its own head over other bytes is part of a writing too, in a unit of one sector.
    let is_own = found.is_some_and(|found| found.place == place && found.generation == wanted);
    Some(if is_part || is_own { FailureKind::Torn } else { FailureKind::Lost })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(place: u64, generation: u64) -> Vec<u8> {
        let mut unit = vec![0; 4096];
        fill(&mut unit, 7, place, generation);
        unit
    }

    #[test]
    fn what_was_written_is_told_from_what_was_not() {
        let (good, old) = (unit(8192, 5), unit(8192, 4));
        let mut torn = good.clone();
        torn[512..].copy_from_slice(&old[512..]);
        let mut torn_at_its_head = old.clone();
        torn_at_its_head[2048..].copy_from_slice(&good[2048..]);
        let mut flipped = good.clone();
        flipped[4000] ^= 1;
        let cases = [
            ("good", good.clone(), None),
            ("an earlier writing", old, Some(FailureKind::Lost)),
            ("never written", vec![0; 4096], Some(FailureKind::Lost)),
            ("another place's", unit(4096, 5), Some(FailureKind::Misdirected)),
            ("its end is old", torn, Some(FailureKind::Torn)),
            ("its beginning is old", torn_at_its_head, Some(FailureKind::Torn)),
            ("one bit", flipped, Some(FailureKind::Torn)),
            ("shorter than a head", vec![1; 8], Some(FailureKind::Lost)),
        ];
        for (name, unit, wanted) in cases {
            assert_eq!(check(&unit, 7, 8192, Some(5)), wanted, "{name}");
        }
        assert_eq!(check(&good, 7, 8192, None), None);
        assert_eq!(check(&good, 8, 8192, None), Some(FailureKind::Lost));
        assert_eq!(check(&[0; 4096], 7, 8192, None), Some(FailureKind::Lost));
    }

    #[test]
    fn salts_make_every_block_another() {
        let mut random = Random::new(1);
        let mut bytes = vec![3; 10_000];
        salt(&mut bytes, &mut random);
        let before = bytes.clone();
        salt(&mut bytes, &mut random);
        for (one, other) in bytes.chunks(4096).zip(before.chunks(4096)) {
            assert_ne!(one, other);
        }
        assert_ne!(bytes[..4096], bytes[4096..8192]);
    }
}
