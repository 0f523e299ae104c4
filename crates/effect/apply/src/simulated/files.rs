// SPDX-License-Identifier: MIT OR Apache-2.0
//! How files take what is written to them, and what moves along.
//!
//! Measured on Linux 6.1 and 6.18 where hardware allowed; the rest after the sources named.

use rustix::io::Errno;
use units::{Cpu, CpuSet};

use super::Simulated;

/// Files that change: path and text.
type Changes = Result<Vec<(String, String)>, Errno>;

/// Names that zero each other.
const DIRTY: [(&str, &str); 4] = [
    ("dirty_bytes", "dirty_ratio"),
    ("dirty_ratio", "dirty_bytes"),
    ("dirty_background_bytes", "dirty_background_ratio"),
    ("dirty_background_ratio", "dirty_background_bytes"),
];

/// Floors and their ceilings.
const ENDS: [(&str, &str); 3] = [
    ("min_freq_khz", "max_freq_khz"),
    ("min_perf_pct", "max_perf_pct"),
    ("scaling_min_freq", "scaling_max_freq"),
];

/// An end of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Floor,
    Ceiling,
}

/// Which end of a range a file is, and the other end's name.
fn end_of(name: &str) -> Option<(End, &'static str)> {
    ENDS.iter().find_map(|(floor, ceiling)| match name {
        _ if name == *floor => Some((End::Floor, *ceiling)),
        _ if name == *ceiling => Some((End::Ceiling, *floor)),
        _ => None,
    })
}

/// What a write of a trimmed text does.
pub(super) fn write(kernel: &Simulated, path: &str, text: &str) -> Changes {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let one = |text: String| Ok(vec![(path.to_owned(), format!("{text}\n"))]);
    let nothing = || Ok(Vec::new());
    if let Some((_, other)) = DIRTY.iter().find(|(own, _)| *own == name) {
        return dirty(folder, name, other, text);
    }
    if let Some((end, other)) = end_of(name) {
        return ordered(kernel, path, text, &format!("{folder}/{other}"), end);
    }
    match name {
        "scheduler" => scheduler(kernel, path, folder, text),
        "nomerges" => one(match number(text)? {
            0 => "0".to_owned(),
            2 => "2".to_owned(),
            _ => "1".to_owned(),
        }),
        "rq_affinity" => match number(text)? {
            known @ 0..=2 => one(known.to_string()),
            _ => nothing(),
        },
        // Whole pages of 4 KiB.
        "read_ahead_kb" => one((number(text)? & !3).to_string()),
        "io_poll" if text != "0" => Err(Errno::INVAL),
        "max_sectors_kb" => at_most(kernel, path, text, &format!("{folder}/max_hw_sectors_kb")),
        "nr_requests" => requests(kernel, path, folder, text),
        "rps_flow_cnt" | "rps_sock_flow_entries" => {
            let number = u64::try_from(number(text)?).map_err(|_| Errno::INVAL)?;
            one(if number == 0 { 0 } else { number.next_power_of_two() }.to_string())
        }
        "rps_cpus" | "xps_cpus" => queue_mask(kernel, path, text),
        "default_smp_affinity" | "cpumask" => mask(kernel, path, text, &CpuSet::new()),
        "tcp_congestion_control" => {
            let known = kernel.text(&format!("{folder}/tcp_available_congestion_control"));
            let is_there = known.is_some_and(|all| all.split_whitespace().any(|one| one == text));
            // The module is missing.
            if is_there { one(text.to_owned()) } else { Err(Errno::NOENT) }
        }
        "scaling_governor" => governor(kernel, path, folder, text),
        "energy_performance_preference" => {
            let governor = kernel.text(&format!("{folder}/scaling_governor"));
            match governor.as_deref() {
                Some("performance") if text != "performance" => Err(Errno::BUSY),
                _ => one(text.to_owned()),
            }
        }
        "control" if folder.ends_with("/smt") => match kernel.text(path).as_deref() {
            Some("notsupported" | "notimplemented") => Err(Errno::NODEV),
            _ => one(text.to_owned()),
        },
        "control" if !matches!(text, "on" | "auto") => Err(Errno::INVAL),
        "mtu" => match number(text)? {
            68..=65_535 => one(text.to_owned()),
            _ => Err(Errno::INVAL),
        },
        _ => usual(kernel, path, text),
    }
}

