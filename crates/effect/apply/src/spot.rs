// SPDX-License-Identifier: MIT OR Apache-2.0
//! A place that was looked up: what is read there, what is written to get a value or to get the
//! old bytes back, and when two values are the same.

use journal::Raw;
use machine::{Fact, ReceiveSpread, Why};
use rustix::io::Errno;
use setting::{Ethtool, Form, canonical, opposite, same_value};
use units::CpuSet;

use crate::express::Control;
use crate::kernel::ServiceOrder;
use crate::{Kernel, banned, hold, pairs, steering};

/// Spellings of a switch: on, off.
const SWITCHES: [(&str, &str); 7] = [
    ("1", "0"),
    ("Y", "N"),
    ("y", "n"),
    ("yes", "no"),
    ("on", "off"),
    ("enabled", "disabled"),
    ("true", "false"),
];

/// Where irqbalance runs.
const IRQBALANCE: &str = "irqbalance.service";

/// A place as it is now.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Spot {
    /// A file of the kernel.
    File(String),
    /// The CPUs of an interrupt: its list file.
    Interrupt(String),
    /// Configuration space of a function.
    ReadRequest(String),
    /// A network device.
    Ethtool(String, Ethtool),
    /// A unit.
    Service(String),
    /// The bound on idle states.
    IdleLatency,
    /// irqbalance's file, and its variable.
    Banned(String, String),
}

impl Spot {
    /// A path or a line that a person understands.
    pub(crate) fn path(&self) -> String {
        match self {
            Self::File(path)
            | Self::Interrupt(path)
            | Self::ReadRequest(path)
            | Self::Banned(path, _) => path.clone(),
            Self::Ethtool(nic, what) => format!("ethtool -{} {nic}", letter(what)),
            Self::Service(unit) => unit.clone(),
            Self::IdleLatency => "/dev/cpu_dma_latency".to_owned(),
        }
    }

    /// What is there now.
    pub(crate) fn read(&self, kernel: &dyn Kernel) -> Fact<Raw> {
        match self {
            Self::File(path) | Self::Interrupt(path) => kernel.read(path).map(Raw::new),
            Self::ReadRequest(path) => {
                let control = control(kernel, path).map_err(why)?;
                Ok(Raw::text(control.read_request().to_string()))
            }
            Self::Ethtool(nic, what) => kernel.ethtool(nic, what).map(Raw::Text),
            Self::Service(unit) => {
                let is_active = kernel.service(unit)?;
                Ok(Raw::text(if is_active { "running" } else { "stopped" }))
            }
            Self::IdleLatency => {
                let bound = hold::bound(kernel)?;
                Ok(Raw::text(bound.map_or("none".to_owned(), |bound_us| bound_us.to_string())))
            }
            Self::Banned(path, _) => match kernel.read(path) {
                Err(Why::Absent) => Ok(Raw::Absent),
                bytes => bytes.map(Raw::new),
            },
        }
    }

    /// The bytes that bring a wanted value, in the spelling that this place uses now.
    pub(crate) fn spell(&self, form: Form, to: &str, now: &Raw) -> Option<Raw> {
        let line = |text: &str| Some(Raw::text(format!("{text}\n")));
        match self {
            Self::Banned(_, variable) => {
                let file = now.bytes().unwrap_or_default();
                banned::with(file, variable, &to.parse().ok()?).map(Raw::new)
            }
            Self::File(_) => match form {
                Form::CpuMask => line(&CpuSet::from_list(to).ok()?.to_mask(0)),
                Form::Switch => line(switch(to, now.trimmed())?),
                Form::Opposite => line(switch(opposite(to), now.trimmed())?),
                _ => line(to),
            },
            Self::Interrupt(_) => line(to),
            Self::Ethtool(_, Ethtool::Features) => {
                let now = pairs::parse(text(now));
                Some(Raw::text(pairs::print(&pairs::features_to_set(to, &now))))
            }
            Self::Ethtool(_, Ethtool::ReceiveSpread) => {
                let queues: u32 = to.trim().parse().ok().filter(|queues| *queues > 0)?;
                let entries = now.trimmed().split_whitespace().count();
                let even = (0..queues).cycle().take(entries).map(|queue| queue.to_string());
                Some(Raw::text(even.collect::<Vec<_>>().join(" ")))
            }
            _ => Some(Raw::text(to)),
        }
    }

    /// The bytes that bring old bytes back.
    pub(crate) fn back(&self, form: Form, before: &Raw) -> Raw {
        match self {
            // Of `[none] mq-deadline` the kernel takes the word alone.
            Self::File(_) if form == Form::Selected => {
                let word = canonical(form, before.trimmed());
                word.map_or_else(|| before.clone(), |word| Raw::text(format!("{word}\n")))
            }
            _ => before.clone(),
        }
    }

