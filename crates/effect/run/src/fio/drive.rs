// SPDX-License-Identifier: MIT OR Apache-2.0
//! Driving fio.
//!
//! Its results go to a file (`--output`), for on standard output they stand among notes; a job file
//! has it run as threads, for its processes leave the group and outlive it. What it says on the
//! standard error becomes the reason of a run that failed. Where nothing may be written it gets
//! `--readonly`: it lays a file that is shorter than its job asks out anew, for reading, too.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use record::{
    Engine, Environment, Failed, Failure, FailureKind, Outcome, Pace, Run, SCHEMA, Workload,
};

use super::import::{self, About};
use super::job_file;
use super::parse::parse;
use crate::child::{self, Ended, Limits, Why};
use crate::program::{self, DriveError};
use crate::stamp;

/// The oldest that is driven.
const OLDEST: (u32, u32) = (3, 1);

/// fio on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fio {
    program: PathBuf,
    version: String,
}

/// What fio is to do.
#[derive(Debug, Clone, Default)]
pub struct Task {
    /// The job file.
    pub job_file: String,
    /// What it asks, where that is known otherwise than from the file.
    pub workload: Option<Workload>,
    /// Hosts whose `fio --server` do it, each the whole of it; this machine where empty.
    pub hosts: Vec<String>,
    /// What it is for.
    pub note: Option<String>,
    /// When it begins, in ms since 1970.
    pub now_ms: u64,
}

impl Fio {
    /// The fio of the PATH.
    ///
    /// # Errors
    /// There is none, or it is older than 3.1.
    pub fn find() -> Result<Self, DriveError> {
        Self::at(&program::find("fio")?)
    }

    /// The fio of a path.
    ///
    /// # Errors
    /// It cannot be run, or is older than 3.1.
    pub fn at(program: &Path) -> Result<Self, DriveError> {
        let said = ask(program, "--version")?;
        let first = said.lines().next().unwrap_or_default().trim().to_owned();
        let version = first.strip_prefix("fio-").filter(|version| is_new_enough(version));
        match version {
            Some(version) => Ok(Self { program: program.to_owned(), version: version.to_owned() }),
            None => {
                let found =
                    if first.is_empty() { "silent on its version".to_owned() } else { first };
                Err(DriveError::Version { program: program.to_owned(), found })
            }
        }
    }

    /// `3.33`, as it tells it.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Whether an I/O engine was built into it and knows an option (`--enghelp`).
    ///
    /// # Errors
    /// It cannot be run.
    pub fn engine_knows(&self, engine: &str, option: &str) -> Result<bool, DriveError> {
        let said = ask(&self.program, &format!("--enghelp={engine}"))?;
        Ok(said.lines().any(|line| line.split([' ', ':']).next() == Some(option)))
    }

    /// Whether it was built with libnuma, and so knows `numa_mem_policy`.
    ///
    /// # Errors
    /// It cannot be run.
    pub fn knows_nodes(&self) -> Result<bool, DriveError> {
        let said = ask(&self.program, "--cmdhelp=numa_mem_policy")?;
        Ok(said.trim_start().starts_with("numa_mem_policy:"))
    }

