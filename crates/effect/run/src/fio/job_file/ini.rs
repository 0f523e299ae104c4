// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lines of a job file: sections, and what each inherits from the `[global]` ones above it.
//!
//! ```text
//! [global]
//! bs=4k            ; a comment, up to the end of the line
//! [reader]
//! rw=randread
//! time_based
//! ```

use std::collections::BTreeMap;

use super::error::NotTaken;

/// Job files are written by hand: this is far more than any has.
const SECTIONS: usize = 10_000;

/// A section that is a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Its name.
    pub name: String,
    /// The line of its head; none where it comes from a report.
    pub line: Option<usize>,
    /// Its options and those it inherits, by name; where one is given twice, the last counts.
    pub options: BTreeMap<String, Given>,
}

/// An option as it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// What stands after the sign of equality; none where there is no sign.
    pub value: Option<String>,
    /// Its line, where there is one.
    pub line: Option<usize>,
}

/// Takes a job file apart. Options keep their names, but for other names of the same one.
///
/// # Errors
/// A line that is neither a section, an option nor a comment; an option above the first section; no
/// section that is a job.
pub fn sections(text: &str) -> Result<Vec<Section>, NotTaken> {
    let mut sections: Vec<Section> = Vec::new();
    let mut global = BTreeMap::new();
    let mut is_global = None;
    for (number, line) in text.lines().enumerate() {
        let at = number + 1;
        let line = uncommented(line);
        if line.is_empty() {
            continue;
        }
        if line.starts_with('[') {
            let name = head(line).ok_or_else(|| whole(at, "a section has no end: ]"))?;
            // fio takes the name in any case (init.c, `__parse_jobs_ini`).
            is_global = Some(name.eq_ignore_ascii_case("global"));
            if is_global == Some(false) {
                let options = global.clone();
                sections.push(Section { name: name.to_owned(), line: Some(at), options });
            }
            if sections.len() > SECTIONS {
                return Err(whole(at, "more sections than anybody writes"));
            }
            continue;
        }
        let (name, value) = option(line, at)?;
        let given = Given { value, line: Some(at) };
        let own = sections.last_mut().map(|section| &mut section.options);
        match (is_global, own) {
            (Some(true), _) => drop(global.insert(name, given)),
            (Some(false), Some(options)) => drop(options.insert(name, given)),
            _ => return Err(whole(at, "an option stands above the first section")),
        }
    }
    if sections.is_empty() {
        return Err(NotTaken {
            line: None,
            section: None,
            option: None,
            what: "no section in it is a job".to_owned(),
        });
    }
    Ok(sections)
}

/// A line up to its comment. fio cuts at either sign wherever it stands (parse.c,
/// `strip_blank_end`), in file names too.
fn uncommented(line: &str) -> &str {
    line.split([';', '#']).next().unwrap_or_default().trim()
}

fn head(line: &str) -> Option<&str> {
    line.strip_prefix('[')?.strip_suffix(']').map(str::trim).filter(|name| !name.is_empty())
}

/// `name=value`, or a name alone.
fn option(line: &str, at: usize) -> Result<(String, Option<String>), NotTaken> {
    let (name, value) = match line.split_once('=') {
        Some((name, value)) => (name.trim(), Some(value.trim().to_owned())),
        None => (line, None),
    };
    if name.starts_with("include ") {
        return Err(whole(at, "include: files in files are not read; put its lines here"));
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || !name.chars().all(is_name) {
        return Err(whole(
            at,
            format!("{:?} is no option", name.chars().take(60).collect::<String>()),
        ));
    }
    Ok((canonical(name).to_owned(), value))
}

/// The name that fio lists an option by (`fio --cmdhelp=NAME` tells the others).
pub fn canonical(name: &str) -> &str {
    match name {
        "readwrite" => "rw",
        "blocksize" => "bs",
        "blocksize_range" => "bsrange",
        "blocksize_unaligned" => "bs_unaligned",
        "blockalign" => "ba",
        "iodepth_batch_submit" => "iodepth_batch",
        "iodepth_batch_complete" => "iodepth_batch_complete_min",
        "io_limit" => "io_size",
        "fill_fs" => "fill_device",
        "fileoffset" => "offset",
        "nr_files" => "nrfiles",
        "timeout" => "runtime",
        "iomem" => "mem",
        "wait_for_previous" => "stonewall",
        "disable_bw" => "disable_bw_measurement",
        "ss" => "steadystate",
        "ss_dur" => "steadystate_duration",
        "ss_ramp" => "steadystate_ramp_time",
        "ratemin" => "rate_min",
        "ratecycle" => "rate_cycle",
        name => name,
    }
}

fn whole(line: usize, what: impl Into<String>) -> NotTaken {
    NotTaken { line: Some(line), section: None, option: None, what: what.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_inherit_what_is_global_above_them() {
        let text = "; head\n[GLOBAL]\nbs=4k ; small\n\n[a b]\n rw = randread # x\ntime_based\n\
                    [global]\nblocksize=8k\n[c]\nfilename=/dev/x;y\nbs\n";
        let sections = sections(text).unwrap();
        let given = |section: usize| -> Vec<(String, Option<String>, usize)> {
            let options = sections[section].options.clone().into_iter();
            options.map(|(name, given)| (name, given.value, given.line.unwrap())).collect()
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(sections[0].name, "a b");
        assert_eq!(
            given(0),
            [
                ("bs".to_owned(), some("4k"), 3),
                ("rw".to_owned(), some("randread"), 6),
                ("time_based".to_owned(), None, 7),
            ]
        );
        assert_eq!(
            given(1),
            [("bs".to_owned(), None, 12), ("filename".to_owned(), some("/dev/x"), 11)]
        );
    }

    #[test]
    fn what_is_no_line_of_a_job_file_is_named() {
        for (text, wanted) in [
            ("", "no section in it is a job"),
            ("[global]\nbs=4k", "no section in it is a job"),
            ("bs=4k\n[x]", "line 1: an option stands above the first section"),
            ("[x", "line 1: a section has no end: ]"),
            ("[]", "line 1: a section has no end: ]"),
            ("[x]\nfoo bar=1", "line 2: \"foo bar\" is no option"),
            ("[x]\n=1", "line 2: \"\" is no option"),
            (
                "[x]\ninclude y.fio",
                "line 2: include: files in files are not read; put its lines here",
            ),
        ] {
            assert_eq!(sections(text).unwrap_err().to_string(), wanted, "{text:?}");
        }
    }
}
