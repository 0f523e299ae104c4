// SPDX-License-Identifier: MIT OR Apache-2.0
//! cpufreq policies, those that agree as one.

use machine::FrequencyPolicy;
use root::Dir;
use units::{Cpu, CpuSet};

use crate::{Troubles, cpu::numbered};

/// Policies by first CPU.
pub(super) fn policies(
    dir: &Dir<'_>,
    online: &CpuSet,
    troubles: &mut Troubles,
) -> Vec<FrequencyPolicy> {
    let folders = folders(dir, online);
    // Only one driver can be registered (drivers/cpufreq/cpufreq.c, `cpufreq_register_driver`).
    let driver = folders.iter().find_map(|(own, _)| own.text("scaling_driver").ok());
    let driver = driver.unwrap_or_default();
    let mut merged: Vec<FrequencyPolicy> = Vec::new();
    for (own, cpus) in folders {
        let policy = policy(&own, cpus, &driver);
        if let Err(why) = &policy.max_khz {
            troubles.note("frequency limits", why, &own.join("scaling_max_freq"));
        }
        match merged.iter_mut().rev().find(|other| agree(other, &policy)) {
            Some(other) => other.cpus = other.cpus.or(&policy.cpus),
            None => merged.push(policy),
        }
    }
    merged
}

/// Folders of policies and their CPUs: `cpufreq/policyN`, before kernel 4.3 `cpuN/cpufreq`.
fn folders<'a>(dir: &Dir<'a>, online: &CpuSet) -> Vec<(Dir<'a>, CpuSet)> {
    let new = dir.sub("cpufreq");
    let numbers = numbered(&new.list().unwrap_or_default(), "policy");
    if numbers.is_empty() {
        return old_folders(dir, online);
    }
    // As many policies as CPUs: each rules the CPU that it is named after.
    let is_single = numbers == *online;
    let folder = |number: Cpu| {
        let own = new.sub(&format!("policy{number}"));
        let cpus = if is_single { None } else { ruled(&own) };
        (own, cpus.unwrap_or_else(|| [number].into_iter().collect()))
    };
    numbers.iter().map(folder).collect()
}

fn old_folders<'a>(dir: &Dir<'a>, online: &CpuSet) -> Vec<(Dir<'a>, CpuSet)> {
    let mut folders = Vec::new();
    let mut covered = CpuSet::new();
    for cpu in online.iter() {
        let own = dir.sub(&format!("cpu{cpu}/cpufreq"));
        if covered.contains(cpu) || own.list().is_err() {
            continue;
        }
        let ruled = ruled(&own).filter(|cpus| cpus.contains(cpu));
        let cpus = ruled.unwrap_or_else(|| [cpu].into_iter().collect()).minus(&covered);
        covered = covered.or(&cpus);
        folders.push((own, cpus));
    }
    folders
}

/// The online CPUs of a policy, `0 1 2 3`: `related_cpus` would name those offline too.
fn ruled(own: &Dir<'_>) -> Option<CpuSet> {
    let text = own.text("affected_cpus").or_else(|_| own.text("related_cpus")).ok()?;
    parse_words(&text).filter(|cpus| !cpus.is_empty())
}

pub(crate) fn parse_words(text: &str) -> Option<CpuSet> {
    text.split_whitespace().map(|word| word.parse().ok().map(Cpu)).collect()
}

fn policy(own: &Dir<'_>, cpus: CpuSet, driver: &str) -> FrequencyPolicy {
    FrequencyPolicy {
        cpus,
        driver: driver.to_owned(),
        governor: own.text("scaling_governor").unwrap_or_default(),
        min_khz: own.parse("scaling_min_freq"),
        max_khz: own.parse("scaling_max_freq"),
        hardware_min_khz: own.parse("cpuinfo_min_freq"),
        hardware_max_khz: own.parse("cpuinfo_max_freq"),
    }
}

/// Whether two policies differ in nothing but their CPUs.
fn agree(a: &FrequencyPolicy, b: &FrequencyPolicy) -> bool {
    *a == FrequencyPolicy { cpus: a.cpus.clone(), ..b.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use root::MemoryRoot;

    fn put(root: &mut MemoryRoot, folder: &str, governor: &str, max: u32, affected: &str) {
        root.file(&format!("{folder}/scaling_driver"), "intel_pstate\n")
            .file(&format!("{folder}/scaling_governor"), format!("{governor}\n"))
            .file(&format!("{folder}/scaling_max_freq"), format!("{max}\n"))
            .file(&format!("{folder}/affected_cpus"), format!("{affected}\n"));
    }

    fn seen(root: &MemoryRoot, online: &str) -> Vec<String> {
        let online = CpuSet::from_list(online).unwrap();
        let policies = policies(&Dir::new(root, "/c"), &online, &mut Troubles::default());
        policies
            .iter()
            .map(|p| {
                format!("{} {} {} {:?}", p.cpus, p.driver, p.governor, p.max_khz.as_ref().ok())
            })
            .collect()
    }

    #[test]
    fn policies_that_agree_are_one() {
        let mut root = MemoryRoot::new();
        put(&mut root, "/c/cpufreq/policy0", "performance", 3_500_000, "0");
        put(&mut root, "/c/cpufreq/policy1", "powersave", 3_500_000, "1");
        put(&mut root, "/c/cpufreq/policy2", "performance", 3_500_000, "2");
        root.file("/c/cpufreq/boost", "1");
        let expected = [
            "0,2 intel_pstate performance Some(3500000)",
            "1 intel_pstate powersave Some(3500000)",
        ];
        assert_eq!(seen(&root, "0-2"), expected);
        // An offline CPU: the policies are asked whom they rule.
        put(&mut root, "/c/cpufreq/policy2", "performance", 3_500_000, "2 3");
        assert_eq!(seen(&root, "0-3")[0], "0,2-3 intel_pstate performance Some(3500000)");
    }

    #[test]
    fn folders_of_old_kernels() {
        let mut root = MemoryRoot::new();
        put(&mut root, "/c/cpu0/cpufreq", "ondemand", 2_260_000, "0 1");
        put(&mut root, "/c/cpu1/cpufreq", "ondemand", 2_260_000, "0 1");
        put(&mut root, "/c/cpu2/cpufreq", "ondemand", 1_000_000, "x");
        let expected =
            ["0-1 intel_pstate ondemand Some(2260000)", "2 intel_pstate ondemand Some(1000000)"];
        assert_eq!(seen(&root, "0-3"), expected);
    }
}