    /// Has it do a task, and reads what came: runs with numbers, or failed or cancelled ones.
    ///
    /// # Errors
    /// It cannot be started, its files cannot be written, or a host has no name.
    pub fn carry_out(
        &self,
        task: &Task,
        limits: &Limits,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Vec<Run>, DriveError> {
        let folder = tempfile::tempdir().map_err(DriveError::io(&std::env::temp_dir()))?;
        let (jobs, output) = (folder.path().join("jobs.fio"), folder.path().join("output.json"));
        std::fs::write(&jobs, as_threads(&task.job_file)).map_err(DriveError::io(&jobs))?;
        let asked = asked(task);
        if task.hosts.is_empty() {
            refuse_to_make_folders(&asked)?;
            refuse_what_is_too_short(task.workload.as_ref())?;
        }
        let mut command = Command::new(&self.program);
        command.args(["--output-format=json+", "--eta=never"]);
        command.arg(format!("--output={}", output.display()));
        let guarded = only_reads(&asked).then_some("--readonly");
        for host in &task.hosts {
            // Behind the host, for only what stands there reaches its server.
            command.arg(format!("--client={}", host_name(host)?)).args(guarded).arg(&jobs);
        }
        if task.hosts.is_empty() {
            command.args(guarded).arg(&jobs);
        }
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let about = About {
            fallback_ms: task.now_ms,
            note: task.note.clone(),
            command: words.map(|word| word.to_string_lossy().into_owned()).collect(),
        };
        let limits = Limits { files: vec![output.clone()], ..limits.clone() };
        let ended = child::supervise(command, &limits, is_cancelled)
            .map_err(DriveError::not_started(&self.program))?;
        let mut runs = self.outcomes(task, &about, &ended, &output);
        for run in &mut runs {
            self.complete(run, task);
        }
        Ok(runs)
    }

    /// What came of it.
    fn outcomes(&self, task: &Task, about: &About, ended: &Ended, output: &Path) -> Vec<Run> {
        let outcome = match ended.why {
            Why::Cancelled => Outcome::Cancelled,
            Why::Time => failed("it ran longer than it may, and was ended".to_owned()),
            Why::Output => failed("it wrote more than it may, and was ended".to_owned()),
            Why::Done => match self.report(about, ended, output) {
                Ok(runs) => return runs,
                Err(why) => failed(why),
            },
        };
        vec![self.without_report(task, about, outcome)]
    }

    /// The runs that it reports; why there is no report. A report beside an exit code that is not 0
    /// is of a run that failed: the code is the number of jobs that did.
    fn report(&self, about: &About, ended: &Ended, output: &Path) -> Result<Vec<Run>, String> {
        let said = first_line(&ended.stderr).or_else(|| first_line(&ended.stdout));
        let text = std::fs::read(output).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let mut runs = parse(&text).and_then(|output| import::runs(&output, about)).map_err(
            |refused| match (&said, ended.code) {
                (Some(said), Some(code)) => format!("fio ended with {code}: {said}"),
                (None, Some(0)) => refused.to_string(),
                (_, code) => format!("fio ended with {code:?} and no report: {refused}"),
            },
        )?;
        if ended.code != Some(0) {
            let code = ended.code.map_or("a signal".to_owned(), |code| code.to_string());
            let why = format!("fio ended with {code}: {}", said.as_deref().unwrap_or("no reason"));
            for run in runs.iter_mut().filter(|run| run.outcome.measured().is_some()) {
                run.outcome = failed(why.clone());
            }
        }
        Ok(runs)
    }

    fn without_report(&self, task: &Task, about: &About, outcome: Outcome) -> Run {
        let workload = task.workload.clone();
        Run {
            schema: SCHEMA.to_owned(),
            id: String::new(),
            started: stamp::rfc3339(task.now_ms),
            note: task.note.clone(),
            workload_hash: workload.as_ref().map(Workload::hash),
            workload,
            engine: Engine {
                name: "fio".to_owned(),
                version: self.version.clone(),
                way: None,
                command: about.command.clone(),
            },
            placement: None,
            environment: Environment::default(),
            outcome,
        }
    }

    /// What the task knows better than the report.
    fn complete(&self, run: &mut Run, task: &Task) {
        if let Some(workload) = &task.workload {
            run.workload = Some(workload.clone());
            run.environment.unknown.retain(|unknown| unknown.what != "workload");
        } else if let Some(step) = job_file::parse(&task.job_file).ok().filter(|all| all.len() == 1)
        {
            run.workload = step.into_iter().next().map(|step| step.workload);
        }
        run.workload_hash = run.workload.as_ref().map(Workload::hash);
        let is_paced = |workload: &Workload| workload.pace != Pace::Closed;
        if let Outcome::Measured(measured) = &mut run.outcome
            && run.workload.as_ref().is_some_and(is_paced)
        {
            // Where its report does not list the options that say so.
            import::of_service(&mut measured.directions, &mut measured.doubts);
        }
        run.id = stamp::id(run);
    }
}

fn failed(why: String) -> Outcome {
    let kind = FailureKind::Job { text: why.clone() };
    let failure = Failure { kind, target: None, count: None, offset_bytes: None };
    Outcome::Failed(Failed { why, failures: vec![failure] })
}

/// What a program says to one question, on both outputs.
fn ask(program: &Path, question: &str) -> Result<String, DriveError> {
    let mut command = Command::new(program);
    command.arg(question);
    let limits = Limits {
        time: Duration::from_secs(10),
        output_bytes: 1 << 20,
        grace: Duration::from_secs(1),
        files: Vec::new(),
    };
    let ended =
        child::supervise(command, &limits, &|| false).map_err(DriveError::not_started(program))?;
    Ok(ended.stdout + &ended.stderr)
}

fn is_new_enough(version: &str) -> bool {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= OLDEST,
        _ => false,
    }
}

/// The job file with `thread` for every job. A section above the first one is shared by all.
fn as_threads(job_file: &str) -> String {
    format!("[global]\nthread=1\n{job_file}\n")
}

