// SPDX-License-Identifier: MIT OR Apache-2.0
//! A root with answers beside it is the root that it was in everything else.

use machine::Why;

use super::*;
use crate::MemoryRoot;

#[test]
fn what_was_not_said_is_asked_of_the_copy() {
    let mut files = MemoryRoot::new();
    files
        .file("/sys/class/net/eth0/mtu", "1500\n")
        .symlink("/sys/link", "class/net")
        .answer(Question::User, Ok("0".to_owned()))
        .answer(Question::Pause("eth0".to_owned()), Ok("[true,true]".to_owned()));
    let said = [
        (Question::Pause("eth0".to_owned()), Ok("[false,false]".to_owned())),
        (Question::Rings("eth0".to_owned()), Err(Why::NotSupported)),
    ];
    let root = over(Box::new(files.clone()), said.into());
    assert_eq!(root.ask(&Question::Pause("eth0".to_owned())).unwrap(), "[false,false]");
    assert_eq!(root.ask(&Question::Rings("eth0".to_owned())), Err(Why::NotSupported));
    assert_eq!(root.ask(&Question::User).unwrap(), "0");
    assert_eq!(root.ask(&Question::Uname), Err(Why::Absent));
    for path in ["/sys/class/net/eth0/mtu", "/sys/link", "/sys/link/eth0/mtu", "/none"] {
        assert_eq!(root.read(path), files.read(path));
        assert_eq!(root.list(path), files.list(path));
        assert_eq!(root.link(path), files.link(path));
        assert_eq!(root.resolve(path), files.resolve(path));
        assert_eq!(root.mode(path), files.mode(path));
        let whole = |root: &dyn Root| root.stream(path).map(|stream| stream.lines().count());
        assert_eq!(whole(&*root), whole(&files));
    }
}
