// SPDX-License-Identifier: MIT OR Apache-2.0
//! The catalogue that is compiled in, and a user's folder over it.

use nearside_catalogue::Catalogue;
use setting::{FACTS, Goal};

const SAMPLE: &str = r#"
id = "our-knob"
title = "A knob of our own"
owner = "os"
scope = "machine"
what = """
Two lines
of prose."""
trade-off = "None known."
reboot = "none"
observe.file = "/proc/sys/vm/our_knob"
observe.form = "number"
wanted.latency.at-most = 3

[[effect]]
text = "Steadier."
basis = "reasoned"
impact = "low"
source = "Our own tests"
"#;

fn with(name: &str, text: &str) -> Result<Catalogue, nearside_catalogue::Complaints> {
    Catalogue::with_folder([(name.to_owned(), text.to_owned())])
}

#[test]
fn every_entry_passes_the_lint() {
    let complaints: Vec<String> =
        Catalogue::built_in().lint().iter().map(ToString::to_string).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// A title is a noun phrase, of which a finding says "is": sentence case, no full stop, no question.
#[test]
fn titles_are_in_one_style() {
    for setting in Catalogue::built_in().settings() {
        let title = &setting.title;
        let first = title.split([' ', '-']).next().unwrap_or_default();
        let begins_well = title.starts_with(|letter: char| letter.is_uppercase())
            && !["Whether", "Who", "How", "When", "What"].contains(&first);
        assert!(begins_well && !title.ends_with('.'), "{}: {title}", setting.id);
        let wishes = [Goal::Throughput, Goal::Latency, Goal::Balanced];
        let is_told = wishes.iter().any(|goal| setting.due(*goal).is_some())
            && setting.observe.unseen.is_none();
        assert!(!is_told || !title.contains(": "), "{}: {title}", setting.id);
    }
}

#[test]
fn every_fact_has_an_entry_that_explains_it() {
    let catalogue = Catalogue::built_in();
    for (fact, _, _) in FACTS {
        let mut settings = catalogue.settings().iter();
        assert!(settings.any(|s| s.observe.fact.as_deref() == Some(fact)), "no entry for {fact}");
    }
}

#[test]
fn a_wish_says_what_it_brings_for_its_goal() {
    for setting in Catalogue::built_in().settings() {
        for goal in [Goal::Throughput, Goal::Latency, Goal::Balanced] {
            let speaks =
                setting.effect.iter().any(|e| e.goals.is_empty() || e.goals.contains(&goal));
            assert!(setting.due(goal).is_none() || speaks, "{}: {goal:?}", setting.id);
        }
    }
}

#[test]
fn balanced_hosts_keep_their_power_saving() {
    let catalogue = Catalogue::built_in();
    let wished = |id: &str| {
        let setting = catalogue.get(id).unwrap_or_else(|| panic!("no entry {id}"));
        setting.due(Goal::Balanced).is_some()
    };
    for kept in ["sub-numa-cluster", "madt-core-enumeration", "workload-configuration"] {
        assert!(wished(kept), "{kept} is part of the balanced goal");
    }
    for saving in [
        "c-states",
        "c1e",
        "pcie-aspm",
        "pci-aspm-l1",
        "cpufreq-governor",
        "energy-performance-preference",
        "energy-performance-bias",
        "nvme-apst",
        "sata-link-power",
        "runtime-pm",
        "system-profile",
        "virtualization-technology",
        "turbo-boost",
        "logical-processor",
    ] {
        assert!(!wished(saving), "{saving} takes power saving or guests from a balanced host");
    }
}

#[test]
fn vendors_names_are_on_their_settings() {
    let catalogue = Catalogue::built_in();
    let snc = catalogue.get("sub-numa-cluster").expect("a setting");
    let dell = snc.vendors.iter().find(|name| name.vendor == "dell-intel").expect("Dell's name");
    assert_eq!(dell.attribute, "SubNumaCluster");
    assert!(dell.values.contains(&("snc-2".to_owned(), "2-Way".to_owned())));
}

#[test]
fn a_users_entry_is_added() {
    let catalogue = with("our-knob.toml", SAMPLE).expect("a good entry");
    let setting = catalogue.get("our-knob").expect("it was added");
    assert_eq!(setting.what, "Two lines of prose.");
    assert_eq!(catalogue.group("our-knob"), "own");
    assert_eq!(catalogue.settings().len(), Catalogue::built_in().settings().len() + 1);
}

#[test]
fn a_users_entry_replaces_ours_and_keeps_the_vendors_names() {
    let text = SAMPLE.replace("our-knob", "c1e");
    let catalogue = with("cpu/c1e.toml", &text).expect("a good entry");
    let setting = catalogue.get("c1e").expect("it is there");
    assert_eq!(setting.title, "A knob of our own");
    assert!(!setting.vendors.is_empty());
    assert_eq!(catalogue.settings().len(), Catalogue::built_in().settings().len());
}

#[test]
fn a_second_folder_goes_over_the_first() {
    let first = with("our-knob.toml", SAMPLE).expect("a good entry");
    let names = first.get("c1e").map(|setting| setting.vendors.len());
    let text = SAMPLE.replace("A knob of our own", "Another");
    let both = first.with_entries([("x/our-knob.toml".to_owned(), text)]).expect("good too");
    assert_eq!(both.get("our-knob").map(|setting| setting.title.as_str()), Some("Another"));
    assert_eq!(both.get("c1e").map(|setting| setting.vendors.len()), names, "names stand once");
}

const OPTIONS: &str = r#"
source = "Our own tests"
[[option]]
name = "our_option"
means = "does something"
impact = "low"
[[option]]
name = "idle"
value = "poll"
means = "is what we want here"
impact = "note"
"#;

#[test]
fn a_users_options_are_added_and_replace_ours_of_the_same_value() {
    let ours = Catalogue::built_in();
    let catalogue = with("command-line/own.toml", OPTIONS).expect("a good list");
    assert_eq!(catalogue.kernel_options().len(), ours.kernel_options().len() + 1);
    let means = |name: &str, value| {
        let mut options = catalogue.kernel_options().iter();
        options.find(|option| option.is(name, value)).map(|option| option.means.as_str())
    };
    assert_eq!(means("our-option", None), Some("does something"));
    assert_eq!(means("idle", Some("poll")), Some("is what we want here"));
    let again = catalogue.clone().with_entries([]).expect("as before");
    assert_eq!(again.kernel_options(), catalogue.kernel_options());
}

#[test]
fn all_bad_files_are_named_at_once() {
    let files = [("a.toml", "id = "), ("b.toml", "nonsense"), ("our-knob.toml", SAMPLE)];
    let files = files.map(|(name, text)| (name.to_owned(), text.to_owned()));
    let complaints = Catalogue::with_folder(files).expect_err("two are bad");
    let names: Vec<&str> = complaints.0.iter().map(|complaint| complaint.file.as_str()).collect();
    assert_eq!(names, ["a.toml", "b.toml"]);
}

#[test]
fn near_names_are_offered() {
    let catalogue = Catalogue::built_in();
    assert_eq!(catalogue.nearest("irq-balance"), ["irqbalance"]);
    assert!(catalogue.nearest("aspm").contains(&"pcie-aspm"));
    assert!(catalogue.nearest("nothing-like-it-at-all").is_empty());
}

#[test]
fn the_examples_of_the_manual_are_good_entries() {
    let manual = include_str!("../../../../docs/catalogue.md");
    let blocks = manual.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let blocks: Vec<String> = blocks.map(str::to_owned).collect();
    let [entry, vendor, options] =
        blocks.try_into().expect("an entry, a vendor's names and a list of options");
    let files = [
        ("block-example.toml", entry),
        ("vendors/acme-intel.toml", vendor),
        ("command-line/own.toml", options),
    ];
    let catalogue = Catalogue::with_folder(files.map(|(name, text)| (name.to_owned(), text)));
    let catalogue = catalogue.unwrap_or_else(|complaints| panic!("{complaints}"));
    let snc = catalogue.get("sub-numa-cluster").expect("a setting");
    assert!(snc.vendors.iter().any(|name| name.attribute == "SncMode"));
}
