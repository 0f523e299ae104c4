// SPDX-License-Identifier: MIT OR Apache-2.0
//! Features of a NIC: ethtool's short words and the kernel's names.

/// Short words of `ethtool -K` (ethtool.c, `off_flag_def`) and the names of the kernel that each
/// stands for (net/ethtool/common.c, `netdev_features_strings`), the chief one first.
const FEATURES: [(&str, &[&str]); 8] = [
    ("gro", &["rx-gro"]),
    ("gso", &["tx-generic-segmentation"]),
    ("lro", &["rx-lro"]),
    ("ntuple", &["rx-ntuple-filter"]),
    ("rx", &["rx-checksum"]),
    ("rxhash", &["rx-hashing"]),
    ("sg", &["tx-scatter-gather", "tx-scatter-gather-fraglist"]),
    (
        "tso",
        &[
            "tx-tcp-segmentation",
            "tx-tcp-ecn-segmentation",
            "tx-tcp-mangleid-segmentation",
            "tx-tcp6-segmentation",
        ],
    ),
];

/// The kernel's names of what may be called by a short word: four for `tso`, the chief one first. Any
/// other word is taken for the kernel's own. `ethtool` switches all of them that the driver lets be
/// switched, and calls the word on while any of them is.
pub fn feature_names(word: &str) -> Vec<&str> {
    let known = FEATURES.iter().find(|(short, _)| *short == word);
    known.map_or_else(|| vec![word], |(_, names)| names.to_vec())
}

/// The chief one of [`feature_names`]: `rx-gro` for `gro`.
pub fn feature_name(word: &str) -> &str {
    feature_names(word).first().copied().unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_word_stands_for_the_kernels_names() {
        assert_eq!(["tso", "tx-tcp-segmentation"].map(feature_name), ["tx-tcp-segmentation"; 2]);
        assert_eq!(feature_name("hw-tc-offload"), "hw-tc-offload");
        assert!(feature_names("tso").contains(&"tx-tcp6-segmentation"));
        assert_eq!(feature_names("tx-tcp6-segmentation"), ["tx-tcp6-segmentation"]);
    }
}