/// `always [madvise] never` moves its brackets; a number takes numbers only; of several, as many.
fn usual(kernel: &Simulated, path: &str, text: &str) -> Changes {
    let now = kernel.text(path).unwrap_or_default();
    if now.contains('[') {
        return Ok(vec![(path.to_owned(), chosen(kernel, path, text)?)]);
    }
    let is_number = |word: &str| word.parse::<i64>().is_ok();
    let are_numbers = !now.is_empty() && now.split_whitespace().all(is_number);
    if !are_numbers {
        return Ok(vec![(path.to_owned(), format!("{text}\n"))]);
    }
    if text.is_empty() || !text.split_whitespace().all(is_number) {
        return Err(Errno::INVAL);
    }
    // /proc/sys puts tabs between numbers (kernel/sysctl.c).
    let words: Vec<String> = text
        .split_whitespace()
        .map(|word| word.parse::<i64>().map(|n| n.to_string()).map_err(|_| Errno::INVAL))
        .collect::<Result<_, _>>()?;
    Ok(vec![(path.to_owned(), format!("{}\n", words.join("\t")))])
}

/// The text with its brackets around another word, spaces and all.
fn chosen(kernel: &Simulated, path: &str, word: &str) -> Result<String, Errno> {
    let bytes = root::Root::read(kernel, path).map_err(|_| Errno::IO)?;
    let plain = String::from_utf8_lossy(&bytes).replace(['[', ']'], "");
    if word.is_empty() || !plain.split_whitespace().any(|known| known == word) {
        return Err(Errno::INVAL);
    }
    let mut out = String::new();
    for (at, part) in plain.split(' ').enumerate() {
        let (body, end) = part.split_at(part.trim_end().len());
        let shown = if body == word { format!("[{body}]{end}") } else { part.to_owned() };
        out += &format!("{}{shown}", if at == 0 { "" } else { " " });
    }
    Ok(out)
}

fn number(text: &str) -> Result<i64, Errno> {
    text.parse().map_err(|_| Errno::INVAL)
}

fn at_most(kernel: &Simulated, path: &str, text: &str, limit: &str) -> Changes {
    let limit = kernel.text(limit).and_then(|text| text.parse::<i64>().ok()).unwrap_or(i64::MAX);
    match number(text)? {
        number if (1..=limit).contains(&number) => {
            Ok(vec![(path.to_owned(), format!("{number}\n"))])
        }
        _ => Err(Errno::INVAL),
    }
}

/// A floor above its ceiling is refused, and the other way round.
fn ordered(kernel: &Simulated, path: &str, text: &str, other: &str, end: End) -> Changes {
    let own = number(text)?;
    let other = kernel.text(other).and_then(|text| text.parse::<i64>().ok());
    let fits =
        other.is_none_or(|other| if end == End::Floor { own <= other } else { own >= other });
    if fits { Ok(vec![(path.to_owned(), format!("{own}\n"))]) } else { Err(Errno::INVAL) }
}

/// mq-deadline's depth follows one write late: blk_mq_update_nr_requests asks the scheduler before it
/// stores the number (block/blk-mq.c, Linux 6.12).
fn requests(kernel: &Simulated, path: &str, folder: &str, text: &str) -> Changes {
    let mut changes = at_most(kernel, path, text, &format!("{folder}/../mq/0/nr_tags"))?;
    let depth = format!("{folder}/iosched/async_depth");
    let now = kernel.text(path).filter(|now| *now != text.trim());
    if let (Some(_), Some(now)) = (kernel.text(&depth), now) {
        changes.push((depth, format!("{now}\n")));
    }
    Ok(changes)
}

/// Another scheduler sets the number of requests anew: the hardware's for none, 256 for others.
/// bfq switches throttling of writes off (block/bfq-iosched.c).
fn scheduler(kernel: &Simulated, path: &str, folder: &str, text: &str) -> Changes {
    let word = chosen(kernel, path, text)?;
    if kernel.text(path).is_some_and(|now| now == word.trim()) {
        return Ok(Vec::new());
    }
    let depth = kernel.text(&format!("{folder}/../mq/0/nr_tags")).unwrap_or("128".to_owned());
    let requests = if text == "none" { depth } else { "256".to_owned() };
    let mut changes =
        vec![(path.to_owned(), word), (format!("{folder}/nr_requests"), format!("{requests}\n"))];
    if text == "bfq" {
        changes.push((format!("{folder}/wbt_lat_usec"), "0\n".to_owned()));
    }
    Ok(changes)
}

