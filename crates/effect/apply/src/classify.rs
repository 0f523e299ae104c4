// SPDX-License-Identifier: MIT OR Apache-2.0
//! What came of a write, by its error and by what was read back.

use journal::Raw;
use rustix::io::Errno;
use setting::{Form, Outcome};

use crate::errno;
use crate::spot::Spot;

/// A write that the kernel took: what came of it is what is there now.
pub(crate) fn taken(spot: &Spot, form: Form, to: &str, before: &Raw, came: &Raw) -> Outcome {
    if spot.is(form, to, came) {
        Outcome::Applied
    } else if spot.same(form, before, came) {
        Outcome::Dropped
    } else {
        Outcome::Rounded { came: spot.show(form, came) }
    }
}

/// A write that the kernel refused.
pub(crate) fn refused(spot: &Spot, error: Errno) -> Outcome {
    let errno = errno::name(error);
    match error {
        // EIO until Linux 6.12, EPERM since: the kernel places the interrupt by itself.
        Errno::IO | Errno::PERM if matches!(spot, Spot::Interrupt(_)) => Outcome::Managed,
        Errno::NOENT | Errno::NODEV | Errno::NXIO | Errno::OPNOTSUPP | Errno::NOSYS => {
            Outcome::Unsupported { errno }
        }
        Errno::BUSY | Errno::AGAIN | Errno::TXTBSY => Outcome::Busy { errno },
        Errno::ACCESS | Errno::PERM | Errno::ROFS => Outcome::Denied { errno },
        _ => Outcome::Refused { errno },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_number_means_different_things() {
        let file = Spot::File("/sys/x".to_owned());
        let interrupt = Spot::Interrupt("/proc/irq/9/smp_affinity_list".to_owned());
        let says = |spot: &Spot, errno| refused(spot, errno);
        assert_eq!(says(&interrupt, Errno::IO), Outcome::Managed);
        assert_eq!(says(&interrupt, Errno::PERM), Outcome::Managed);
        let errno = |name: &str| name.to_owned();
        assert_eq!(says(&file, Errno::IO), Outcome::Refused { errno: errno("EIO") });
        assert_eq!(says(&file, Errno::PERM), Outcome::Denied { errno: errno("EPERM") });
        assert_eq!(says(&file, Errno::BUSY), Outcome::Busy { errno: errno("EBUSY") });
        assert_eq!(says(&file, Errno::NODEV), Outcome::Unsupported { errno: errno("ENODEV") });
        assert_eq!(says(&interrupt, Errno::NOSPC), Outcome::Refused { errno: errno("ENOSPC") });
    }

    #[test]
    fn a_write_that_was_taken_is_not_yet_a_change() {
        let file = Spot::File("/sys/x".to_owned());
        let came = |came: &str| {
            taken(&file, Form::Number, "4095", &Raw::text("128\n"), &Raw::text(format!("{came}\n")))
        };
        assert_eq!(came("4095"), Outcome::Applied);
        assert_eq!(came("128"), Outcome::Dropped);
        assert_eq!(came("4092"), Outcome::Rounded { came: "4092".to_owned() });
    }
}
