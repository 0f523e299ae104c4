// SPDX-License-Identifier: MIT OR Apache-2.0
//! The record of one run: `run/1`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Environment, FormatError, Measured, Placement, Workload};

/// The name of the format.
pub const SCHEMA: &str = "run/1";

/// A run: what was asked, where, with what, and what came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// `run/1`, or `run/1.N` with N above 0 when fields have been added.
    pub schema: String,
    /// Unique, sorts by time.
    pub id: String,
    /// When it started: RFC 3339, UTC.
    pub started: String,
    /// What it was for, in the person's words.
    #[serde(default)]
    pub note: Option<String>,
    /// What was asked; none for an import that does not tell enough of it.
    pub workload: Option<Workload>,
    /// [`Workload::hash`]; none without a workload.
    pub workload_hash: Option<String>,
    /// What carried it out.
    pub engine: Engine,
    /// Where its threads were; none where nobody knows.
    #[serde(default)]
    pub placement: Option<Placement>,
    /// What it took place in.
    #[serde(default)]
    pub environment: Environment,
    /// What came.
    pub outcome: Outcome,
}

/// What carried a run out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Engine {
    /// `nearside`, `fio`, `gdsio`, `iperf3`.
    pub name: String,
    /// Its version, as it tells it.
    pub version: String,
    /// How it reached the devices: `io_uring`, `libaio`, `io_submit`, `pread`; none where it does not
    /// tell.
    #[serde(default)]
    pub way: Option<String>,
    /// The command line, for a tool that was driven.
    #[serde(default)]
    pub command: Vec<String>,
}

/// What came of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "class")]
pub enum Outcome {
    /// It went well.
    Measured(Box<Measured>),
    /// Something of it failed: there is no number.
    Failed(Failed),
    /// Somebody ended it before its time: there is no number.
    Cancelled,
}

impl Outcome {
    /// The numbers, where there are any.
    pub fn measured(&self) -> Option<&Measured> {
        match self {
            Self::Measured(measured) => Some(measured),
            Self::Failed(_) | Self::Cancelled => None,
        }
    }
}

/// Why a run has no number.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Failed {
    /// What failed, in a sentence.
    pub why: String,
    /// What failed one by one, alike ones together.
    #[serde(default)]
    pub failures: Vec<Failure>,
}

/// Operations that failed alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// How.
    pub kind: FailureKind,
    /// The target; none where it is not told.
    #[serde(default)]
    pub target: Option<String>,
    /// How many; none where it is not told.
    #[serde(default)]
    pub count: Option<u64>,
    /// The first one's place on the target in bytes; none where it is not told.
    #[serde(default)]
    pub offset_bytes: Option<u64>,
}

/// How an operation can fail.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case", tag = "class")]
pub enum FailureKind {
    /// The kernel or the device said so.
    Error {
        /// The kernel's word: `EIO`, `ENOSPC`.
        errno: String,
    },
    /// An NVMe command ended with a status of its own.
    NvmeStatus {
        /// Status code type and status code, as `0xTSS`.
        status: String,
    },
    /// Fewer bytes were moved than asked.
    Short,
    /// What was written is not there: the block holds an earlier writing, or none.
    Lost,
    /// The block holds what belongs elsewhere.
    Misdirected,
    /// The block holds part of a writing.
    Torn,
    /// A part of the tool's work ended with an error of its own.
    Job {
        /// What it said.
        text: String,
    },
}

impl Run {
    /// A record from its JSON.
    ///
    /// # Errors
    /// No JSON of this shape, another document, a newer format, a workload whose hash is another, or
    /// numbers that contradict each other ([`Run::check`]).
    pub fn parse(text: &str) -> Result<Self, FormatError> {
        #[derive(Deserialize)]
        struct Named {
            schema: String,
        }
        let Named { schema } = serde_json::from_str(text)?;
        check_schema(&schema)?;
        serde_json::from_str::<Self>(text)?.accept()
    }

    /// A record that came as part of another document, where it is one and holds together.
    ///
    /// # Errors
    /// Another document, a newer format, a workload whose hash is another, or numbers that contradict
    /// each other.
    pub fn accept(self) -> Result<Self, FormatError> {
        check_schema(&self.schema)?;
        self.check_hash()?;
        self.check()?;
        Ok(self)
    }

