// SPDX-License-Identifier: MIT OR Apache-2.0
//! The index: an SQLite file with a row a run, which holds nothing that is not in the files.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OptionalExtension as _, Row, ToSql, params};

use crate::{Entry, Error};

/// The version of the tables; an index of another is made again.
const VERSION: i64 = 1;

/// How long to wait for another process that writes.
const PATIENCE: Duration = Duration::from_secs(10);

const TABLES: &str = "
    CREATE TABLE run (
        id TEXT PRIMARY KEY, started TEXT, engine TEXT, engine_version TEXT, note TEXT,
        workload_hash TEXT, environment_hash TEXT, host TEXT, kernel TEXT, target TEXT,
        outcome TEXT, why TEXT, seconds REAL, iops REAL, bytes_per_second REAL,
        p50_ns INTEGER, p99_ns INTEGER, doubts INTEGER
    ) WITHOUT ROWID;
    CREATE INDEX run_by_workload ON run (workload_hash, id);
    CREATE TABLE month (name TEXT PRIMARY KEY, changed_ns INTEGER) WITHOUT ROWID;
    CREATE TABLE unread (id TEXT PRIMARY KEY, what TEXT) WITHOUT ROWID;
";

const COLUMNS: &str = "id, started, engine, engine_version, note, workload_hash, environment_hash, \
                       host, kernel, target, outcome, why, seconds, iops, bytes_per_second, \
                       p50_ns, p99_ns, doubts";

/// Which runs a list is of. All conditions hold of each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Only the newest so many.
    pub newest: Option<u32>,
    /// Of workloads whose hash begins so.
    pub workload: Option<String>,
    /// Of this engine.
    pub engine: Option<String>,
    /// With this outcome: `measured`, `failed`, `cancelled`.
    pub outcome: Option<String>,
    /// Started at this time or later: the beginning of an RFC 3339 time.
    pub since: Option<String>,
}

/// The index.
#[derive(Debug)]
pub(crate) struct Index {
    path: PathBuf,
    connection: Connection,
}

