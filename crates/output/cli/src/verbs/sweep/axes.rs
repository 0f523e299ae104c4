// SPDX-License-Identifier: MIT OR Apache-2.0
//! What varies in a sweep, and every combination of it.

use report::json::SweepAxis;

use super::Asked;
use crate::args::{Load, Means, Sweep, place_of};
use crate::expected::Expected;

/// What can vary, the slowest first; what loads more comes last, so that a line of cells rises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Place,
    Devices,
    Mix,
    How,
    Size,
    Threads,
    Depth,
}

/// All that vary.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Axes {
    axes: Vec<(What, SweepAxis)>,
    load: Load,
    means: Means,
}

/// One combination.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cell {
    /// The place of its value on each axis.
    pub(super) at: Vec<usize>,
    pub(super) load: Load,
    pub(super) means: Means,
    /// How many of the targets; all where it does not vary.
    pub(super) devices: Option<usize>,
}

impl Axes {
    /// What was given several values, with commas between.
    pub(super) fn of(sweep: &Sweep) -> Result<Self, Expected> {
        let load = &sweep.load;
        let given = [
            (What::Place, "place", sweep.places.clone()),
            (What::Devices, "devices", sweep.devices.clone()),
            (What::Mix, "rwmixread", list(load.rwmixread.as_deref())),
            (What::How, "rw", list(Some(&load.rw))),
            (What::Size, "bs", list(Some(&load.bs))),
            (What::Threads, "numjobs", list(load.numjobs.as_deref())),
            (What::Depth, "iodepth", list(Some(&load.iodepth))),
        ];
        let axes = given.into_iter().filter(|(what, _, values)| {
            let is_given_as_list = matches!(what, What::Place | What::Devices);
            values.len() > 1 || (is_given_as_list && !values.is_empty())
        });
        let axis = |(what, name, values): (What, &str, Vec<String>)| {
            (what, SweepAxis { name: name.to_owned(), values })
        };
        let axes: Vec<_> = axes.map(axis).collect();
        if axes.is_empty() {
            let help = "give several values to an option: --iodepth 1,2,4,8,16,32,64,128";
            return Err(Expected::usage("nothing varies", help));
        }
        let axes = Self { axes, load: load.clone(), means: sweep.means.clone() };
        axes.check()?;
        Ok(axes)
    }

    fn check(&self) -> Result<(), Expected> {
        for (what, axis) in &self.axes {
            let is_rising = |pair: &[String]| match pair {
                [one, next] => one.parse::<u64>().ok() < next.parse::<u64>().ok(),
                _ => true,
            };
            let must_rise = matches!(what, What::Threads | What::Depth | What::Devices);
            if must_rise && !axis.values.windows(2).all(is_rising) {
                let what =
                    format!("--{}: values have to rise: {}", axis.name, axis.values.join(","));
                return Err(Expected::usage(what, "write them as 1,2,4,8"));
            }
            if *what == What::Place {
                for value in &axis.values {
                    place_of(value).map_err(|why| {
                        Expected::usage(format!("--places: {value:?}: {why}"), "--places near,far")
                    })?;
                }
            }
        }
        Ok(())
    }

    /// Holds that there are as many targets as the sweep takes of them.
    pub(super) fn fit(&self, targets: usize) -> Result<(), Expected> {
        let devices = self.axes.iter().filter(|(what, _)| *what == What::Devices);
        for value in devices.flat_map(|(_, axis)| &axis.values) {
            if !value.parse::<usize>().is_ok_and(|count| (1..=targets).contains(&count)) {
                let what = format!("--devices {value}: there are {targets} targets");
                return Err(Expected::usage(what, "name more of them, or take 1 to all of them"));
            }
        }
        Ok(())
    }

    /// Every combination; the last axis runs fastest.
    pub(super) fn cells(&self) -> Vec<Cell> {
        let mut places = vec![Vec::new()];
        for (_, axis) in &self.axes {
            let longer = |place: &Vec<usize>| {
                let place = place.clone();
                (0..axis.values.len()).map(move |at| [place.as_slice(), &[at]].concat())
            };
            places = places.iter().flat_map(longer).collect();
        }
        places.into_iter().map(|at| self.cell(at)).collect()
    }

