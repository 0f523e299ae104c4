// SPDX-License-Identifier: MIT OR Apache-2.0
//! What kind of processor a model name stands for.

/// Whether the processor is of the ARM family: /proc/cpuinfo gives its implementer as a number
/// (`0x41`), and 64-bit ARM kernels list `asimd` among the features.
pub(super) fn is_arm(vendor: &str, flags: &[&str]) -> bool {
    vendor.eq_ignore_ascii_case("arm") || vendor.starts_with("0x") || flags.contains(&"asimd")
}

/// Whether firmware can split a package of this model into several nodes: cluster-on-die of Xeon
/// E5/E7 v3 and v4 and SNC of Xeon Scalable, Max and 6 from ten cores on; NPS of EPYC servers.
pub(super) fn splits(vendor: &str, model: &str, cores: usize) -> bool {
    match vendor {
        "GenuineIntel" => cores >= 10 && (is_scalable(model) || has_cluster_on_die(model)),
        // EPYC 4000 is a desktop part with one memory controller.
        "AuthenticAMD" => model.contains("EPYC") && cores >= 8 && !model.contains("EPYC 4"),
        _ => false,
    }
}

fn is_scalable(model: &str) -> bool {
    let names = ["Platinum", "Gold", "Silver", "Xeon(R) CPU Max", "Xeon(R) Max"];
    names.iter().any(|name| model.contains(name))
        || words(model)
            .any(|word| word.len() == 5 && word.starts_with('6') && word.ends_with(['P', 'E']))
}

fn has_cluster_on_die(model: &str) -> bool {
    (model.contains("E5-2") || model.contains("E5-4") || model.contains("E7-"))
        && (model.contains(" v3") || model.contains(" v4"))
}

fn words(model: &str) -> impl Iterator<Item = &str> {
    model.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-')
}

/// Whether the model is one for laptops and desktops.
pub(super) fn is_desktop(model: &str) -> bool {
    let server = ["Threadripper", "EPYC", "Xeon"];
    let names = ["Core(TM)", "Ryzen", "Celeron", "Pentium", "Athlon", "Phenom", "Apple"];
    names.iter().any(|name| model.contains(name)) && !server.iter().any(|name| model.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_processors_split() {
        assert!(splits("GenuineIntel", "Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz", 20));
        assert!(splits("GenuineIntel", "Intel(R) Xeon(R) 6767P", 64));
        assert!(splits("AuthenticAMD", "AMD EPYC 9575F 64-Core Processor", 64));
        assert!(!splits("AuthenticAMD", "AMD EPYC 4564P 16-Core Processor", 16));
        assert!(!splits("GenuineIntel", "12th Gen Intel(R) Core(TM) i7-1260P", 12));
    }

    #[test]
    fn desktops_are_told_by_their_processor() {
        assert!(is_desktop("AMD Ryzen 7 5800X 8-Core Processor"));
        assert!(is_desktop("12th Gen Intel(R) Core(TM) i7-1260P"));
        assert!(!is_desktop("AMD Ryzen Threadripper PRO 5995WX"));
        assert!(!is_desktop("Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz"));
    }
}
