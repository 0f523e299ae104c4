// SPDX-License-Identifier: MIT OR Apache-2.0
//! `bs`, `bsrange` and `bssplit`: sizes for reads, writes and trims.

use record::{BlockShare, Blocks};

use super::error::NotTaken;
use super::options::Options;
use super::quantity::size;

/// fio's default (options.c).
const DEFAULT: Blocks = Blocks::One { bytes: 4096 };

/// Sizes of reads, and of writes and trims where they differ.
pub(super) fn read(options: &mut Options<'_>) -> Result<(Blocks, Option<Blocks>), NotTaken> {
    let plain = options.value("bs", |text| directions(text, one))?;
    let range = options.value("bsrange", |text| directions(text, range))?;
    let split = options.value("bssplit", |text| directions(text, shares))?;
    // fio asks bssplit first, then the range (io_u.c, `get_next_buflen`).
    let (reads, writes) = split.or(range).or(plain).unwrap_or((DEFAULT, DEFAULT));
    Ok(if reads == writes { (reads, None) } else { (reads, Some(writes)) })
}

/// One value for all, or one for reads and one for the rest: `4k`, `4k,8k`, `,8k`, `4k,`.
fn directions(
    text: &str,
    value: fn(&str) -> Result<Blocks, String>,
) -> Result<(Blocks, Blocks), String> {
    let or_default = |text: &str| if text.is_empty() { Ok(DEFAULT) } else { value(text) };
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    match parts.as_slice() {
        [all] => value(all).map(|blocks| (blocks.clone(), blocks)),
        [read, write] => Ok((or_default(read)?, or_default(write)?)),
        [read, write, trim] if write == trim => Ok((or_default(read)?, or_default(write)?)),
        _ => Err(format!("{text:?}: nearside's own engine has one size for writes and trims")),
    }
}

fn one(text: &str) -> Result<Blocks, String> {
    Ok(Blocks::One { bytes: size(text)? })
}

/// `4k-64k`
fn range(text: &str) -> Result<Blocks, String> {
    let (min, max) = text.split_once(['-', ':']).ok_or_else(|| format!("{text:?} is no range"))?;
    let (min_bytes, max_bytes) = (size(min)?, size(max)?);
    Ok(if min_bytes == max_bytes {
        Blocks::One { bytes: min_bytes }
    } else {
        Blocks::Range { min_bytes, max_bytes }
    })
}

/// `4k/10:64k/50:32k/40`; those without a share have the rest in equal parts.
fn shares(text: &str) -> Result<Blocks, String> {
    let share = |text: &str| -> Result<(u64, Option<u8>), String> {
        let (bytes, percent) = text.split_once('/').unwrap_or((text, ""));
        let percent = match percent {
            "" => None,
            percent => Some(percent.parse().map_err(|_| format!("{percent:?} is no percentage"))?),
        };
        Ok((size(bytes)?, percent))
    };
    let given: Vec<(u64, Option<u8>)> = text.split(':').map(share).collect::<Result<_, _>>()?;
    let told: u32 = given.iter().filter_map(|(_, percent)| *percent).map(u32::from).sum();
    let untold = given.iter().filter(|(_, percent)| percent.is_none()).count();
    let rest = 100_u32.checked_sub(told).ok_or_else(|| format!("{text:?} is more than 100 %"))?;
    let part = u32::try_from(untold).ok().filter(|untold| *untold > 0).map(|untold| rest / untold);
    if part.is_some_and(|part| part as usize * untold != rest as usize) {
        return Err(format!("{text:?}: {rest} % do not part into {untold} whole shares"));
    }
    let part = u8::try_from(part.unwrap_or(0)).unwrap_or(0);
    let share = |(bytes, percent): (u64, Option<u8>)| BlockShare {
        bytes,
        percent: percent.unwrap_or(part),
    };
    Ok(Blocks::Shares { shares: given.into_iter().map(share).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(bytes: u64) -> Blocks {
        Blocks::One { bytes }
    }

    #[test]
    fn sizes_are_of_all_or_of_each_direction() {
        for (text, reads, writes) in
            [("8k", 8192, 8192), ("8k,16k", 8192, 16384), (",8k", 4096, 8192), ("8k,", 8192, 4096)]
        {
            assert_eq!(directions(text, one), Ok((bytes(reads), bytes(writes))), "{text}");
        }
        assert!(directions("1k,2k,3k", one).is_err());
    }

    #[test]
    fn shares_without_a_percentage_have_the_rest() {
        let share = |bytes, percent| BlockShare { bytes, percent };
        let wanted = vec![share(4096, 50), share(8192, 25), share(16384, 25)];
        assert_eq!(shares("4k/50:8k/:16k/"), Ok(Blocks::Shares { shares: wanted }));
        for text in ["4k/101", "4k/60:8k/60", "4k/50:1k/:2k/:3k/", "x/50"] {
            assert!(shares(text).is_err(), "{text}");
        }
    }
}