    fn cell(&self, at: Vec<usize>) -> Cell {
        let (mut load, mut means, mut devices) = (self.load.clone(), self.means.clone(), None);
        for ((what, axis), at) in self.axes.iter().zip(&at) {
            let Some(value) = axis.values.get(*at).cloned() else { continue };
            match what {
                What::Place => means.place = place_of(&value).ok(),
                What::Devices => devices = value.parse().ok(),
                What::Mix => load.rwmixread = Some(value),
                What::How => load.rw = value,
                What::Size => load.bs = value,
                What::Threads => load.numjobs = Some(value),
                What::Depth => load.iodepth = value,
            }
        }
        Cell { at, load, means, devices }
    }

    /// Whether a cell is the first of those that differ in what is in flight alone. Where that does not
    /// vary, each is a line of its own.
    pub(super) fn begins_a_line(&self, cell: &Cell) -> bool {
        let is_load =
            self.axes.last().is_some_and(|(what, _)| matches!(what, What::Threads | What::Depth));
        !is_load || cell.at.last() == Some(&0)
    }

    /// `rw=read iodepth=8`.
    pub(super) fn names(&self, cell: &Cell) -> String {
        let name = |((_, axis), at): (&(What, SweepAxis), &usize)| {
            Some(format!("{}={}", axis.name, axis.values.get(*at)?))
        };
        self.axes.iter().zip(&cell.at).filter_map(name).collect::<Vec<_>>().join(" ")
    }

    pub(super) fn told(&self) -> Vec<SweepAxis> {
        self.axes.iter().map(|(_, axis)| axis.clone()).collect()
    }
}

fn list(text: Option<&str>) -> Vec<String> {
    text.into_iter().flat_map(|text| text.split(',')).map(|one| one.trim().to_owned()).collect()
}

/// How long all cells take at most: `about 4 min`.
pub(super) fn about(asked: &[Asked]) -> String {
    let of = |asked: &Asked| {
        let limits = asked.workload.limits;
        limits.ramp_seconds + limits.seconds.unwrap_or(0.0)
    };
    let seconds: f64 = asked.iter().map(of).sum();
    match seconds {
        seconds if seconds < 120.0 => format!("about {seconds:.0} s"),
        seconds if seconds < 7200.0 => format!("about {:.0} min", seconds / 60.0),
        seconds => format!("about {:.1} h", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{Arguments, Verb};

    fn axes(words: &str) -> Result<Axes, Expected> {
        let words = format!("nearside sweep {words}");
        match Arguments::parse_from(words.split_whitespace()).verb {
            Some(Verb::Sweep(sweep)) => Axes::of(&sweep),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_combination_is_a_cell_and_what_loads_more_runs_fastest() {
        let axes = axes("--iodepth 1,2 --bs 4k,64k,1m --places near,far").unwrap();
        let cells = axes.cells();
        assert_eq!(cells.len(), 12);
        assert_eq!(axes.names(&cells[1]), "place=near bs=4k iodepth=2");
        assert_eq!((cells[11].load.bs.as_str(), cells[11].load.iodepth.as_str()), ("1m", "2"));
        assert_eq!(cells[11].means.place, Some(place::Where::Far));
        let firsts = cells.iter().filter(|cell| axes.begins_a_line(cell)).count();
        assert_eq!(firsts, 6);
    }

    #[test]
    fn what_does_not_load_more_makes_no_lines() {
        let axes = axes("--bs 4k,64k --iodepth 8").unwrap();
        assert!(axes.cells().iter().all(|cell| axes.begins_a_line(cell)));
    }

    #[test]
    fn no_more_devices_than_there_are() {
        let axes = |words| axes(words).unwrap();
        assert!(axes("--devices 1,2").fit(2).is_ok());
        for words in ["--devices 1,3", "--devices 0,1", "--devices x"] {
            assert!(axes(words).fit(2).is_err(), "{words}");
        }
    }

    #[test]
    fn what_makes_no_grid_is_refused() {
        for (words, wanted) in [
            ("--iodepth 8", "nothing varies"),
            ("--iodepth 8,4", "--iodepth: values have to rise: 8,4"),
            ("--numjobs 1,x", "--numjobs: values have to rise: 1,x"),
            ("--places near,here", "--places: \"here\""),
        ] {
            let error = axes(words).unwrap_err().to_string();
            assert!(error.starts_with(wanted), "{words}: {error}");
        }
    }
}
