// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two threads for what does not depend on each other.
//!
//! A large machine is tens of thousands of small files, and nearly all of the time goes to opening
//! them. Two threads halve that. There are no more of them, so that a look at a server that works
//! takes little from it. The order of the answers never depends on the threads.

use std::sync::{Mutex, PoisonError};
use std::thread::{self, ScopedJoinHandle};

/// Fewer items are not worth a thread.
const WORTH: usize = 64;

/// Does both, the first on a thread of its own.
pub(crate) fn both<A: Send, B>(
    one: impl FnOnce() -> A + Send,
    other: impl FnOnce() -> B,
) -> (A, B) {
    thread::scope(|scope| {
        let handle = scope.spawn(one);
        let done = other();
        (join(handle), done)
    })
}

/// So many times the threads go for more: items differ in what they cost.
const BATCHES: usize = 64;

/// What `each` makes of every item, in the order of the items.
pub(crate) fn map<T: Send, R: Send>(items: Vec<T>, each: impl Fn(T) -> R + Sync) -> Vec<R> {
    if items.len() < WORTH {
        return items.into_iter().map(each).collect();
    }
    let batch = items.len().div_ceil(BATCHES);
    let waiting = Mutex::new(items.into_iter().enumerate());
    let next = || {
        let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.by_ref().take(batch).collect::<Vec<_>>()
    };
    let work = || {
        let mut done = Vec::new();
        loop {
            let items = next();
            if items.is_empty() {
                return done;
            }
            done.extend(items.into_iter().map(|(at, item)| (at, each(item))));
        }
    };
    let (mut all, others) = both(work, work);
    all.extend(others);
    all.sort_unstable_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, made)| made).collect()
}

/// A panic of the thread goes on in the caller's.
fn join<A>(handle: ScopedJoinHandle<'_, A>) -> A {
    handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_that_of_the_items() {
        for count in [0, 1, WORTH - 1, WORTH, 1001] {
            let items: Vec<usize> = (0..count).collect();
            let doubled: Vec<usize> = items.iter().map(|item| item * 2).collect();
            assert_eq!(map(items, |item| item * 2), doubled);
        }
    }

    #[test]
    fn a_panic_is_not_lost() {
        let items: Vec<u32> = (0..200).collect();
        let caught = std::panic::catch_unwind(|| map(items, |item| assert!(item < 150)));
        assert!(caught.is_err());
    }
}