impl Index {
    /// Opens the index, making it again where it is not whole; in memory where the folder cannot be
    /// written.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Index { path: path.to_owned(), source };
        let opened =
            if is_whole(path) { on_disk(path) } else { Err(rusqlite::Error::InvalidQuery) };
        let connection = match opened {
            Ok(connection) => connection,
            Err(_) => afresh(path).or_else(|_| in_memory()).map_err(failed)?,
        };
        Ok(Self { path: path.to_owned(), connection })
    }

    /// An empty index in place of one that is spoilt.
    pub(crate) fn afresh(path: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Index { path: path.to_owned(), source };
        let connection = afresh(path).or_else(|_| in_memory()).map_err(failed)?;
        Ok(Self { path: path.to_owned(), connection })
    }

    /// An empty index that no file is of.
    pub(crate) fn in_memory(path: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Index { path: path.to_owned(), source };
        Ok(Self { path: path.to_owned(), connection: in_memory().map_err(failed)? })
    }

    /// Whether nothing can be written to it.
    pub(crate) fn is_read_only(&self) -> bool {
        self.connection.is_readonly(rusqlite::MAIN_DB).unwrap_or(true)
    }

    fn failed(&self) -> impl Fn(rusqlite::Error) -> Error + use<> {
        let path = self.path.clone();
        move |source| Error::Index { path: path.clone(), source }
    }

    /// Does several things at once or not at all.
    pub(crate) fn at_once<T>(
        &mut self,
        act: impl FnOnce(&Rows<'_>) -> Result<T, rusqlite::Error>,
    ) -> Result<T, Error> {
        let failed = self.failed();
        let transaction = self
            .connection
            .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)
            .map_err(&failed)?;
        let result = act(&Rows { connection: &transaction }).map_err(&failed)?;
        transaction.commit().map_err(&failed)?;
        Ok(result)
    }

    /// When the names in each month's folder had last changed, where the index knew all then.
    pub(crate) fn months(&self) -> Result<Vec<(String, Option<i64>)>, Error> {
        let sql = "SELECT name, changed_ns FROM month ORDER BY name";
        self.all(sql, &[], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    /// Runs, the newest first.
    pub(crate) fn list(&self, wanted: &Wanted) -> Result<Vec<Entry>, Error> {
        let (condition, values) = condition(wanted);
        let limit = wanted.newest.map_or_else(String::new, |newest| format!(" LIMIT {newest}"));
        let sql = format!("SELECT {COLUMNS} FROM run{condition} ORDER BY id DESC{limit}");
        let values: Vec<&dyn ToSql> = values.iter().map(|value| value as &dyn ToSql).collect();
        self.all(&sql, &values, entry)
    }

    /// How many runs there are that a list without its limit would show.
    pub(crate) fn count(&self, wanted: &Wanted) -> Result<u64, Error> {
        let (condition, values) = condition(wanted);
        let values: Vec<&dyn ToSql> = values.iter().map(|value| value as &dyn ToSql).collect();
        let sql = format!("SELECT count(*) FROM run{condition}");
        let counted: Vec<i64> = self.all(&sql, &values, |row| row.get(0))?;
        Ok(counted.first().and_then(|count| u64::try_from(*count).ok()).unwrap_or(0))
    }

    /// The ids that begin so, at most `most`, in order.
    pub(crate) fn beginning(&self, prefix: &str, most: u32) -> Result<Vec<String>, Error> {
        let sql = "SELECT id FROM run WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3";
        let end = format!("{prefix}\u{7f}");
        self.all(sql, &[&prefix, &end, &most], |row| row.get(0))
    }

    /// The newest id.
    pub(crate) fn newest(&self) -> Result<Option<String>, Error> {
        let sql = "SELECT id FROM run ORDER BY id DESC LIMIT 1";
        let found = self.connection.query_row(sql, [], |row| row.get(0)).optional();
        found.map_err(self.failed())
    }

    /// The ids that a month's folder had, in order, those of unread files included.
    pub(crate) fn ids(&self, month: &str) -> Result<Vec<String>, Error> {
        let sql = "SELECT id FROM run UNION SELECT id FROM unread ORDER BY id";
        if month == "other" {
            let all: Vec<String> = self.all(sql, &[], |row| row.get(0))?;
            return Ok(all.into_iter().filter(|id| crate::files::month(id) == month).collect());
        }
        let sql = "SELECT id FROM run WHERE id >= ?1 AND id < ?2 \
                   UNION SELECT id FROM unread WHERE id >= ?1 AND id < ?2 ORDER BY id";
        self.all(sql, &[&month, &format!("{month}\u{7f}")], |row| row.get(0))
    }

    /// Files that are no record of a run: the id in their name, and why.
    pub(crate) fn unread(&self) -> Result<Vec<(String, String)>, Error> {
        let sql = "SELECT id, what FROM unread ORDER BY id";
        self.all(sql, &[], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    fn all<T>(
        &self,
        sql: &str,
        values: &[&dyn ToSql],
        read: fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, Error> {
        let rows = || -> rusqlite::Result<Vec<T>> {
            let mut statement = self.connection.prepare(sql)?;
            statement.query_map(values, read)?.collect()
        };
        rows().map_err(self.failed())
    }
}

/// What can be done within [`Index::at_once`].
pub(crate) struct Rows<'a> {
    connection: &'a Connection,
}

impl Rows<'_> {
    /// Adds a run, or puts it in place of what was known of it.
    pub(crate) fn put(&self, entry: &Entry) -> rusqlite::Result<()> {
        let sql = format!(
            "INSERT OR REPLACE INTO run ({COLUMNS}) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)"
        );
        // SQLite has no number above 2^63 - 1; such a latency is 292 years.
        let ns = |ns: Option<u64>| ns.and_then(|ns| i64::try_from(ns).ok());
        self.connection.prepare_cached(&sql)?.execute(params![
            entry.id,
            entry.started,
            entry.engine,
            entry.engine_version,
            entry.note,
            entry.workload_hash,
            entry.environment_hash,
            entry.host,
            entry.kernel,
            entry.target,
            entry.outcome,
            entry.why,
            entry.seconds,
            entry.iops,
            entry.bytes_per_second,
            ns(entry.p50_ns),
            ns(entry.p99_ns),
            i64::try_from(entry.doubts).unwrap_or(i64::MAX),
        ])?;
        self.connection.prepare_cached("DELETE FROM unread WHERE id = ?1")?.execute([&entry.id])?;
        Ok(())
    }

    /// Notes a file that is no record of a run.
    pub(crate) fn put_unread(&self, id: &str, what: &str) -> rusqlite::Result<()> {
        let sql = "INSERT OR REPLACE INTO unread (id, what) VALUES (?1, ?2)";
        self.connection.prepare_cached(sql)?.execute([id, what])?;
        Ok(())
    }

    /// Takes out what was known of an id.
    pub(crate) fn remove(&self, id: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached("DELETE FROM run WHERE id = ?1")?.execute([id])?;
        self.connection.prepare_cached("DELETE FROM unread WHERE id = ?1")?.execute([id])?;
        Ok(())
    }

    /// Takes out everything.
    pub(crate) fn clear(&self) -> rusqlite::Result<()> {
        self.connection.execute_batch("DELETE FROM run; DELETE FROM unread; DELETE FROM month;")
    }

    /// Notes when the names in a month's folder had last changed, or that it is to be looked at.
    pub(crate) fn set_month(&self, name: &str, changed_ns: Option<i64>) -> rusqlite::Result<()> {
        let sql = "INSERT OR REPLACE INTO month (name, changed_ns) VALUES (?1, ?2)";
        self.connection.prepare_cached(sql)?.execute(params![name, changed_ns])?;
        Ok(())
    }

    /// Forgets a month whose folder is gone.
    pub(crate) fn forget_month(&self, name: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached("DELETE FROM month WHERE name = ?1")?.execute([name])?;
        Ok(())
    }
}

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let ns = |ns: Option<i64>| ns.and_then(|ns| u64::try_from(ns).ok());
    Ok(Entry {
        id: row.get(0)?,
        started: row.get(1)?,
        engine: row.get(2)?,
        engine_version: row.get(3)?,
        note: row.get(4)?,
        workload_hash: row.get(5)?,
        environment_hash: row.get(6)?,
        host: row.get(7)?,
        kernel: row.get(8)?,
        target: row.get(9)?,
        outcome: row.get(10)?,
        why: row.get(11)?,
        seconds: row.get(12)?,
        iops: row.get(13)?,
        bytes_per_second: row.get(14)?,
        p50_ns: ns(row.get(15)?),
        p99_ns: ns(row.get(16)?),
        doubts: u64::try_from(row.get::<_, i64>(17)?).unwrap_or(0),
    })
}

/// The condition of a query, and its values in order.
fn condition(wanted: &Wanted) -> (String, Vec<String>) {
    let mut parts = Vec::new();
    let mut values = Vec::new();
    let mut add = |part: &str, value: &Option<String>| {
        values.extend(value.clone());
        if value.is_some() {
            parts.push(part.to_owned());
        }
    };
    add("workload_hash >= ?", &wanted.workload);
    add("workload_hash < ?", &wanted.workload.as_ref().map(|prefix| format!("{prefix}\u{7f}")));
    add("engine = ?", &wanted.engine);
    add("outcome = ?", &wanted.outcome);
    add("started >= ?", &wanted.since);
    let text = parts.join(" AND ");
    (if text.is_empty() { text } else { format!(" WHERE {text}") }, values)
}

/// Opens an index that is there; one of another version is an error, as is one in which a table is
/// missing.
fn on_disk(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(PATIENCE)?;
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    // A read-only file of whoever made the store can still be read.
    let tables = "SELECT count(*) FROM sqlite_schema WHERE name IN ('run', 'month', 'unread')";
    let count: i64 = connection.query_row(tables, [], |row| row.get(0))?;
    if version == VERSION && count == 3 {
        Ok(connection)
    } else {
        Err(rusqlite::Error::InvalidQuery)
    }
}

fn in_memory() -> rusqlite::Result<Connection> {
    let connection = Connection::open_in_memory()?;
    fill(&connection)?;
    Ok(connection)
}

fn fill(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(&format!("BEGIN; {TABLES} PRAGMA user_version = {VERSION}; COMMIT;"))
}

/// An empty index in place of what is there.
///
/// It is made under another name: another process may have the old one open, and SQLite's own file
/// of what is to be taken back must not meet the new one.
fn afresh(path: &Path) -> rusqlite::Result<Connection> {
    let fresh = path.with_extension(format!("new-{}", std::process::id()));
    let io = |error: std::io::Error| {
        let failure = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
        rusqlite::Error::SqliteFailure(failure, Some(error.to_string()))
    };
    let _ = fs::remove_file(&fresh);
    fill(&Connection::open(&fresh)?)?;
    let _ = fs::remove_file(path.with_extension("sqlite-journal"));
    fs::rename(&fresh, path).map_err(io)?;
    on_disk(path)
}

/// Whether a file is as long as its head says. A file that was cut off is otherwise noticed only
/// where a query comes to the part that is missing.
fn is_whole(path: &Path) -> bool {
    let mut head = [0_u8; 32];
    let Ok(length) = fs::metadata(path).map(|there| there.len()) else { return false };
    if File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_err() {
        return false;
    }
    // Bytes 16 and 17: the size of a page, 1 for 65536; 28 to 31: how many there are
    // (sqlite.org/fileformat2.html, section 1.3).
    let [.., high, low, _, _, _, _, _, _, _, _, _, _, a, b, c, d] = head;
    let page = match u16::from_be_bytes([high, low]) {
        1 => 65_536,
        size => u64::from(size),
    };
    let pages = u64::from(u32::from_be_bytes([a, b, c, d]));
    pages > 0 && page.checked_mul(pages) == Some(length)
}

/// Whether the index is to be made again: whatever SQLite says of it, unless it could not be written
/// for a reason that a new one would meet too.
pub(crate) fn is_spoilt(error: &Error) -> bool {
    let Error::Index { source, .. } = error else { return false };
    !matches!(
        source.sqlite_error_code(),
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::ReadOnly
                | ErrorCode::DiskFull
                | ErrorCode::PermissionDenied
                | ErrorCode::OutOfMemory
                | ErrorCode::OperationInterrupted
        )
    )
}
