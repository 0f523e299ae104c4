// SPDX-License-Identifier: MIT OR Apache-2.0
//! `nearside persist`: keeps a plan over boots, hot-plug and re-opened devices.

use apply::persist::{self, Wish};
use machine::{Difference, Machine};
use root::About;

use crate::args::{Common, Persist};
use crate::expected::{Ended, Expected};
use crate::terminal;
use crate::verbs::{change, plan};

pub(crate) fn run(common: &Common, asked: &Persist) -> Result<Ended, Expected> {
    if asked.remove {
        return remove(asked);
    }
    let kernel = change::kernel(common)?;
    // A wish that cannot be planned is not kept.
    let made = plan::make(common, &asked.wishes)?;
    let wish = Wish { words: words(), verify_every: asked.verify_every };
    if asked.dry_run {
        return terminal::answer(&persist::install_script(&wish)?).map(|()| Ended::Well);
    }
    change::demand_root("persist")?;
    if !persist::is_possible() {
        let help = "call `nearside apply …` from what starts services here";
        return Err(Expected::precondition("systemd does not run here, and a unit needs it", help));
    }
    let about = About {
        nearside: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: made.machine.host.kernel.unwrap_or_default(),
        time: change::now(),
        redacted: false,
    };
    persist::install(&kernel, &wish, &about).map_err(|error| cannot("keep it", &error))?;
    terminal::answer("Kept: the plan is made afresh and carried out at each boot.\n")?;
    terminal::hint("carry it out now:  systemctl start nearside.service");
    terminal::hint("look at it:        systemctl cat nearside.service");
    if wish.verify_every.is_some() {
        terminal::hint("whether it holds:  systemctl status nearside-verify.service");
    }
    terminal::hint("let it go:         nearside persist --remove");
    Ok(Ended::Well)
}

/// Takes away all that was put there; what is applied now stays until `nearside revert`.
fn remove(asked: &Persist) -> Result<Ended, Expected> {
    if asked.dry_run {
        return terminal::answer(&persist::remove_script()).map(|()| Ended::Well);
    }
    change::demand_root("persist --remove")?;
    let removed = persist::remove().map_err(|error| cannot("let it go", &error))?;
    let text = match removed.as_slice() {
        [] => "Nothing is kept over boots.\n".to_owned(),
        removed => format!("Removed {}; nothing is kept over boots.\n", removed.join(", ")),
    };
    terminal::answer(&text)?;
    terminal::hint("what is applied now stays until the next boot, or: nearside revert");
    Ok(Ended::Well)
}

/// Refuses where the machine is not the one that the kept plan was made for.
pub(crate) fn check_machine(now: &Machine) -> Result<(), Expected> {
    let moved = persist::moved(now).map_err(|error| {
        let what = format!("cannot read the machine that the plan was made for: {error}");
        Expected::precondition(what, "make it again: nearside persist …")
    })?;
    let Some((first, others)) = moved.split_first() else { return Ok(()) };
    let more =
        if others.is_empty() { String::new() } else { format!(", and {} more", others.len()) };
    let what = format!(
        "the machine is not the one that the plan was made for, and nothing was changed: {}{more}",
        difference(first)
    );
    Err(Expected::precondition(
        what,
        "look at `nearside plan`, then keep it again: nearside persist …",
    ))
}

fn difference(each: &Difference) -> String {
    let side = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
    let (then, now) = (side(&each.here), side(&each.there));
    format!("{} of {} was {then} and is {now}", each.property, each.device)
}

/// The words after `persist` that say what is wished: they become those of `apply`.
fn words() -> Vec<String> {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let wishes = words.skip_while(|word| word != "persist").skip(1);
    absolute(of_apply(wishes).into_iter())
}

/// Without what is for `persist` alone.
fn of_apply(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut is_period = false;
    let is_kept = |word: &String| {
        let was_period = std::mem::replace(&mut is_period, word == "--verify-every");
        !was_period && !is_period && word != "--dry-run" && !word.starts_with("--verify-every=")
    };
    words.filter(is_kept).collect()
}

/// A unit starts in `/`, so a profile's path must begin there.
fn absolute(words: impl Iterator<Item = String>) -> Vec<String> {
    let from_top = |path: &str| {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.into());
        path.display().to_string()
    };
    let mut is_path = false;
    let word = |word: String| {
        let is_profile = std::mem::replace(&mut is_path, word == "--profile");
        match word.strip_prefix("--profile=") {
            Some(path) => format!("--profile={}", from_top(path)),
            None if is_profile => from_top(&word),
            None => word,
        }
    };
    words.map(word).collect()
}

fn cannot(what: &str, error: &std::io::Error) -> Expected {
    Expected::precondition(
        format!("cannot {what}: {error}"),
        "look at the file system and at journalctl -b",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_for_persist_alone_is_no_word_of_apply() {
        let words =
            ["--verify-every", "5m", "--set", "a=1", "--verify-every=5m", "--dry-run", "5m"];
        assert_eq!(of_apply(words.map(str::to_owned).into_iter()), ["--set", "a=1", "5m"]);
    }

    #[test]
    fn a_profile_is_found_from_the_top() {
        let here = std::env::current_dir().unwrap().join("db.toml").display().to_string();
        let words = ["--profile", "db.toml", "--only", "db.toml", "--profile=db.toml"];
        let expected = ["--profile", &here, "--only", "db.toml", &format!("--profile={here}")];
        assert_eq!(absolute(words.map(str::to_owned).into_iter()), expected);
    }
}
