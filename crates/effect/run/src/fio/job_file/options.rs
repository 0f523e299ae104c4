// SPDX-License-Identifier: MIT OR Apache-2.0
//! The options of a section, taken one by one; what is left over is refused by name.

use std::collections::BTreeMap;

use super::error::NotTaken;
use super::ini::{Given, Section};
use super::quantity;

/// Options that change what is reported, or how buffers are held, and nothing of the load.
const NO_LOAD: [&str; 44] = [
    "name",
    "description",
    "group_reporting",
    "thread",
    "per_job_logs",
    "write_bw_log",
    "write_lat_log",
    "write_iops_log",
    "write_hist_log",
    "log_avg_msec",
    "log_hist_msec",
    "log_hist_coarseness",
    "log_max_value",
    "log_offset",
    "log_compression",
    "log_unix_epoch",
    "bwavgtime",
    "iopsavgtime",
    "clat_percentiles",
    "lat_percentiles",
    "slat_percentiles",
    "percentile_list",
    "significant_figures",
    "disk_util",
    "unified_rw_reporting",
    "disable_lat",
    "disable_clat",
    "disable_slat",
    "disable_bw_measurement",
    "gtod_reduce",
    "clocksource",
    "new_group",
    "invalidate",
    "fallocate",
    "create_serialize",
    "create_fsync",
    "unlink",
    "fixedbufs",
    "registerfiles",
    "nonvectored",
    "refill_buffers",
    "scramble_buffers",
    "random_generator",
    "mem",
];

/// Options that are taken where they say what is so anyway: (name, what they may say).
const AS_IT_IS: [(&str, &[&str]); 24] = [
    ("loops", &["1"]),
    ("nrfiles", &["1"]),
    ("thinktime", &["0"]),
    ("startdelay", &["0"]),
    ("fsync", &["0"]),
    ("fdatasync", &["0"]),
    ("end_fsync", &["0"]),
    ("fsync_on_close", &["0"]),
    ("sync", &["0", "none"]),
    ("zero_buffers", &["0"]),
    ("buffer_compress_percentage", &["0"]),
    ("dedupe_percentage", &["0"]),
    ("pre_read", &["0"]),
    ("overwrite", &["0"]),
    ("atomic", &["0"]),
    ("zonemode", &["none"]),
    ("iodepth_batch", &["1"]),
    ("iodepth_batch_complete_max", &["0"]),
    ("io_submit_mode", &["inline"]),
    ("kb_base", &["1024"]),
    ("bs_unaligned", &["0"]),
    ("file_service_type", &["roundrobin"]),
    ("force_async", &["0"]),
    ("allow_mounted_write", &["0"]),
];

/// The options of a section.
#[derive(Debug)]
pub(super) struct Options<'a> {
    section: &'a Section,
    left: BTreeMap<&'a str, &'a Given>,
}

impl<'a> Options<'a> {
    pub(super) fn of(section: &'a Section) -> Self {
        let left = section.options.iter().map(|(name, given)| (name.as_str(), given)).collect();
        Self { section, left }
    }

    /// What is wrong with an option.
    pub(super) fn refuse(&self, name: &str, what: impl Into<String>) -> NotTaken {
        let line = self.section.options.get(name).and_then(|given| given.line);
        NotTaken {
            line: line.or(self.section.line),
            section: Some(self.section.name.clone()),
            option: Some(name.to_owned()),
            what: what.into(),
        }
    }

    /// Takes a text; none where it was not given.
    pub(super) fn text(&mut self, name: &str) -> Result<Option<&'a str>, NotTaken> {
        let Some(given) = self.left.remove(name) else { return Ok(None) };
        match given.value.as_deref() {
            Some(value) if value.contains('$') => {
                Err(self.refuse(name, "variables of the environment are not read; write the value"))
            }
            Some("") | None => Err(self.refuse(name, "it has no value")),
            Some(value) => Ok(Some(value)),
        }
    }

    /// Takes a value that `read` understands.
    pub(super) fn value<T>(
        &mut self,
        name: &str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, NotTaken> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        read(text).map(Some).map_err(|what| self.refuse(name, what))
    }

    pub(super) fn size(&mut self, name: &str) -> Result<Option<u64>, NotTaken> {
        self.value(name, quantity::size)
    }

    /// Takes a number from 1.
    pub(super) fn number(&mut self, name: &str) -> Result<Option<u32>, NotTaken> {
        let read = |text: &str| {
            let number = u32::try_from(quantity::size(text)?).ok().filter(|number| *number > 0);
            number.ok_or_else(|| format!("{text} is outside of 1 to {}", u32::MAX))
        };
        self.value(name, read)
    }

    /// Takes a switch; off where it was not given.
    pub(super) fn is_on(&mut self, name: &str) -> Result<bool, NotTaken> {
        let Some(given) = self.left.remove(name) else { return Ok(false) };
        let read = quantity::switch(given.value.as_deref());
        read.map_err(|what| self.refuse(name, what))
    }

    /// Refuses, by name, the first option that nobody took and that makes a difference.
    pub(super) fn finish(mut self) -> Result<(), NotTaken> {
        self.left.retain(|name, _| !NO_LOAD.contains(name));
        self.left.retain(|name, given| {
            let says = |allowed: &[&str]| allowed.contains(&given.value.as_deref().unwrap_or("1"));
            !AS_IT_IS.iter().any(|(known, allowed)| known == name && says(allowed))
        });
        let by_line = self.left.iter().min_by_key(|(_, given)| given.line);
        match by_line {
            None => Ok(()),
            Some((name, _)) => {
                let what = match AS_IT_IS.iter().find(|(known, _)| known == name) {
                    Some((_, allowed)) => {
                        format!("nearside's own engine knows {} only", allowed.join(" or "))
                    }
                    None => "nearside's own engine does not know it".to_owned(),
                };
                Err(self.refuse(name, what))
            }
        }
    }
}
