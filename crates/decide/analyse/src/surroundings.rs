// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the surroundings of a run say against its numbers.

use record::{Doubt, DoubtKind, Environment};

/// Percent of all CPU time that a hypervisor may give to others before it is told. Below, it is within
/// what runs differ by anyway.
const STEAL_PERCENT: f64 = 1.0;

/// Doubts about a run that took place in an environment.
pub fn doubts(environment: &Environment) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    let mut doubt = |kind, text| doubts.push(Doubt { kind, target: None, text });
    for one in &environment.throttling {
        if let Some(events @ 1..) = one.events {
            let what = &one.what;
            doubt(DoubtKind::Throttled, format!("{what} were throttled {events} times meanwhile"));
        }
    }
    for link in environment.links.iter().filter(|link| link.kept == Some(false)) {
        let text = format!("the link of {} was another one after the run", link.function);
        doubt(DoubtKind::Throttled, text);
    }
    if let Some(steal) = environment.steal.filter(|steal| steal.percent > STEAL_PERCENT) {
        let (percent, seconds) = (steal.percent, steal.stolen_seconds);
        let text = format!(
            "the hypervisor gave {percent:.1} % of the CPU time to others, {seconds:.2} s in all"
        );
        doubt(DoubtKind::Stolen, text);
    }
    doubts
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{LinkState, Steal, Throttling};

    #[test]
    fn what_slowed_a_run_down_is_told_and_what_is_unknown_is_not() {
        let throttled = |events| Throttling { what: "cores".to_owned(), events };
        let link = |kept| LinkState {
            function: "0000:17:00.0".to_owned(),
            speed_gts: Some(16.0),
            width: Some(4),
            kept,
        };
        let steal = |percent| Some(Steal { stolen_seconds: 0.25, percent });
        let of = |throttling, links, steal| {
            let environment = Environment { throttling, links, steal, ..Environment::default() };
            doubts(&environment).into_iter().map(|doubt| doubt.kind).collect::<Vec<_>>()
        };
        assert_eq!(of(vec![throttled(Some(3))], vec![], None), [DoubtKind::Throttled]);
        assert_eq!(of(vec![], vec![link(Some(false))], None), [DoubtKind::Throttled]);
        assert_eq!(of(vec![], vec![], steal(1.5)), [DoubtKind::Stolen]);
        let quiet = vec![throttled(Some(0)), throttled(None)];
        assert_eq!(of(quiet, vec![link(None), link(Some(true))], steal(0.5)), []);
    }
}
