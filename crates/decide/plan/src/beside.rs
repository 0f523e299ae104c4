// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values that the changes of a plan are known to move, as they are: an undoing restores them too.

use setting::{Form, Place, Planned, counterpart};

use crate::draft::Work;

/// Of each limit that has another spelling, the other one: the kernel zeroes it.
pub(crate) fn of(work: &Work<'_>, changes: &[Planned]) -> Vec<Planned> {
    let file = |planned: &Planned| match &planned.place {
        Place::File { path } => Some(path.clone()),
        _ => None,
    };
    let written: Vec<String> = changes.iter().filter_map(file).collect();
    let other = |planned: &Planned| {
        let path = file(planned).and_then(|path| counterpart(&path))?;
        let settings = work.subject.catalogue.settings();
        let entry = settings.iter().find(|one| one.observe.file.as_deref() == Some(&path))?;
        let from = work.value(&entry.id, None)?;
        let is_moved = !written.contains(&path);
        is_moved.then(|| Planned {
            setting: entry.id.clone(),
            device: None,
            place: Place::File { path },
            form: Form::Number,
            from,
            to: "0".to_owned(),
            because: format!("{} moves it", planned.setting),
            cost: String::new(),
            drops_link: None,
        })
    };
    changes.iter().filter_map(other).collect()
}
