// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several runs in one JSON document: `runs/1`.

use record::Run;
use serde::Serialize;
use serde_json::Value;

/// The name of the format.
const SCHEMA: &str = "runs/1";

/// Runs in one document.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bundle<'a> {
    /// `runs/1`.
    pub schema: &'static str,
    /// The runs, as their own documents.
    pub runs: &'a [Run],
}

/// Puts runs into one document.
pub fn bundle(runs: &[Run]) -> Bundle<'_> {
    Bundle { schema: SCHEMA, runs }
}

/// Reads the runs of a `runs/1`, or the one of a `run/1`.
///
/// # Errors
/// It is neither, or one of the runs is no record; a sentence that says which.
pub fn read_bundle(text: &str) -> Result<Vec<Run>, String> {
    #[derive(serde::Deserialize)]
    struct Named {
        schema: Option<String>,
    }
    #[derive(serde::Deserialize)]
    struct Whole<T> {
        runs: Vec<T>,
    }
    let named: Named = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let schema = named.schema.unwrap_or_default();
    if schema.starts_with("run/") {
        return Run::parse(text).map(|run| vec![run]).map_err(|error| error.to_string());
    }
    let (name, version) = schema.split_once('/').unwrap_or((&schema, ""));
    let major = version.split('.').next().unwrap_or_default();
    match (name, major) {
        ("runs", "1") => {}
        ("runs", _) => return Err(format!("{schema} is newer than what this nearside reads")),
        _ => return Err(format!("a document of the schema {schema:?}, neither runs/1 nor run/1")),
    }
    // As runs at once: with all of them as values beside that, a large one takes many times the memory.
    if let Ok(whole) = serde_json::from_str::<Whole<Run>>(text) {
        let accept =
            |(n, run): (usize, Run)| run.accept().map_err(|error| format!("runs[{n}]: {error}"));
        return whole.runs.into_iter().enumerate().map(accept).collect();
    }
    let whole: Whole<Value> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let run = |(n, value): (usize, &Value)| {
        Run::parse(&value.to_string()).map_err(|error| format!("runs[{n}]: {error}"))
    };
    whole.runs.iter().enumerate().map(run).collect()
}
