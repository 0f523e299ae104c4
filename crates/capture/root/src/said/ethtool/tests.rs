// SPDX-License-Identifier: MIT OR Apache-2.0
//! Texts of `ethtool`, by netlink and by ioctl, whole and spoilt.

use proptest::prelude::*;

use super::*;

/// ethtool 6.1, netlink.
const CHANNELS: &str = "Channel parameters for eth0:\nPre-set maximums:\nRX:\t\tn/a\nTX:\t\tn/a\n\
    Other:\t\t1\nCombined:\t63\nCurrent hardware settings:\nRX:\t\tn/a\nTX:\t\tn/a\nOther:\t\t1\n\
    Combined:\t8\n";

/// ethtool 4.8, ioctl: 0 where netlink says n/a.
const RINGS: &str = "Ring parameters for eth0:\nPre-set maximums:\nRX:\t\t4096\nRX Mini:\t0\n\
    RX Jumbo:\t0\nTX:\t\t4096\nCurrent hardware settings:\nRX:\t\t1024\nRX Mini:\t0\n\
    RX Jumbo:\t0\nTX:\t\t512\n\n";

const COALESCING: &str = "Coalesce parameters for eth0:\nAdaptive RX: on  TX: off\n\
    stats-block-usecs: 0\nrx-usecs: 8\nrx-frames: 128\nrx-usecs-irq: 0\n\ntx-usecs: n/a\n\
    tx-frames: n/a\n\nCQE mode RX: on  TX: off\n";

const PAUSE: &str = "Pause parameters for eth0:\nAutonegotiate:\ton\nRX:\t\ton\nTX:\t\toff\n\
    RX negotiated: off\nTX negotiated: on\n";

const DRIVER: &str = "driver: mlx5_core\nversion: 5.14.0-427.el9\n\
    firmware-version: 16.35.2000 (MT_0000000359)\nexpansion-rom-version: \n\
    bus-info: 0000:3b:00.0\nsupports-statistics: yes\n";

#[test]
fn kinds_that_a_driver_lacks_are_none() {
    let expected = Channels { other: Some((1, 1)), combined: Some((8, 63)), ..Channels::default() };
    assert_eq!(channels(CHANNELS), Ok(expected));
    let expected = Rings { rx: Some((1024, 4096)), tx: Some((512, 4096)), ..Rings::default() };
    assert_eq!(rings(RINGS), Ok(expected));
    // A text that lost its end has no numbers of now.
    let cut = RINGS.split("TX:\t\t512").next().unwrap();
    let expected = Rings { rx: Some((1024, 4096)), ..Rings::default() };
    assert_eq!(rings(cut), Ok(expected));
}

#[test]
fn coalescing_has_two_values_on_one_line() {
    let expected = Coalescing {
        adaptive_rx: Some(true),
        adaptive_tx: Some(false),
        rx_usecs: Some(8),
        rx_frames: Some(128),
        tx_usecs: None,
        tx_frames: None,
    };
    assert_eq!(coalescing(COALESCING), Ok(expected));
    let nothing = coalescing("Adaptive RX: n/a  TX: n/a\nrx-usecs: n/a\n");
    assert_eq!(nothing, Ok(Coalescing::default()));
}

#[test]
fn pause_and_driver_are_what_they_are_now() {
    assert_eq!(pause(PAUSE), Ok((true, false)));
    let expected = Driver {
        driver: "mlx5_core",
        version: "5.14.0-427.el9",
        firmware: "16.35.2000 (MT_0000000359)",
        bus: "0000:3b:00.0",
    };
    assert_eq!(driver(DRIVER), Ok(expected));
}

#[test]
fn answers_have_the_shape_of_the_live_kernels() {
    let said = |flag, text| answer(flag, text).unwrap().unwrap();
    assert_eq!(said("-a", PAUSE), "[true,false]");
    assert_eq!(said("-l", CHANNELS), r#"{"rx":null,"tx":null,"other":[1,1],"combined":[8,63]}"#);
    assert_eq!(
        said("-i", "driver: e1000e\nbus-info: 0000:00:02.0\n"),
        r#"{"driver":"e1000e","version":"","firmware":"","bus":"0000:00:02.0"}"#
    );
    assert_eq!(
        said("-k", "large-receive-offload: off [fixed]\n"),
        r#"[{"name":"rx-lro","active":false,"wanted":false,"fixed":true}]"#
    );
    assert_eq!(answer("-S", "NIC statistics:\n"), None);
    assert_eq!(answer("-l", " \n"), None);
}

#[test]
fn refusals_and_what_is_no_number_have_a_reason() {
    for flag in ["-l", "-g", "-c", "-a", "-k", "-i"] {
        let refused = |text| answer(flag, text).unwrap();
        assert_eq!(refused("netlink error: Operation not supported\n"), Err(Why::NotSupported));
        assert_eq!(refused("netlink error: Operation not permitted\n"), Err(Why::Denied));
        let shell = "bash: ethtool not found";
        assert_eq!(refused(shell), Err(Why::Unparsed(shell.to_owned())), "{flag}");
    }
    let unparsed = |text: &str| Why::Unparsed(text.to_owned());
    assert_eq!(channels(&CHANNELS.replace("63", "many")), Err(unparsed("many")));
    assert_eq!(rings(&RINGS.replace("1024", "-1")), Err(unparsed("-1")));
    assert_eq!(rings(&RINGS.replace("1024", "4294967296")), Err(unparsed("4294967296")));
    assert_eq!(coalescing("Adaptive RX: on\nrx-usecs: 1"), Err(unparsed("on")));
    assert_eq!(pause(&PAUSE.replace("RX:\t\ton", "RX: yes")), Err(unparsed("yes")));
    let turned = "Current hardware settings:\nRX: 1\nPre-set maximums:\nRX: 2\n";
    assert!(matches!(rings(turned), Err(Why::Unparsed(_))));
}

#[test]
fn a_text_says_which_interface_it_is_about() {
    assert_eq!(interface(CHANNELS), Some("eth0"));
    assert_eq!(interface("Features for a:b:\nrx-gro: on\n"), Some("a:b"));
    assert_eq!(interface(DRIVER), None);
    assert_eq!(interface("waiting for eth0:\n"), None);
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "\\PC*", mut at in 0_usize..400, flag in "-[lgckai]") {
        let _ = answer(&flag, &text);
        for whole in [CHANNELS, RINGS, COALESCING, PAUSE, DRIVER] {
            at = at.min(whole.len());
            let _ = answer(&flag, &format!("{}{text}{}", &whole[..at], &whole[at..]));
        }
    }

    /// Every pair of numbers comes back from the text that holds it.
    #[test]
    fn numbers_come_back(now in any::<u32>(), most in 1..=u32::MAX) {
        let text = format!("Pre-set maximums:\nTX:\t{most}\nCurrent hardware settings:\nTX:\t{now}\n");
        prop_assert_eq!(rings(&text).unwrap().tx, Some((now, most)));
        prop_assert_eq!(channels(&text).unwrap().tx, Some((now, most)));
    }
}
