// SPDX-License-Identifier: MIT OR Apache-2.0
//! Features of a NIC: ethtool's short words and the kernel's names.

/// Short words of `ethtool -K` (ethtool.c, `off_flag_def`) and the names of the kernel
/// (net/ethtool/common.c, `netdev_features_strings`).
const FEATURES: [(&str, &str); 8] = [
    ("gro", "rx-gro"),
    ("gso", "tx-generic-segmentation"),
    ("lro", "rx-lro"),
    ("ntuple", "rx-ntuple-filter"),
    ("rx", "rx-checksum"),
    ("rxhash", "rx-hashing"),
    ("sg", "tx-scatter-gather"),
    ("tso", "tx-tcp-segmentation"),
];

/// The kernel's name of a feature that may be called by its short word: `rx-gro` for `gro`. Any other
/// word is taken for the kernel's.
pub fn feature_name(word: &str) -> &str {
    FEATURES.iter().find(|(short, _)| *short == word).map_or(word, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_word_and_the_kernels_name_are_one() {
        assert_eq!(["tso", "tx-tcp-segmentation"].map(feature_name), ["tx-tcp-segmentation"; 2]);
        assert_eq!(feature_name("hw-tc-offload"), "hw-tc-offload");
    }
}
