// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interrupt vectors that ran short: drives of one model with fewer queues than their sisters, or
//! controllers with fewer vectors than queues.
//!
//! A CPU has about 200 vectors for devices; on machines with many drives and ports they run out on
//! some, and the driver settles for fewer queues.

use std::collections::BTreeMap;

use machine::Drive;
use setting::{Confidence, Evidence, Part, Severity};

use crate::context::Context;
use crate::devices;
use crate::draft::Draft;
use crate::words;

const ID: &str = "vector-exhaustion";

/// One finding a model, and one for controllers that share vectors.
pub(crate) fn drafts(context: &Context<'_>) -> Vec<Draft> {
    let mut models: BTreeMap<&str, Vec<(&Drive, u32)>> = BTreeMap::new();
    for drive in context.machine.drives.iter().filter(|drive| devices::is_nvme(drive)) {
        let queues = drive.controllers.iter().map(|path| path.queues).max().unwrap_or(0);
        if let (Ok(model), 1..) = (&drive.model, queues) {
            models.entry(model).or_default().push((drive, queues));
        }
    }
    let mut drafts: Vec<Draft> =
        models.iter().filter_map(|(model, drives)| fewer(model, drives)).collect();
    drafts.extend(shared(context));
    drafts
}

/// Some of a model have fewer than half of what the others have.
fn fewer(model: &str, drives: &[(&Drive, u32)]) -> Option<Draft> {
    let most = drives.iter().map(|(_, queues)| *queues).max()?;
    let short: Vec<_> =
        drives.iter().filter(|(_, queues)| queues.saturating_mul(2) < most).collect();
    let (_, least) = short.first()?;
    let because = format!(
        "{} of {} of model {model} have fewer queues than the others' {most}: vectors ran short when \
         their driver asked for them",
        short.len(),
        words::count(drives.len(), "drive")
    );
    let mut draft = Draft::new(
        ID,
        Severity::Medium,
        format!(
            "{{devices}}: {} in use, and other drives of the model have {most}",
            words::are(*least, "queue")
        ),
    )
    .about_all(short.iter().map(|(drive, _)| drive.name.clone()))
    .confidence(Confidence::Likely)
    .values(least.to_string(), most.to_string())
    .weighed("CPUs wait for each other on these drives alone")
    .because(because);
    for (drive, _) in short.iter().take(8) {
        if let Some(path) = drive.controllers.first() {
            let file = format!("/sys/class/nvme/{}/queue_count", path.name);
            draft = draft.evidence(Evidence::file(file));
        }
    }
    Some(draft)
}

/// A controller whose I/O queues outnumber its vectors. Vectors are counted only where the
/// function's own list of them was read.
fn shared(context: &Context<'_>) -> Option<Draft> {
    let mut short = Vec::new();
    for drive in context.machine.drives.iter().filter(|drive| devices::is_nvme(drive)) {
        for path in &drive.controllers {
            let Some(at) = path.function else { continue };
            let io = context
                .io_irqs(at)
                .filter(|irq| irq.source.as_ref().is_some_and(|source| source.by_msi));
            let vectors = io.count();
            // Poll queues have no vector by design, and a capture may lack the vectors of all.
            if vectors > 0 && vectors.saturating_mul(2) < usize::try_from(path.queues).unwrap_or(0)
            {
                short.push((drive.name.clone(), at, vectors, path.queues));
            }
        }
    }
    let (_, at, vectors, queues) = short.first()?.clone();
    if polls(context) {
        return None;
    }
    let because = format!(
        "{queues} queues of {{devices}} share {}: their completions wait for each other",
        words::count(vectors, "vector")
    );
    let serve = match vectors {
        1 => "1 interrupt vector serves".to_owned(),
        vectors => format!("{vectors} interrupt vectors serve"),
    };
    let draft = Draft::new(ID, Severity::Medium, format!("{{devices}}: {serve} {queues} queues"))
        .about_all(short.into_iter().map(|(name, ..)| name))
        .confidence(Confidence::Likely)
        .values(vectors.to_string(), queues.to_string())
        .weighed("CPUs wait for each other on these drives alone")
        .because(because)
        .evidence(
            Evidence::new(format!("/sys/bus/pci/devices/{at}/msi_irqs"), Part::Names)
                .meaning(words::count(vectors, "I/O vector")),
        );
    Some(draft)
}

fn polls(context: &Context<'_>) -> bool {
    let parameters = &context.machine.host.module_parameters;
    parameters.iter().any(|(module, name, value)| {
        module == "nvme"
            && name == "poll_queues"
            && value.trim().parse::<u32>().is_ok_and(|number| number > 0)
    })
}