/// Each of a pair zeroes the other; 0 bytes are refused (mm/page-writeback.c).
fn dirty(folder: &str, name: &str, other: &str, text: &str) -> Changes {
    let value = number(text)?;
    let is_bytes = name.ends_with("bytes");
    if value < 0 || (is_bytes && value < 8192) || (!is_bytes && value > 100) {
        return Err(Errno::INVAL);
    }
    Ok(vec![
        (format!("{folder}/{name}"), format!("{value}\n")),
        (format!("{folder}/{other}"), "0\n".to_owned()),
    ])
}

/// The performance governor of intel_pstate takes the preference along and forgets it
/// (drivers/cpufreq/intel_pstate.c keeps it per CPU; other drivers do not).
fn governor(kernel: &Simulated, path: &str, folder: &str, text: &str) -> Changes {
    let known = kernel.text(&format!("{folder}/scaling_available_governors")).unwrap_or_default();
    if !known.split_whitespace().any(|one| one == text) {
        return Err(Errno::INVAL);
    }
    let mut changes = vec![(path.to_owned(), format!("{text}\n"))];
    let preference = format!("{folder}/energy_performance_preference");
    let is_new = kernel.text(path).as_deref() != Some(text);
    if is_new && kernel.text(&preference).is_some() {
        let word = if text == "performance" { "performance" } else { "balance_performance" };
        changes.push((preference, format!("{word}\n")));
    }
    Ok(changes)
}

/// Offline CPUs of `rps_cpus` and `xps_cpus` are dropped without a word; a mask of isolated CPUs
/// alone is refused for receiving.
fn queue_mask(kernel: &Simulated, path: &str, text: &str) -> Changes {
    let isolated = kernel.text("/sys/devices/system/cpu/isolated").unwrap_or_default();
    let isolated = CpuSet::from_list(&isolated).unwrap_or_default();
    let wanted = parse_mask(kernel, text)?;
    if path.ends_with("rps_cpus") && !wanted.is_empty() && wanted.is_subset(&isolated) {
        return Err(Errno::INVAL);
    }
    let possible = possible(kernel);
    mask(kernel, path, text, &possible.minus(&kernel.online()))
}

fn mask(kernel: &Simulated, path: &str, text: &str, dropped: &CpuSet) -> Changes {
    let wanted = parse_mask(kernel, text)?;
    if wanted.is_empty() && path.ends_with("default_smp_affinity") {
        return Err(Errno::INVAL);
    }
    let text = print_mask(kernel, &wanted.minus(dropped));
    Ok(vec![(path.to_owned(), format!("{text}\n"))])
}

/// A mask wider than the machine is refused, even where the further words are zero.
pub(super) fn parse_mask(kernel: &Simulated, text: &str) -> Result<CpuSet, Errno> {
    let words = text.split(',').count();
    let wide = possible(kernel).iter().last().map_or(1, |last| last.0 as usize / 32 + 1);
    if words > wide {
        return Err(Errno::OVERFLOW);
    }
    CpuSet::from_mask(text).map_err(|_| Errno::INVAL)
}

/// As many digits as the machine has CPUs (`%*pb`).
pub(super) fn print_mask(kernel: &Simulated, cpus: &CpuSet) -> String {
    let bits = possible(kernel).iter().last().map_or(1, |last| last.0 as usize + 1);
    let full = cpus.to_mask(bits);
    let skip = match bits % 32 {
        0 => 0,
        rest => 8 - rest.div_ceil(4),
    };
    full.get(skip..).unwrap_or(&full).to_owned()
}

/// CPUs that the machine could have.
pub(super) fn possible(kernel: &Simulated) -> CpuSet {
    let list = |name: &str| kernel.text(&format!("/sys/devices/system/cpu/{name}"));
    let text = list("possible").or_else(|| list("present")).or_else(|| list("online"));
    let set = CpuSet::from_list(&text.unwrap_or_default()).unwrap_or_default();
    if set.is_empty() { std::iter::once(Cpu(0)).collect() } else { set }
}
