// SPDX-License-Identifier: MIT OR Apache-2.0
//! A large store: what a list costs beside SQLite's own counting, and what an import costs.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::Bench;
use super::cost::{Cost, Line, Rounds};

/// Runs in the large store.
const RUNS: u32 = 100_000;
/// Outputs of fio that are imported at once.
const IMPORTS: u32 = 2000;
/// Imports a second of CPU time, at least.
const A_SECOND: f64 = 1000.0;

impl Bench {
    /// Both.
    pub(super) fn runs(&mut self) -> Result<()> {
        self.large_store()?;
        self.imports()
    }

    /// `runs list` over 100,000 runs against `sqlite3` counting the rows of the same index: CPU.
    fn large_store(&mut self) -> Result<()> {
        let store = super::scratch().join("store");
        if !store.join("runs").is_dir() {
            fill(&store)?;
        }
        let folder = store.to_string_lossy();
        let list = Line::new(&self.nearside, &["runs", "list", "--store", &folder]);
        // The first list makes the index from the files.
        println!(
            "index of {RUNS} runs made from the files: {:.1} s of CPU",
            list.measure()?.cpu_s()
        );
        // A folder that changed within the last seconds is looked at once more.
        std::thread::sleep(std::time::Duration::from_secs(3));
        list.measure()?;
        let index = store.join("index.sqlite");
        let count = [index.to_string_lossy().into_owned(), "SELECT count(*) FROM run".to_owned()];
        let count: Vec<&str> = count.iter().map(String::as_str).collect();
        let title = format!("runs list over {RUNS} runs / sqlite3 counting them, CPU");
        let peer = Line::new("sqlite3".as_ref(), &count);
        if peer.measure().is_err() {
            println!("{title}: skipped, no sqlite3");
            return Ok(());
        }
        let rounds = Rounds::run(self.rounds, &[list], &peer)?;
        self.promise(&title, &rounds, Cost::cpu_s, 5.0);
        let all = Line::new(&self.nearside, &["runs", "list", "--all", "--store", &folder]);
        let rounds = Rounds::run(self.rounds.min(5), &[all], &peer)?;
        self.note("  the same with --all", &rounds, Cost::cpu_s);
        Ok(())
    }

    /// Imports of fio's outputs into an empty store, as many a second of CPU as there are.
    fn imports(&mut self) -> Result<()> {
        let folder = super::scratch().join("imports");
        let files = outputs(&folder)?;
        let mut rates = Vec::new();
        for _ in 0..self.rounds.clamp(1, 5) {
            let store = super::scratch().join("import-store");
            fs::remove_dir_all(&store).or_else(super::missing_is_fine)?;
            let store = store.to_string_lossy();
            let mut arguments = vec!["runs", "import", "--store", &store];
            arguments.extend(files.iter().map(String::as_str));
            let cost = Line::new(&self.nearside, &arguments).measure()?;
            rates.push(f64::from(IMPORTS) / cost.cpu_s());
        }
        rates.sort_by(f64::total_cmp);
        let median = rates.get(rates.len() / 2).copied().unwrap_or(0.0);
        println!(
            "imports of fio's JSON: {median:.0} a second of CPU (promise: at least {A_SECOND})"
        );
        if median < A_SECOND {
            self.broken.push(format!("imports: {median:.0} < {A_SECOND} a second of CPU"));
        }
        Ok(())
    }
}

/// Writes the files of runs, as the store lays them out; spread over some months.
fn fill(store: &Path) -> Result<()> {
    let part = store.with_extension("part");
    fs::remove_dir_all(&part).or_else(super::missing_is_fine)?;
    for number in 0..RUNS {
        let (month, day) = (1 + number % 12, 1 + number % 28);
        let (hour, minute) = (number % 24, number % 60);
        let id = format!("2026{month:02}{day:02}-{hour:02}{minute:02}00-{number:08x}");
        let folder = part.join("runs").join(id.get(..6).context("an id has a month")?);
        if number < 12 {
            fs::create_dir_all(&folder)?;
        }
        let iops = 100_000 + number;
        let text = format!(
            r#"{{"schema":"run/1","id":"{id}","started":"2026-{month:02}-{day:02}T{hour:02}:{minute:02}:00.000Z","note":"run {number}","workload":null,"workload_hash":null,"engine":{{"name":"fio","version":"3.33","way":"io_uring"}},"environment":{{"topology_hash":null,"host":"made up","firmware":null,"kernel":"6.1.0"}},"outcome":{{"class":"measured","seconds":1.0,"directions":[{{"kind":"read","operations":{iops},"bytes":{iops},"seconds":1.0,"iops":{iops}.0,"bytes_per_second":{iops}.0,"latency":{{"count":{iops},"min_ns":1000,"max_ns":9000,"mean_ns":3000.0,"percentiles":[{{"percent":50,"ns":2900}},{{"percent":99,"ns":8000}}]}}}}]}}}}"#
        );
        fs::write(folder.join(format!("{id}.json")), text)?;
    }
    fs::rename(&part, store).context("cannot name the store")
}

