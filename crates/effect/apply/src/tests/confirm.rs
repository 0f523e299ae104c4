// SPDX-License-Identifier: MIT OR Apache-2.0
//! While a transaction waits for a person's word nothing else is changed.

use journal::Guard;

use super::*;
use crate::{ApplyError, confirm};

const PATH: &str = "/proc/sys/vm/swappiness";

fn swappiness(to: &str) -> Plan {
    plan(vec![file(PATH, Form::Number, to)])
}

fn waits(kernel: &Simulated, medium: &MemoryMedium) {
    let guard = Some(Guard { token: "a token".to_owned(), seconds: 60 });
    let options = Options { guard, ..options() };
    apply(kernel, &mut journal(medium), &swappiness("10"), &options).unwrap();
}

#[test]
fn a_second_apply_is_refused_until_the_first_is_confirmed_or_taken_back() {
    for is_confirmed in [true, false] {
        let (kernel, medium) = (kernel(), MemoryMedium::default());
        waits(&kernel, &medium);
        let other = plan(vec![file("/proc/sys/vm/stat_interval", Form::Number, "3")]);
        for second in [swappiness("20"), swappiness("10"), other] {
            let refused = apply(&kernel, &mut journal(&medium), &second, &options());
            assert!(matches!(refused, Err(ApplyError::Waits(1))), "{refused:?}");
        }
        assert_eq!(read(&kernel, PATH), "10");
        if is_confirmed {
            confirm(&kernel, &mut journal(&medium), None, 0).unwrap();
        } else {
            assert_eq!(take_back(&kernel, &medium)[0].undone, Undone::Restored);
        }
        apply(&kernel, &mut journal(&medium), &swappiness("20"), &options()).unwrap();
        assert_eq!(read(&kernel, PATH), "20");
        take_back(&kernel, &medium);
        assert_eq!(left(&kernel), [""; 0]);
    }
}

/// What guarded it is gone with its boot.
#[test]
fn what_waited_in_an_earlier_boot_keeps_nobody() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    waits(&kernel, &medium);
    let kernel = kernel.rebooted("second");
    apply(&kernel, &mut journal(&medium), &swappiness("20"), &options()).unwrap();
}
