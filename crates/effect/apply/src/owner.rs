// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who makes a change, for whoever looks into the journal later.

use journal::Owner;
use root::{Question, Root, text};

/// Of a process that no login started (`AUDIT_UID_UNSET`, include/uapi/linux/audit.h).
const NO_LOGIN: u32 = u32::MAX;

/// Who runs this process: root by most, so that who logged in counts, which su and sudo keep
/// (proc_pid_loginuid(5)). None where the kernel does not tell the user.
pub(crate) fn owner(root: &dyn Root) -> Option<Owner> {
    let user: u32 = root.ask(&Question::User).ok()?.trim().parse().ok()?;
    let login = text(root, "/proc/self/loginuid").ok().and_then(|id| id.parse().ok());
    let login = login.filter(|id| *id != NO_LOGIN);
    let name = text(root, "/etc/passwd").ok().and_then(|all| name(&all, login.unwrap_or(user)));
    Some(Owner { user, login, name })
}

/// The name of a user in passwd(5): `anna:x:1000:1000:Anna:/srv/anna:/bin/sh`. None for users that
/// a directory service knows.
fn name(passwd: &str, user: u32) -> Option<String> {
    let found = |line: &str| {
        let mut fields = line.split(':');
        let (name, id) = (fields.next()?, fields.nth(1)?);
        (id.parse() == Ok(user) && !name.is_empty()).then(|| name.to_owned())
    };
    passwd.lines().find_map(found)
}

#[cfg(test)]
mod tests {
    use root::MemoryRoot;

    use super::*;

    const PASSWD: &str =
        "root:x:0:0::/root:/bin/sh\n:x:7:7::/:\nodd\nanna:x:1000:1000::/:/bin/sh\n";

    #[test]
    fn who_logged_in_counts() {
        let told = |user: Option<&str>, login: &str| {
            let mut root = MemoryRoot::new();
            root.file("/etc/passwd", PASSWD).file("/proc/self/loginuid", login);
            if let Some(user) = user {
                root.answer(Question::User, Ok(user.to_owned()));
            }
            owner(&root).map(|Owner { user, login, name }| (user, login, name))
        };
        let named = |name: &str| Some(name.to_owned());
        assert_eq!(told(Some("0"), "1000"), Some((0, Some(1000), named("anna"))));
        assert_eq!(told(Some("0"), "4294967295"), Some((0, None, named("root"))));
        assert_eq!(told(Some("0"), "7"), Some((0, Some(7), None)));
        assert_eq!(told(Some("0"), "odd\n"), Some((0, None, named("root"))));
        assert_eq!(told(None, "1000"), None);
    }
}
