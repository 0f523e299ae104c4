// SPDX-License-Identifier: MIT OR Apache-2.0
//! Driving gdsio.

use std::path::{Path, PathBuf};
use std::process::Command;

use record::{Engine, Environment, Failed, Failure, FailureKind, Outcome, Run, SCHEMA};

use super::import::{self, About};
use super::parse::parse;
use crate::child::{self, Ended, Limits, Why};
use crate::program::{self, DriveError};
use crate::stamp;

/// Which way the bytes take (`-x`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transfer {
    /// From the drive into the GPU's memory.
    Direct,
    /// Into the CPU's memory, and no further.
    CpuOnly,
    /// Into the CPU's memory, and from there into the GPU's.
    CpuGpu,
}

/// What is done (`-I`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Sequential reads.
    Read,
    /// Sequential writes.
    Write,
    /// Random reads.
    RandomRead,
    /// Random writes.
    RandomWrite,
}

/// What gdsio is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The file or device.
    pub file: PathBuf,
    /// The GPU, as CUDA numbers it.
    pub gpu: u32,
    /// The NUMA node of its threads; its own choice where there is none.
    pub node: Option<u32>,
    /// Threads.
    pub threads: u32,
    /// Size of the set in bytes, a multiple of 1024.
    pub set_bytes: u64,
    /// Size of an operation in bytes, a multiple of 1024.
    pub io_bytes: u64,
    /// Which way.
    pub transfer: Transfer,
    /// What.
    pub access: Access,
    /// How long; to the end of the set where there is none.
    pub seconds: Option<u32>,
    /// What it is for.
    pub note: Option<String>,
    /// When it begins, in ms since 1970.
    pub now_ms: u64,
}

/// gdsio on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gdsio {
    program: PathBuf,
}

impl Gdsio {
    /// The gdsio of the PATH.
    ///
    /// # Errors
    /// There is none.
    pub fn find() -> Result<Self, DriveError> {
        Ok(Self::at(&program::find("gdsio")?))
    }

    /// The gdsio of a path.
    pub fn at(program: &Path) -> Self {
        Self { program: program.to_owned() }
    }

    /// Has it do a task, and reads what came.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn carry_out(
        &self,
        task: &Task,
        limits: &Limits,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Vec<Run>, DriveError> {
        let mut command = Command::new(&self.program);
        command.args(arguments(task)).arg("-f").arg(&task.file);
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let about = About {
            started_ms: task.now_ms,
            note: task.note.clone(),
            version: None,
            command: words.map(|word| word.to_string_lossy().into_owned()).collect(),
        };
        let ended = child::supervise(command, limits, is_cancelled)
            .map_err(DriveError::not_started(&self.program))?;
        let outcome = match ended.why {
            Why::Cancelled => Outcome::Cancelled,
            Why::Time => failed("it ran longer than it may, and was ended".to_owned()),
            Why::Output => failed("it wrote more than it may, and was ended".to_owned()),
            Why::Done => match results(&ended) {
                Ok(output) => return Ok(import::runs(&output, &about)),
                Err(why) => failed(why),
            },
        };
        Ok(vec![without_results(&about, outcome)])
    }
}

/// What it printed, where it ended well.
fn results(ended: &Ended) -> Result<super::Output, String> {
    // It complains on either output, and ends with 0 all the same.
    let all = format!("{}\n{}", ended.stdout, ended.stderr);
    let output = parse(&all).map_err(|refused| refused.to_string());
    match ended.code {
        Some(0) => output,
        code => {
            let code = code.map_or("a signal".to_owned(), |code| code.to_string());
            let said = ended.stderr.lines().chain(ended.stdout.lines());
            let said = said.map(str::trim).find(|line| !line.is_empty()).unwrap_or("no reason");
            let said: String = said.chars().take(300).collect();
            Err(format!("gdsio ended with {code}: {said}"))
        }
    }
}

fn without_results(about: &About, outcome: Outcome) -> Run {
    let mut run = Run {
        schema: SCHEMA.to_owned(),
        id: String::new(),
        started: stamp::rfc3339(about.started_ms),
        note: about.note.clone(),
        workload: None,
        workload_hash: None,
        engine: Engine {
            name: "gdsio".to_owned(),
            version: "unknown".to_owned(),
            way: None,
            command: about.command.clone(),
        },
        placement: None,
        environment: Environment::default(),
        outcome,
    };
    run.id = stamp::id(&run);
    run
}

fn failed(why: String) -> Outcome {
    let kind = FailureKind::Job { text: why.clone() };
    let failure = Failure { kind, target: None, count: None, offset_bytes: None };
    Outcome::Failed(Failed { why, failures: vec![failure] })
}

/// The command of a task, program and file included.
pub fn words(task: &Task) -> Vec<String> {
    let file = task.file.to_string_lossy().into_owned();
    let head = std::iter::once("gdsio".to_owned()).chain(arguments(task));
    head.chain(["-f".to_owned(), file]).collect()
}

/// The options, but for the file's.
fn arguments(task: &Task) -> Vec<String> {
    let transfer = match task.transfer {
        Transfer::Direct => 0,
        Transfer::CpuOnly => 1,
        Transfer::CpuGpu => 2,
    };
    let access = match task.access {
        Access::Read => 0,
        Access::Write => 1,
        Access::RandomRead => 2,
        Access::RandomWrite => 3,
    };
    let kib = |bytes: u64| format!("{}K", bytes / 1024);
    let mut pairs = vec![
        ("-d", task.gpu.to_string()),
        ("-w", task.threads.to_string()),
        ("-s", kib(task.set_bytes)),
        ("-i", kib(task.io_bytes)),
        ("-x", transfer.to_string()),
        ("-I", access.to_string()),
    ];
    pairs.extend(task.node.map(|node| ("-n", node.to_string())));
    pairs.extend(task.seconds.map(|seconds| ("-T", seconds.to_string())));
    pairs.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect()
}