    fn check_hash(&self) -> Result<(), FormatError> {
        let computed = self.workload.as_ref().map(Workload::hash);
        if self.workload_hash == computed {
            return Ok(());
        }
        let text = |hash: Option<&String>| hash.cloned().unwrap_or_else(|| "none".to_owned());
        let (told, computed) = (text(self.workload_hash.as_ref()), text(computed.as_ref()));
        Err(FormatError::Hash { told, computed })
    }
}

/// Takes `run/1` and every minor version of it.
fn check_schema(schema: &str) -> Result<(), FormatError> {
    let found = schema.to_owned();
    let Some(version) = schema.strip_prefix("run/") else {
        return Err(FormatError::Other { found });
    };
    let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
    match (major.parse::<u32>(), minor.parse::<u32>()) {
        (Ok(1), Ok(_)) => Ok(()),
        (Ok(2..), Ok(_)) => Err(FormatError::Newer { found }),
        _ => Err(FormatError::Other { found }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::tests::random_reads;
    use crate::{Direction, DriveState, Histogram, Kind, Latency};

    fn direction() -> Direction {
        let mut histogram = Histogram::new();
        [10_000, 20_000].iter().for_each(|ns| histogram.record(*ns));
        Direction {
            kind: Kind::Read,
            operations: 2,
            bytes: 8192,
            seconds: 0.5,
            iops: 4.0,
            bytes_per_second: 16_384.0,
            latency: Some(Latency::from(histogram)),
            service: None,
            cpu_ns_per_op: Some(700.0),
            late: None,
            series: Vec::new(),
        }
    }

    fn run(outcome: Outcome) -> Run {
        let workload = random_reads();
        Run {
            schema: SCHEMA.to_owned(),
            id: "20260301-120000-1".to_owned(),
            started: "2026-03-01T12:00:00Z".to_owned(),
            note: None,
            workload_hash: Some(workload.hash()),
            workload: Some(workload),
            engine: Engine {
                name: "nearside".to_owned(),
                version: "0.1.0".to_owned(),
                way: Some("io_uring".to_owned()),
                command: Vec::new(),
            },
            placement: None,
            environment: Environment::default(),
            outcome,
        }
    }

    fn measured() -> Outcome {
        Outcome::Measured(Box::new(Measured {
            seconds: 0.5,
            directions: vec![direction()],
            cpu_ns_per_op: Some(700.0),
            mean_depth: None,
            missed: None,
            devices: Vec::new(),
            steady: None,
            flags: Vec::new(),
            drive_state: DriveState::Unknown,
            doubts: Vec::new(),
        }))
    }

    #[test]
    fn a_record_goes_through_json_unchanged() {
        let failure = Failure {
            kind: FailureKind::Error { errno: "EIO".to_owned() },
            target: Some("/dev/nvme0n1".to_owned()),
            count: Some(3),
            offset_bytes: Some(4096),
        };
        let failed = Failed { why: "3 reads failed".to_owned(), failures: vec![failure] };
        for outcome in [measured(), Outcome::Failed(failed), Outcome::Cancelled] {
            let run = run(outcome);
            let text = serde_json::to_string(&run).unwrap();
            assert_eq!(Run::parse(&text).unwrap(), run);
        }
    }

    #[test]
    fn a_failed_run_has_no_number() {
        let text = serde_json::to_string(&run(Outcome::Failed(Failed::default()))).unwrap();
        assert!(!text.contains("iops") && !text.contains("percentile"), "{text}");
    }

    #[test]
    fn other_documents_and_newer_ones_are_refused_by_name() {
        let text = serde_json::to_string(&run(measured())).unwrap();
        let cases = [
            ("run/1.7", ""),
            ("run/2", "run/2 is newer than what this nearside reads, run/1"),
            ("run/1.x", "a document of the schema \"run/1.x\", not run/1"),
            ("audit/1", "a document of the schema \"audit/1\", not run/1"),
        ];
        for (schema, complaint) in cases {
            let text = text.replace("\"run/1\"", &format!("{schema:?}"));
            let error = Run::parse(&text).err().map(|error| error.to_string());
            assert_eq!(error.unwrap_or_default(), complaint);
        }
        let wrong = text.replace("\"iops\":4.0", "\"iops\":5.0");
        assert!(matches!(Run::parse(&wrong), Err(FormatError::Contradiction(_))));
        let tampered = text.replace("\"depth\":32", "\"depth\":64");
        assert!(matches!(Run::parse(&tampered), Err(FormatError::Hash { .. })));
        assert!(matches!(Run::parse("{}"), Err(FormatError::Shape(_))));
    }
}