    /// Writes bytes.
    pub(crate) fn write(&self, kernel: &dyn Kernel, bytes: &Raw) -> Result<(), Errno> {
        match self {
            Self::File(path) | Self::Interrupt(path) => {
                kernel.write(path, bytes.bytes().ok_or(Errno::NOENT)?)
            }
            Self::ReadRequest(path) => write_read_request(kernel, path, bytes.trimmed()),
            // What somebody else set is not taken along, be it by taking back.
            Self::Ethtool(..) if steering::loss(kernel, self, bytes).is_some() => Err(Errno::BUSY),
            Self::Ethtool(nic, what) => kernel.set_ethtool(nic, what, bytes.trimmed()),
            Self::Service(unit) => kernel.set_service(unit, order(bytes.trimmed())?),
            Self::IdleLatency => match bytes.trimmed() {
                "none" => kernel.set_idle_latency(None),
                bound => kernel.set_idle_latency(Some(bound.parse().map_err(|_| Errno::INVAL)?)),
            },
            Self::Banned(path, _) => {
                kernel.replace(path, bytes.bytes())?;
                match kernel.service(IRQBALANCE) {
                    // It reads its file when it starts.
                    Ok(true) => kernel.set_service(IRQBALANCE, ServiceOrder::Restart),
                    _ => Ok(()),
                }
            }
        }
    }

    /// Whether what is there now is the wanted value.
    pub(crate) fn is(&self, form: Form, to: &str, now: &Raw) -> bool {
        match self {
            Self::Ethtool(_, Ethtool::ReceiveSpread) => {
                spread(now).is_some_and(|queues| queues.to_string() == to.trim())
            }
            Self::Ethtool(_, Ethtool::Features) => {
                pairs::has_features(&pairs::parse(text(now)), to)
            }
            Self::Ethtool(..) => pairs::holds(&pairs::parse(text(now)), &pairs::parse(to)),
            Self::Banned(_, variable) => {
                let file = now.bytes().unwrap_or_default();
                to.parse().is_ok_and(|wanted| banned::is(file, variable, &wanted))
            }
            Self::Interrupt(_) => same_value(Form::CpuList, to, now.trimmed()),
            // What is wanted of a mask is said as a list.
            Self::File(_) if form == Form::CpuMask => {
                let found = canonical(form, now.trimmed());
                found.is_some() && found == canonical(Form::CpuList, to)
            }
            // What is wanted is the setting's word, and the file says the other one.
            Self::File(_) if form == Form::Opposite => {
                canonical(form, now.trimmed()).is_some_and(|word| word == to)
            }
            // Nothing around `[b]` is wanted, only the word.
            Self::File(_) if form == Form::Selected => {
                canonical(form, now.trimmed()).unwrap_or_else(|| now.trimmed().to_owned()) == to
            }
            Self::File(_) => same_value(form, to, now.trimmed()),
            _ => to.trim() == now.trimmed(),
        }
    }

    /// Whether two values of this place are the same.
    pub(crate) fn same(&self, form: Form, a: &Raw, b: &Raw) -> bool {
        if a == b {
            return true;
        }
        if *a == Raw::Absent || *b == Raw::Absent {
            return false;
        }
        match self {
            Self::File(_) => same_value(form, a.trimmed(), b.trimmed()),
            Self::Interrupt(_) => same_value(Form::CpuList, a.trimmed(), b.trimmed()),
            Self::Banned(..) => false,
            _ => a.trimmed() == b.trimmed(),
        }
    }

    /// A value as a person reads it.
    pub(crate) fn show(&self, form: Form, raw: &Raw) -> String {
        match self {
            Self::File(_) => canonical(form, raw.trimmed()),
            Self::Banned(_, variable) => {
                Some(banned::list(raw.bytes().unwrap_or_default(), variable).to_string())
            }
            Self::Ethtool(_, Ethtool::ReceiveSpread) => spread(raw).map(|n| n.to_string()),
            _ => None,
        }
        .unwrap_or_else(|| raw.trimmed().to_owned())
    }

    /// Whether its value is made of several that belong to different owners.
    pub(crate) fn has_pairs(&self) -> bool {
        matches!(self, Self::Ethtool(_, what) if *what != Ethtool::ReceiveSpread)
    }
}

fn letter(what: &Ethtool) -> char {
    match what {
        Ethtool::Channels => 'L',
        Ethtool::Rings => 'G',
        Ethtool::Coalescing => 'C',
        Ethtool::Features => 'K',
        Ethtool::Pause => 'A',
        Ethtool::ReceiveSpread => 'X',
    }
}

