// SPDX-License-Identifier: MIT OR Apache-2.0
//! From the lines of gdsio to their figures.
//!
//! ```text
//! IoType: READ XferType: GPUD Threads: 8 DataSetSize: 818796544/4096000(KiB) IOSize: 1024(KiB) Throughput: 6.524658 GiB/sec, Avg_Latency: 1197.370995 usecs ops: 799606 total_time 119.679102 secs
//! ```
//!
//! One line a phase, wrapped by some terminals anywhere between two words; other lines stand between
//! (`Verifying data`). Its figures are rounded and related: each is held against the others.

/// What gdsio printed.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// Its phases, in order; with `-V` a read follows a write.
    pub lines: Vec<Line>,
    /// Other lines that say something.
    pub notes: Vec<String>,
}

/// A phase.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// `READ`, `WRITE`, `RANDREAD`, `RANDWRITE`.
    pub io: String,
    /// What was asked for: `GPUD`, `CPUONLY`, `CPU_GPU`, `CPU_ASYNC_GPU`, ... In compatibility mode
    /// GPUD stands here as well, though every byte goes through the CPU's memory.
    pub transfer: String,
    /// Threads.
    pub threads: u32,
    /// KiB that were moved.
    pub done_kib: u64,
    /// KiB of the set; none where one number alone is printed.
    pub set_kib: Option<u64>,
    /// Sizes of one operation in KiB: one, or smallest, largest and step.
    pub io_kib: Vec<u64>,
    /// Throughput in GiB a second, as printed.
    pub gib_per_second: f64,
    /// Mean latency in microseconds, as printed; there are no percentiles.
    pub latency_us: f64,
    /// Operations.
    pub operations: u64,
    /// Seconds.
    pub seconds: f64,
}

/// Why an output of gdsio is not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// gdsio failed, in its own words.
    #[error("gdsio says: {0}")]
    Failed(String),
    /// There is no line of results.
    #[error("no results of gdsio in it: {0}")]
    None(String),
    /// A line of results is cut short or not what gdsio writes.
    #[error("line {line}: {what}")]
    Broken {
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
}

/// The first word of a result.
const FIRST: &str = "IoType:";
/// The last one.
const LAST: &str = "secs";
/// Words that a result may have: with all its names, units, and a few that newer versions add.
const WORDS: usize = 40;

/// Reads what gdsio printed.
///
/// # Errors
/// It reports an error, has no result, or one that is cut short or contradicts itself.
pub fn parse(text: &str) -> Result<Output, Refused> {
    let (mut lines, mut notes) = (Vec::new(), Vec::new());
    let mut rest = text.lines().enumerate().peekable();
    while let Some((number, line)) = rest.next() {
        let Some(start) = line.find(FIRST) else {
            note(line, &mut notes)?;
            continue;
        };
        let (before, result) = line.split_at_checked(start).unwrap_or_default();
        note(before, &mut notes)?;
        let mut words: Vec<&str> = result.split_whitespace().collect();
        while words.last() != Some(&LAST)
            && words.len() < WORDS
            && let Some((_, more)) = rest.next_if(|(_, more)| !more.contains(FIRST))
        {
            words.extend(more.split_whitespace());
        }
        let broken = |what| Refused::Broken { line: number + 1, what };
        let result = result_of(&words).map_err(broken)?;
        is_consistent(&result).map_err(broken)?;
        lines.push(result);
    }
    if lines.is_empty() {
        let first = notes.first().map_or("it is empty".to_owned(), |line| format!("{line:?}"));
        return Err(Refused::None(first));
    }
    Ok(Output { lines, notes })
}

/// Keeps a line that is no result, unless it is an error's.
fn note(line: &str, notes: &mut Vec<String>) -> Result<(), Refused> {
    let line: String = line.trim().chars().take(300).collect();
    if line.to_ascii_lowercase().contains("error") {
        return Err(Refused::Failed(line));
    }
    if !line.is_empty() && notes.len() < 100 {
        notes.push(line);
    }
    Ok(())
}