/// What a task asks: one workload a step. None where neither the task tells nor the own engine knows
/// the options of its file: then it is fio's alone to judge.
fn asked(task: &Task) -> Vec<Workload> {
    match &task.workload {
        Some(workload) => vec![workload.clone()],
        None => {
            let steps = job_file::parse(&task.job_file).unwrap_or_default();
            steps.into_iter().map(|step| step.workload).collect()
        }
    }
}

/// Whether it is known to write nothing and to make no file.
fn only_reads(asked: &[Workload]) -> bool {
    let makes = |one: &Workload| one.targets.iter().any(|target| target.make_bytes.is_some());
    !asked.is_empty() && !asked.iter().any(|one| one.mix.destroys() || makes(one))
}

/// fio makes folders and files of whatever it is told to read, and as root in `/dev` too: a device
/// that was misspelt is then measured as a file in memory.
fn refuse_to_make_folders(asked: &[Workload]) -> Result<(), DriveError> {
    for target in asked.iter().flat_map(|one| &one.targets) {
        let path = Path::new(&target.path);
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let is_lost = path.starts_with("/dev") && !path.exists();
        if is_lost || folder.is_some_and(|folder| !folder.is_dir()) {
            return Err(DriveError::Target(path.to_owned()));
        }
    }
    Ok(())
}

/// A file that is there and is not made for the run must have all that is asked of it: fio takes
/// one that has not away, and lays another out in its place. What else the workload makes or writes
/// keeps `--readonly` from being given, so that it is looked at here.
fn refuse_what_is_too_short(workload: Option<&Workload>) -> Result<(), DriveError> {
    let Some(workload) = workload else { return Ok(()) };
    let least = workload.length_bytes.unwrap_or(0);
    let wanted = workload.offset_bytes.saturating_add(least);
    for target in workload.targets.iter().filter(|target| target.make_bytes.is_none()) {
        let path = Path::new(&target.path);
        let there = path.metadata().map_err(DriveError::io(path))?;
        if there.is_file() && there.len() < wanted {
            let (path, bytes) = (path.to_owned(), there.len());
            return Err(DriveError::Short { path, bytes, wanted });
        }
    }
    Ok(())
}

fn host_name(host: &str) -> Result<&str, DriveError> {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || "-_.:,[]".contains(c);
    let fine = !host.is_empty() && !host.starts_with('-') && host.chars().all(is_fine);
    if fine { Ok(host) } else { Err(DriveError::Host(host.to_owned())) }
}

fn first_line(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().take(300).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_from_3_1_are_new_enough() {
        for (version, wanted) in [
            ("3.33", true),
            ("3.42-135-gf5344", true),
            ("3.1", true),
            ("4.0", true),
            ("3.0", false),
            ("2.2.10", false),
            ("git", false),
            ("", false),
        ] {
            assert_eq!(is_new_enough(version), wanted, "{version}");
        }
    }

    #[test]
    fn nothing_is_made_of_a_misspelt_name() {
        let refuse = |text: &str| {
            refuse_to_make_folders(&asked(&Task { job_file: text.to_owned(), ..Task::default() }))
        };
        for path in ["/dev/no-such-drive", "/no-such-folder/file", "/dev/null/x"] {
            let text = format!("[x]\nfilename={path}\nsize=1m\n");
            assert!(matches!(refuse(&text), Err(DriveError::Target(_))), "{path}");
        }
        for text in
            ["[x]\nfilename=/dev/null\nsize=1m\n", "[x]\nfilename=f\nsize=1m\n", "[x]\na=b\n"]
        {
            assert!(refuse(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn only_what_makes_and_writes_nothing_is_known_to_read() {
        let is_safe =
            |text: &str| only_reads(&asked(&Task { job_file: text.to_owned(), ..Task::default() }));
        assert!(is_safe("[x]\nfilename=/dev/null\nrw=randread\nruntime=1\ntime_based\n"));
        for text in [
            "[x]\nfilename=/dev/null\nrw=randrw\nruntime=1\ntime_based\n",
            "[x]\nfilename=/tmp/x\nrw=read\nsize=1m\n",
            "[x]\nnobody_knows=1\n",
            "",
        ] {
            assert!(!is_safe(text), "{text}");
        }
    }

    #[test]
    fn a_host_is_no_option() {
        for host in ["server1", "10.0.0.1", "ip:10.0.0.1,8765", "ip6:::1,8765"] {
            assert!(host_name(host).is_ok(), "{host}");
        }
        for host in ["", "-x", "a b", "a\n", "$(x)"] {
            assert!(host_name(host).is_err(), "{host:?}");
        }
    }
}