/// Outputs of fio, written on first use: the fields that fio 3.33 writes for one job that reads.
fn outputs(folder: &Path) -> Result<Vec<String>> {
    fs::create_dir_all(folder)?;
    let mut files: Vec<PathBuf> = Vec::new();
    for number in 0..IMPORTS {
        let file = folder.join(format!("{number}.json"));
        if !file.is_file() {
            fs::write(&file, output(number))?;
        }
        files.push(file);
    }
    Ok(files.iter().map(|file| file.to_string_lossy().into_owned()).collect())
}

fn output(number: u32) -> String {
    let idle = r#"{"io_bytes":0,"io_kbytes":0,"bw_bytes":0,"bw":0,"iops":0.0,"runtime":0,"total_ios":0,"short_ios":0,"drop_ios":0,"slat_ns":{"min":0,"max":0,"mean":0.0,"stddev":0.0,"N":0},"clat_ns":{"min":0,"max":0,"mean":0.0,"stddev":0.0,"N":0},"lat_ns":{"min":0,"max":0,"mean":0.0,"stddev":0.0,"N":0},"bw_min":0,"bw_max":0,"bw_agg":0.0,"bw_mean":0.0,"bw_dev":0.0,"bw_samples":0,"iops_min":0,"iops_max":0,"iops_mean":0.0,"iops_stddev":0.0,"iops_samples":0}"#;
    let operations = 300_000 + u64::from(number);
    let (bytes, iops) = (operations * 4096, operations / 30);
    let rate = bytes / 30;
    let percents = ["1", "5", "10", "20", "30", "40", "50", "60", "70", "80", "90", "95", "99"];
    let percentile =
        |(at, percent): (usize, &&str)| format!("\"{percent}.000000\":{}", 7776 + at * 64);
    let percentiles: Vec<String> = percents.iter().enumerate().map(percentile).collect();
    let latency = format!(
        r#"{{"min":7291,"max":28257525,"mean":68692.1,"stddev":1118996.8,"N":{operations},"percentile":{{{}}}}}"#,
        percentiles.join(",")
    );
    let read = format!(
        r#"{{"io_bytes":{bytes},"io_kbytes":{},"bw_bytes":{rate},"bw":{},"iops":{iops}.0,"runtime":30000,"total_ios":{operations},"short_ios":0,"drop_ios":0,"slat_ns":{{"min":1452,"max":28210536,"mean":1650.7,"stddev":469004.9,"N":{operations}}},"clat_ns":{latency},"lat_ns":{{"min":8783,"max":28260109,"mean":70342.8,"stddev":1213146.1,"N":{operations}}},"bw_min":170914,"bw_max":170914,"bw_agg":91.7,"bw_mean":170914.0,"bw_dev":0.0,"bw_samples":1,"iops_min":42728,"iops_max":42728,"iops_mean":42728.0,"iops_stddev":0.0,"iops_samples":1}}"#,
        bytes / 1024,
        rate / 1024,
    );
    let levels = r#"{"1":0.1,"2":0.1,"4":99.9,"8":0.0,"16":0.0,"32":0.0,">=64":0.0}"#;
    format!(
        r#"{{"fio version":"fio-3.33","timestamp":1796023433,"timestamp_ms":{},"time":"Mon Nov 30 07:23:53 2026","jobs":[{{"jobname":"x","groupid":0,"error":0,"eta":0,"elapsed":31,"job options":{{"name":"x","ioengine":"libaio","filename":"/dev/nvme0n1","rw":"randread","bs":"4k","iodepth":"4","direct":"1","runtime":"30"}},"read":{read},"write":{idle},"trim":{idle},"job_runtime":30000,"usr_cpu":3.7,"sys_cpu":10.4,"ctx":48,"majf":0,"minf":15,"iodepth_level":{levels},"iodepth_submit":{levels},"iodepth_complete":{levels},"latency_depth":4,"latency_target":0,"latency_percentile":100.0,"latency_window":0}}],"disk_util":[{{"name":"nvme0n1","read_ios":{operations},"write_ios":0,"read_merges":0,"write_merges":0,"read_ticks":1,"write_ticks":0,"in_queue":1,"util":99.0}}]}}"#,
        1_796_023_433_000_u64 + u64::from(number) * 60_000,
    )
}