fn result_of(words: &[&str]) -> Result<Line, String> {
    let told = pairs(words)?;
    let text = |name: &str| {
        let found = told.iter().find(|(told, _)| *told == name).map(|(_, value)| *value);
        found.ok_or_else(|| format!("it has no {name}"))
    };
    let (done, set) = set_sizes(text("DataSetSize")?)?;
    let io = text("IoType")?;
    if !["READ", "WRITE", "RANDREAD", "RANDWRITE"].iter().any(|word| io.eq_ignore_ascii_case(word))
    {
        return Err(format!("IoType is {io:?}, which is not known"));
    }
    Ok(Line {
        io: io.to_owned(),
        transfer: text("XferType")?.to_owned(),
        threads: whole(text("Threads")?, "Threads")?,
        done_kib: done,
        set_kib: set,
        io_kib: io_sizes(text("IOSize")?)?,
        gib_per_second: amount(text("Throughput")?, "Throughput")?,
        latency_us: amount(text("Avg_Latency")?, "Avg_Latency")?,
        operations: whole(text("ops")?, "ops")?,
        seconds: amount(text("total_time")?, "total_time")?,
    })
}

/// The names and values of a result, each with its unit taken off. Names that are not known are
/// read over: batches have an `IoDepth:`.
fn pairs<'a>(words: &[&'a str]) -> Result<Vec<(&'a str, &'a str)>, String> {
    let mut pairs = Vec::new();
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        let name = match word.strip_suffix(':') {
            Some(name) => name,
            None if word == "total_time" => word,
            None => return Err(format!("{word:?} stands where a name should")),
        };
        let value = words.next().ok_or_else(|| format!("it breaks off after {name}"))?;
        let unit = match name {
            "Throughput" => "GiB/sec,",
            "Avg_Latency" => "usecs",
            // Without it, the number before may have been cut.
            "total_time" => LAST,
            _ => "",
        };
        if !unit.is_empty() {
            match words.next() {
                Some(word) if word == unit => {}
                Some(word) => return Err(format!("{name} is in {word:?}, not {unit:?}")),
                None => return Err(format!("it breaks off after {name}")),
            }
        }
        if pairs.iter().any(|(other, _)| *other == name) {
            return Err(format!("{name} is there twice"));
        }
        pairs.push((name, value));
    }
    Ok(pairs)
}

/// `818796544/4096000(KiB)`: moved, and the size of the set; or one number alone.
fn set_sizes(text: &str) -> Result<(u64, Option<u64>), String> {
    let wrong = || format!("DataSetSize is {text:?}");
    let numbers = text.strip_suffix("(KiB)").ok_or_else(wrong)?;
    let number = |text: &str| text.parse::<u64>().map_err(|_| wrong());
    match numbers.split_once('/') {
        Some((done, set)) => Ok((number(done)?, Some(number(set)?))),
        None => Ok((number(numbers)?, None)),
    }
}

/// `1024(KiB)`, or `16384-32768-4096(KiB)`: smallest, largest, step.
fn io_sizes(text: &str) -> Result<Vec<u64>, String> {
    let wrong = || format!("IOSize is {text:?}");
    let numbers = text.strip_suffix("(KiB)").ok_or_else(wrong)?;
    let sizes = numbers.split('-').map(|number| number.parse::<u64>().map_err(|_| wrong()));
    let sizes: Vec<u64> = sizes.collect::<Result<_, _>>()?;
    if matches!(sizes.len(), 1 | 3) && !sizes.contains(&0) { Ok(sizes) } else { Err(wrong()) }
}

fn whole<T: std::str::FromStr>(text: &str, name: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{name} is {text:?}"))
}

fn amount(text: &str, name: &str) -> Result<f64, String> {
    let amount = text.parse().ok().filter(|amount: &f64| amount.is_finite() && *amount >= 0.0);
    amount.ok_or_else(|| format!("{name} is {text:?}"))
}

/// Holds the figures of a line against each other.
#[expect(clippy::cast_precision_loss, reason = "a check within a few percent")]
fn is_consistent(line: &Line) -> Result<(), String> {
    let done_gib = line.done_kib as f64 / 1024.0 / 1024.0;
    if line.seconds <= 0.0 || line.operations == 0 {
        return Err("nothing was done".to_owned());
    }
    let rate = done_gib / line.seconds;
    // Six digits after the point are printed.
    if (rate - line.gib_per_second).abs() > line.gib_per_second * 0.02 + 1e-5 {
        let told = line.gib_per_second;
        return Err(format!("Throughput is {told}, and DataSetSize over total_time {rate:.6}"));
    }
    let mean_kib = line.done_kib as f64 / line.operations as f64;
    let (least, most) = (line.io_kib.iter().min(), line.io_kib.iter().take(2).max());
    let (least, most) = (least.copied().unwrap_or(0) as f64, most.copied().unwrap_or(0) as f64);
    if mean_kib < least * 0.9 || mean_kib > most * 1.1 {
        return Err(format!("ops of {mean_kib:.1} KiB, where IOSize is {:?}", line.io_kib));
    }
    Ok(())
}