fn text(raw: &Raw) -> &str {
    match raw {
        Raw::Text(text) => text,
        Raw::Bytes(_) | Raw::Absent => "",
    }
}

fn order(word: &str) -> Result<ServiceOrder, Errno> {
    match word {
        "running" => Ok(ServiceOrder::Start),
        "stopped" => Ok(ServiceOrder::Stop),
        _ => Err(Errno::INVAL),
    }
}

/// The spelling of `on` or `off` that a file uses now.
fn switch(to: &str, now: &str) -> Option<&'static str> {
    let (on, off) = SWITCHES.iter().find(|(on, off)| [*on, *off].contains(&now))?;
    match canonical(Form::Switch, to)?.as_str() {
        "on" => Some(on),
        _ => Some(off),
    }
}

/// How many queues a table spreads over evenly: `0 1 2 0 1 2` over 3.
fn spread(table: &Raw) -> Option<u32> {
    let words = table.trimmed().split_whitespace();
    let table = words.map(|word| word.parse().ok()).collect::<Option<Vec<u32>>>()?;
    ReceiveSpread { queues: None, table }.even_over()
}

fn control(kernel: &dyn Kernel, path: &str) -> Result<Control, Errno> {
    let space = kernel.head(path, 256).map_err(|why| match why {
        Why::Denied => Errno::PERM,
        _ => Errno::NODEV,
    })?;
    Control::find(&space)
}

/// Where the kernel was told to tune payloads for speed, requests above the payload are refused as
/// it refuses them itself (`pcie_set_readrq`, drivers/pci/pci.c).
fn write_read_request(kernel: &dyn Kernel, path: &str, bytes: &str) -> Result<(), Errno> {
    let bytes: u32 = bytes.parse().map_err(|_| Errno::INVAL)?;
    let control = control(kernel, path)?;
    let command_line = root::text(kernel, "/proc/cmdline").unwrap_or_default();
    if command_line.contains("pcie_bus_perf") && bytes > control.payload() {
        return Err(Errno::INVAL);
    }
    let wanted = control.with_read_request(bytes).ok_or(Errno::INVAL)?;
    kernel.write_at(path, wanted.offset, &wanted.bits.to_le_bytes())
}

fn why(errno: Errno) -> Why {
    match errno {
        Errno::NODEV => Why::Absent,
        Errno::PERM => Why::Denied,
        _ => Why::NotSupported,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_spelled_as_the_file_spells_them() {
        let file = Spot::File("/sys/x".to_owned());
        let cases = [
            (Form::Switch, "on", "N\n", Some("Y\n")),
            (Form::Switch, "off", "1\n", Some("0\n")),
            (Form::Switch, "off", "enabled\n", Some("disabled\n")),
            (Form::Switch, "off", "odd\n", None),
            (Form::Opposite, "on", "1\n", Some("0\n")),
            (Form::Opposite, "off", "N\n", Some("Y\n")),
            (Form::CpuMask, "0-3,32", "00,00000000\n", Some("00000001,0000000f\n")),
            (Form::Selected, "none", "none [mq-deadline]\n", Some("none\n")),
            (Form::Numbers, "1 2 3", "1\t2\t4\n", Some("1 2 3\n")),
        ];
        for (form, to, now, expected) in cases {
            let spelled = file.spell(form, to, &Raw::text(now));
            assert_eq!(spelled, expected.map(Raw::text), "{form:?} {to}");
        }
        let back = |form, raw| file.back(form, &Raw::text(raw));
        assert_eq!(back(Form::Selected, "none [mq-deadline]\n"), Raw::text("mq-deadline\n"));
        assert_eq!(back(Form::Numbers, "1\t2\t3\n"), Raw::text("1\t2\t3\n"));
        assert!(file.is(Form::Opposite, "on", &Raw::text("0\n")));
        assert!(!file.is(Form::Opposite, "on", &Raw::text("1\n")));
        assert_eq!(file.show(Form::Opposite, &Raw::text("1\n")), "off");
        assert!(file.is(Form::CpuMask, "0-3", &Raw::text("0000000f\n")));
        assert!(file.is(Form::Selected, "none", &Raw::text("[none] bfq\n")));
        assert!(!file.is(Form::Selected, "none", &Raw::text("none [bfq]\n")));
    }

    #[test]
    fn an_even_table_is_a_number() {
        for (table, count) in [
            ("0 1 2 0 1", Some(3)),
            ("1 0 0 1", Some(2)),
            ("0 0 0 1", None),
            ("0 0", Some(1)),
            ("0 2", None),
            ("", None),
        ] {
            assert_eq!(spread(&Raw::text(table)), count, "{table}");
        }
    }
}
