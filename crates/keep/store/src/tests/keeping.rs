// SPDX-License-Identifier: MIT OR Apache-2.0
//! Adding, finding, listing, removing; an index that is lost, spoilt, or behind.

use std::fs;
use std::path::Path;

use super::{failed, measured, run};
use crate::{Added, Entry, Error, Store, Wanted};

fn all(store: &mut Store) -> Vec<Entry> {
    store.list(&Wanted::default()).unwrap()
}

fn ids(entries: &[Entry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.id.as_str()).collect()
}

#[test]
fn a_store_that_is_not_there_is_empty_and_stays_away() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("none");
    let mut store = Store::open(&folder).unwrap();
    assert!(all(&mut store).is_empty());
    assert!(matches!(store.find("last"), Err(Error::Absent(_))));
    assert!(!folder.exists());
}

#[test]
fn runs_are_kept_listed_found_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("deep/store");
    let mut store = Store::open(&folder).unwrap();
    let (one, two) = (run(1, measured()), run(2, failed()));
    assert_eq!(store.add_all(&[one.clone(), two.clone()]).unwrap(), [Added::New; 2]);
    assert_eq!(store.add(&one).unwrap(), Added::There);
    let other = record::Run { note: None, ..one.clone() };
    assert!(matches!(store.add(&other), Err(Error::Taken(id)) if id == one.id));

    let listed = all(&mut store);
    assert_eq!(ids(&listed), [&two.id, &one.id]);
    assert_eq!((listed[1].iops, listed[1].p50_ns), (Some(2.0), Some(20_096)));
    assert_eq!((listed[0].iops, listed[0].p50_ns, listed[0].seconds), (None, None, None));
    assert_eq!(listed[0].why.as_deref(), Some("3 reads failed, \"all\""));

    let found = store.find("20260301").unwrap();
    assert_eq!(store.read(&found).unwrap(), one);
    assert_eq!(store.find("last").unwrap(), two.id);
    assert_eq!(store.find(&one.id).unwrap(), one.id);
    assert!(matches!(store.find("202603"), Err(Error::Ambiguous(_, 2))));
    assert!(matches!(store.find("2027"), Err(Error::Absent(_))));

    store.remove(&one.id).unwrap();
    assert_eq!(ids(&all(&mut store)), [&two.id]);
    assert!(matches!(store.read(&one.id), Err(Error::Io { .. })));
}

#[test]
fn lists_are_of_what_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path()).unwrap();
    let mut runs = vec![run(1, measured()), run(2, failed()), run(3, measured())];
    runs[2].engine.name = "nearside".to_owned();
    store.add_all(&runs).unwrap();
    let some = |text: &str| Some(text.to_owned());
    let hash = runs[0].workload_hash.clone().unwrap();
    for (wanted, days) in [
        (Wanted { newest: Some(2), ..Wanted::default() }, vec![3, 2]),
        (Wanted { outcome: some("failed"), ..Wanted::default() }, vec![2]),
        (Wanted { engine: some("fio"), ..Wanted::default() }, vec![2, 1]),
        (Wanted { since: some("2026-03-02"), ..Wanted::default() }, vec![3, 2]),
        (Wanted { workload: some(&hash[..8]), ..Wanted::default() }, vec![3, 2, 1]),
        (Wanted { workload: some("zz"), ..Wanted::default() }, vec![]),
    ] {
        let listed = store.list(&wanted).unwrap();
        let wished: Vec<String> = days.iter().map(|day| run(*day, failed()).id).collect();
        assert_eq!(ids(&listed), wished, "{wanted:?}");
        let unlimited = Wanted { newest: None, ..wanted.clone() };
        assert_eq!(store.count(&unlimited).unwrap(), store.list(&unlimited).unwrap().len() as u64);
    }
}

#[test]
fn ids_stay_inside_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path()).unwrap();
    for id in ["", "../x", "a/b", ".hidden", "a\0b", "ü", &"x".repeat(101)] {
        let run = record::Run { id: id.to_owned(), ..run(1, measured()) };
        assert!(matches!(store.add(&run), Err(Error::Id(_))), "{id:?}");
        assert!(matches!(store.read(id), Err(Error::Absent(_))), "{id:?}");
        assert!(matches!(store.remove(id), Err(Error::Absent(_))), "{id:?}");
    }
}

/// A store of three runs and a file that is none, with the list it gives.
fn filled(folder: &Path) -> Vec<Entry> {
    let mut store = Store::open(folder).unwrap();
    store.add_all(&[run(1, measured()), run(2, failed()), run(3, measured())]).unwrap();
    fs::write(folder.join("runs/202603/20260309-x.json"), "{\"schema\": \"run/9\"").unwrap();
    all(&mut Store::open(folder).unwrap())
}

#[test]
fn an_index_made_again_is_equal() {
    let folder = tempfile::tempdir().unwrap();
    let before = filled(folder.path());
    assert_eq!(before.len(), 3);
    let mut store = Store::open(folder.path()).unwrap();
    let unread = store.unread().unwrap();
    assert_eq!(unread.len(), 1);
    store.rebuild().unwrap();
    assert_eq!((all(&mut store), store.unread().unwrap()), (before.clone(), unread.clone()));
    drop(store);
    fs::remove_file(folder.path().join("index.sqlite")).unwrap();
    let mut store = Store::open(folder.path()).unwrap();
    assert_eq!((all(&mut store), store.unread().unwrap()), (before, unread));
}

