// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs that the command line keeps work from, for kernels and trees without the files in
//! `/sys/devices/system/cpu` (Documentation/admin-guide/kernel-parameters.txt).

use machine::CommandLine;
use units::CpuSet;

/// What may stand before the CPUs of `isolcpus` (kernel/sched/isolation.c).
const FLAGS: [&str; 3] = ["nohz", "domain", "managed_irq"];

/// CPUs that the scheduler does not balance over: `isolcpus=2-5`, `isolcpus=nohz,domain,2-5`. Flags
/// without `domain` keep other things away, such as managed interrupts.
pub(super) fn isolated(line: &CommandLine) -> CpuSet {
    let words = line.last("isolcpus").flatten().unwrap_or_default();
    let (flags, cpus): (Vec<&str>, Vec<&str>) =
        words.split(',').partition(|word| FLAGS.contains(word));
    let is_of_scheduler = flags.is_empty() || flags.contains(&"domain");
    if is_of_scheduler { list(&cpus.join(",")) } else { CpuSet::default() }
}

/// CPUs without a tick while one task runs: `nohz_full=0-4,11-79`.
pub(super) fn nohz_full(line: &CommandLine) -> CpuSet {
    list(line.last("nohz_full").flatten().unwrap_or_default())
}

fn list(text: &str) -> CpuSet {
    CpuSet::from_list(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::command_line;

    #[test]
    fn flags_tell_what_cpus_are_kept_from() {
        for (text, kept, tickless) in [
            ("isolcpus=2-5", "2-5", ""),
            ("isolcpus=domain,nohz,2,3 nohz_full=1", "2-3", "1"),
            ("nohz_full=0-4,11-79 isolcpus=managed_irq,0-4,11-79", "", "0-4,11-79"),
            ("isolcpus=1 isolcpus=7", "7", ""),
            ("isolcpus=odd nohz_full", "", ""),
        ] {
            let line = command_line::parse(text);
            assert_eq!(isolated(&line).to_string(), kept, "{text}");
            assert_eq!(nohz_full(&line).to_string(), tickless, "{text}");
        }
    }
}
