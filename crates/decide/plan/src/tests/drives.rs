// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interrupts of drives that carry no requests.

use super::moved::add_drive;
use super::*;

/// Where a plan puts the admin queue of a drive on node 1 that may be taken on `cpus` now.
fn admin_queue_goes(cpus: &str) -> Vec<String> {
    let mut machine = machine();
    add_drive(&mut machine, 0, 0x91);
    let function = machine.drives[0].controllers[0].function;
    let cpus = CpuSet::from_list(cpus).unwrap();
    machine.irqs.push(Irq {
        number: 40,
        actions: vec!["nvme0q0".to_owned()],
        chip: "PCI-MSI".to_owned(),
        source: Some(IrqSource {
            function,
            device: "nvme0".to_owned(),
            queue: None,
            is_io: false,
            by_msi: true,
        }),
        affinity: Ok(cpus.clone()),
        effective: Ok(cpus),
        hint: CpuSet::new(),
        managed: Managed::No,
        counts: Vec::new(),
    });
    let plan = planned(&machine, &[], &goal());
    let irqs = plan.changes.iter().filter(|one| matches!(one.place, Place::Interrupt { .. }));
    irqs.map(|one| one.to.clone()).collect()
}

#[test]
fn an_admin_queue_is_moved_only_where_it_cannot_be_taken_near() {
    assert_eq!(admin_queue_goes("0-39"), ["40-79"]);
    for near in ["0-79", "40-79", "39-40", "41"] {
        assert_eq!(admin_queue_goes(near), Vec::<String>::new(), "{near}");
    }
}