#[test]
fn an_index_cut_anywhere_or_overwritten_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let before = filled(folder.path());
    let index = folder.path().join("index.sqlite");
    let whole = fs::read(&index).unwrap();
    let cuts = (0..whole.len()).step_by(509).map(|length| whole[..length].to_vec());
    let holes = (0..whole.len()).step_by(1024).map(|start| {
        let mut bytes = whole.clone();
        bytes[start..].iter_mut().take(1024).for_each(|byte| *byte = 0xa5);
        bytes
    });
    let longer = [whole.clone(), vec![0; 4096]].concat();
    for bytes in cuts.chain([longer, b"no database".to_vec()]) {
        fs::write(&index, &bytes).unwrap();
        assert_eq!(all(&mut Store::open(folder.path()).unwrap()), before, "{}", bytes.len());
    }
    for bytes in holes {
        fs::write(&index, &bytes).unwrap();
        // What SQLite does not notice may show a text wrongly, and `rebuild` mends it.
        let mut store = Store::open(folder.path()).unwrap();
        let _ = store.list(&Wanted::default());
        store.rebuild().unwrap();
        assert_eq!(all(&mut store), before);
    }
}

#[test]
fn files_that_others_put_there_or_took_away_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let month = folder.path().join("runs/202603");
    fs::remove_file(month.join(format!("{}.json", run(1, measured()).id))).unwrap();
    fs::remove_file(month.join("20260309-x.json")).unwrap();
    let april = record::Run { id: "20260401-000000-1".to_owned(), ..run(4, measured()) };
    fs::create_dir(folder.path().join("runs/202604")).unwrap();
    let file = folder.path().join("runs/202604/20260401-000000-1.json");
    fs::write(file, serde_json::to_string(&april).unwrap()).unwrap();
    let mut store = Store::open(folder.path()).unwrap();
    let listed = all(&mut store);
    assert_eq!(ids(&listed), [&april.id, &run(3, measured()).id, &run(2, measured()).id]);
    assert!(store.unread().unwrap().is_empty());
    drop(store);
    fs::remove_dir_all(folder.path().join("runs")).unwrap();
    assert!(all(&mut Store::open(folder.path()).unwrap()).is_empty());
}

#[test]
fn what_is_no_record_is_named() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let month = folder.path().join("runs/202603");
    let renamed = month.join("20260310-120000-ff.json");
    fs::copy(month.join(format!("{}.json", run(1, measured()).id)), &renamed).unwrap();
    std::os::unix::fs::symlink("/dev/zero", month.join("20260311-120000-ff.json")).unwrap();
    let mut store = Store::open(folder.path()).unwrap();
    let unread: Vec<String> = store.unread().unwrap().into_iter().map(|file| file.what).collect();
    assert!(unread[0].contains("EOF while parsing"), "{unread:?}");
    assert!(unread[1].starts_with("the run in it is called \"20260301"), "{unread:?}");
    assert_eq!(unread[2], "it is no plain file");
}

#[test]
fn one_that_is_refused_keeps_no_other_out() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path()).unwrap();
    store.add(&run(1, measured())).unwrap();
    let edited = record::Run { note: None, ..run(1, measured()) };
    let mut wrong = run(3, measured());
    if let record::Outcome::Measured(measured) = &mut wrong.outcome {
        measured.directions[0].iops = 1e9;
    }
    let runs = [run(1, measured()), edited, run(2, failed()), wrong, run(4, measured())];
    let told: Vec<_> = runs.iter().map(|run| store.would_add(run).ok()).collect();
    let added: Vec<_> = store.add_each(&runs).into_iter().map(Result::ok).collect();
    let wanted = [Some(Added::There), None, Some(Added::New), None, Some(Added::New)];
    assert_eq!((added.as_slice(), told.as_slice()), (wanted.as_slice(), wanted.as_slice()));
    assert_eq!(all(&mut store).len(), 3);
    assert!(store.add_all(&[runs[1].clone(), run(5, failed())]).is_err());
    assert_eq!(all(&mut store).len(), 4);
}

#[test]
fn a_file_that_becomes_readable_is_listed() {
    let folder = tempfile::tempdir().unwrap();
    Store::open(folder.path()).unwrap().add(&run(1, measured())).unwrap();
    let path = folder.path().join("runs/202603");
    let month = fs::File::open(&path).unwrap();
    let text = serde_json::to_string(&run(2, failed())).unwrap();
    let file = path.join(format!("{}.json", run(2, failed()).id));
    fs::write(&file, text.replace("\"failed\"", "\"of-a-newer-kind\"")).unwrap();
    // Long ago, so that the index takes the folder for known.
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    month.set_modified(old).unwrap();
    let mut store = Store::open(folder.path()).unwrap();
    assert_eq!((all(&mut store).len(), store.unread().unwrap().len()), (1, 1));
    drop(store);
    fs::write(&file, text).unwrap();
    month.set_modified(old).unwrap();
    let mut store = Store::open(folder.path()).unwrap();
    assert_eq!((all(&mut store).len(), store.unread().unwrap().len()), (2, 0));
    assert_eq!(store.find(&run(2, failed()).id).unwrap(), run(2, failed()).id);
}
