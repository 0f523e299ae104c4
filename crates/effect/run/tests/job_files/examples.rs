// SPDX-License-Identifier: MIT OR Apache-2.0
//! Job files in the style of those that come with fio, with what is to become of each: a line that
//! sums its steps up, or the refusal.

/// What a job file comes to.
pub(crate) enum Becomes {
    /// A line a step, as `summary` in the parent writes it.
    Steps(&'static [&'static str]),
    /// The refusal, whole.
    Refused(&'static str),
}

use Becomes::{Refused, Steps};

/// (name, text, what it becomes).
pub(crate) const EXAMPLES: [(&str, &str, Becomes); 34] = [
    (
        "one-queue",
        "; the latency of one read at a time\n[lat]\nfilename=/dev/nvme0n1\nrw=randread\nbs=4k\n\
         direct=1\nioengine=io_uring\niodepth=1\nruntime=30\ntime_based\n",
        Steps(&["/dev/nvme0n1 | r100 uniform 4096 | t1 d1 | direct | 30s | (1 remark)"]),
    ),
    (
        "deep-random-read",
        "[global]\nioengine=libaio\ndirect=1\nthread=1\nnorandommap=1\ntime_based=1\nruntime=1m\n\
         group_reporting=1\n[jobs]\nfilename=/dev/nvme0n1\nbs=512\nrw=randread\niodepth=128\n\
         numjobs=16\n",
        Steps(&["/dev/nvme0n1 | r100 uniform 512 | t16 d128 | direct | 60s"]),
    ),
    (
        "every-job-every-drive",
        "[global]\ndirect=1\nioengine=io_uring\niodepth=32\nruntime=10s\ntime_based\n[all]\n\
         filename=/dev/nvme0n1:/dev/nvme1n1:/dev/nvme2n1\nrw=randread\nbs=4k\nnumjobs=8\n",
        Steps(&[
            "/dev/nvme0n1 /dev/nvme1n1 /dev/nvme2n1 (all) | r100 uniform 4096 | t8 d32 | direct | 10s | (1 remark)",
        ]),
    ),
    (
        "a-section-a-drive",
        "[global]\ndirect=1\nioengine=io_uring\niodepth=32\nrw=randread\nbs=4k\nruntime=10\n\
         time_based\nnumjobs=2\n[d0]\nfilename=/dev/nvme0n1\ncpus_allowed=0-1\n\
         cpus_allowed_policy=split\nnuma_mem_policy=bind:0\n[d1]\nfilename=/dev/nvme1n1\n\
         cpus_allowed=8-9\ncpus_allowed_policy=split\nnuma_mem_policy=bind:1\n",
        Steps(&[
            "/dev/nvme0n1@0-1/0 /dev/nvme1n1@8-9/1 | r100 uniform 4096 | t2 d32 | direct | 10s | (1 remark)",
        ]),
    ),
    (
        "sequential-read-then-write",
        "[global]\nfilename=/dev/sdb\nbs=1m\ndirect=1\nioengine=libaio\niodepth=8\nsize=10g\n\
         [read]\nrw=read\n[write]\nstonewall\nrw=write\n",
        Steps(&[
            "/dev/sdb | r100 sequential 1048576 | t1 d8 | direct | 10737418240B | [0+10737418240]",
            "/dev/sdb | w100 sequential 1048576 | t1 d8 | direct | 10737418240B | [0+10737418240]",
        ]),
    ),
    (
        "mixed-70-30",
        "[oltp]\nfilename=/dev/nvme0n1\nrw=randrw\nrwmixread=70\nbs=8k\niodepth=16\ndirect=1\n\
         ioengine=io_uring\nruntime=120\ntime_based=1\n",
        Steps(&["/dev/nvme0n1 | r70w30 uniform 8192 | t1 d16 | direct | 120s | (1 remark)"]),
    ),
    (
        "mixed-by-writes",
        "[x]\nfilename=/dev/nvme0n1\nreadwrite=randrw\nrwmixwrite=10\nblocksize=16k\niodepth=4\n\
         direct=1\nioengine=libaio\ntimeout=5\ntime_based\n",
        Steps(&["/dev/nvme0n1 | r90w10 uniform 16384 | t1 d4 | direct | 5s | (1 remark)"]),
    ),
    (
        "file-of-its-own",
        "[file]\nrw=randread\nsize=128m\ndirectory=/srv/test\n",
        Steps(&[
            "/srv/test/file.0.0+134217728 | r100 uniform 4096 | t1 d1 | buffered | 134217728B | \
             [0+134217728] | (1 remark)",
        ]),
    ),
    (
        "a-file-a-clone",
        "[w]\nrw=write\nsize=64m\ndirectory=/srv/test\nnumjobs=3\nbs=64k\nend_fsync=0\n",
        Steps(&[
            "/srv/test/w.0.0+67108864 /srv/test/w.1.0+67108864 /srv/test/w.2.0+67108864 | w100 \
             sequential 65536 | t1 d1 | buffered | 201326592B | [0+67108864]",
        ]),
    ),
    (
        "zipf",
        "[z]\nfilename=/dev/nvme0n1\nrw=randread\nrandom_distribution=zipf:1.2\nbs=4k\ndirect=1\n\
         ioengine=io_uring\niodepth=8\nruntime=10\ntime_based\n",
        Steps(&["/dev/nvme0n1 | r100 zipf1.2 4096 | t1 d8 | direct | 10s | (1 remark)"]),
    ),
    (
        "hot-spot",
        "[h]\nfilename=/dev/nvme0n1\nrw=randread\nrandom_distribution=zoned:90/10:10/90\ndirect=1\n\
         ioengine=io_uring\niodepth=8\nruntime=10\ntime_based\n",
        Steps(&["/dev/nvme0n1 | r100 hot90/10 4096 | t1 d8 | direct | 10s | (1 remark)"]),
    ),
    (
        "sizes-by-share",
        "[web]\nfilename=/dev/nvme0n1\nrw=randread\nbssplit=4k/40:8k/20:64k/40\ndirect=1\n\
         ioengine=io_uring\niodepth=8\nruntime=10\ntime_based\n",
        Steps(&[
            "/dev/nvme0n1 | r100 uniform 4096/40:8192/20:65536/40 | t1 d8 | direct | 10s | (1 remark)",
        ]),
    ),
    (
        "sizes-by-range",
        "[r]\nfilename=/dev/nvme0n1\nrw=randread\nbsrange=4k-64k\ndirect=1\nioengine=io_uring\n\
         iodepth=8\nruntime=10\ntime_based\n",
        Steps(&["/dev/nvme0n1 | r100 uniform 4096-65536 | t1 d8 | direct | 10s | (1 remark)"]),
    ),
    (
        "sizes-by-direction",
        "[d]\nfilename=/dev/nvme0n1\nrw=randrw\nbs=4k,64k\ndirect=1\nioengine=io_uring\niodepth=8\n\
         runtime=10\ntime_based\n",
        Steps(&["/dev/nvme0n1 | r50w50 uniform 4096,65536 | t1 d8 | direct | 10s | (1 remark)"]),
    ),
    (
        "paced",
        "[p]\nfilename=/dev/nvme0n1\nrw=randread\nrate_iops=500\nnumjobs=4\ndirect=1\n\
         ioengine=io_uring\niodepth=32\nruntime=10\ntime_based\n",
        Steps(&["/dev/nvme0n1 | r100 uniform 4096 | t4 d32 | direct | 10s | 2000/s | (1 remark)"]),
    ),
    (
        "poisson",
        "[p]\nfilename=/dev/nvme0n1\nrw=randread\nrate_iops=500\nrate_process=poisson\ndirect=1\n\
         ioengine=io_uring\niodepth=32\nruntime=10\ntime_based\nramp_time=2s\n",
        Steps(&[
            "/dev/nvme0n1 | r100 uniform 4096 | t1 d32 | direct | 2+10s | ~500/s | (1 remark)",
        ]),
    ),
    (
        "polled",
        "[poll]\nfilename=/dev/nvme0n1\nrw=randread\nioengine=io_uring\nhipri\nfixedbufs\n\
         registerfiles\nsqthread_poll=1\ndirect=1\niodepth=4\nruntime=10\ntime_based\n",
        Steps(&[
            "/dev/nvme0n1 | r100 uniform 4096 | t1 d4 | direct polled kernel-thread | 10s | (1 remark)",
        ]),
    ),
    (
        "passthrough",
        "[cmd]\nfilename=/dev/ng0n1\nrw=randread\nioengine=io_uring_cmd\ncmd_type=nvme\niodepth=64\n\
         runtime=10\ntime_based\n",
        Steps(&["/dev/ng0n1 | r100 uniform 4096 | t1 d64 | direct passthrough | 10s | (1 remark)"]),
    ),
    (
        "pieces",
        "[global]\nfilename=/dev/nvme0n1\nrw=read\nbs=128k\ndirect=1\nioengine=libaio\niodepth=4\n\
         [strips]\nsize=1g\noffset_increment=1g\nnumjobs=4\n",
        Steps(&["/dev/nvme0n1 | r100 sequential 131072 | t4 d4 | direct | 4294967296B | pieces \
             [0+4294967296]"]),
    ),
    (
        "part-of-a-drive",
        "[end]\nfilename=/dev/sdb\noffset=100g\nsize=50g\nio_size=2g\nrw=randread\nbs=64k\ndirect=1\n\
         ioengine=libaio\niodepth=2\n",
        Steps(&["/dev/sdb | r100 uniform 65536 | t1 d2 | direct | 2147483648B | \
             [107374182400+53687091200] | (1 remark)"]),
    ),
    (
        "trim",
        "[t]\nfilename=/dev/nvme0n1\nrw=randtrim\nbs=256k\nsize=8g\nioengine=libaio\ndirect=1\n\
         iodepth=4\n",
        Steps(&[
            "/dev/nvme0n1 | t100 uniform 262144 | t1 d4 | direct | 8589934592B | [0+8589934592] | (1 remark)",
        ]),
    ),
    (
        "verify",
        "[v]\nfilename=/dev/sdb\nrw=randwrite\nbs=4k\nsize=64m\nverify=crc32c\ndo_verify=1\n\
         ioengine=libaio\niodepth=16\ndirect=1\n",
        Steps(&[
            "/dev/sdb | w100 uniform 4096 | t1 d16 | direct | 67108864B | [0+67108864] | verified | (1 remark)",
        ]),
    ),
    (
        "one-at-a-time-whatever-the-depth",
        "[sync]\nfilename=/dev/sdb\nrw=randread\nioengine=psync\niodepth=32\nnumjobs=4\ndirect=1\n\
         runtime=10\ntime_based\n",
        Steps(&["/dev/sdb | r100 uniform 4096 | t4 d1 | direct | 10s | (2 remark)"]),
    ),
    (
        "batched",
        "[b]\nfilename=/dev/nvme0n1\nrw=randread\nioengine=io_uring\niodepth=32\n\
         iodepth_batch_complete_min=8\ndirect=1\nruntime=10\ntime_based\n",
        Steps(&["/dev/nvme0n1 | r100 uniform 4096 | t1 d32 | direct batch8 | 10s | (1 remark)"]),
    ),
    (
        "logs-and-percentiles",
        "[l]\nfilename=/dev/nvme0n1\nrw=randread\nioengine=libaio\niodepth=2\nbuffered=0\nruntime=10\n\
         write_bw_log=x\nwrite_lat_log=x\nlog_avg_msec=500\npercentile_list=50:99:99.9\n\
         lat_percentiles=1\nrefill_buffers\nrandrepeat=0\nrandseed=42\n",
        Steps(&["/dev/nvme0n1 | r100 uniform 4096 | t1 d2 | direct | 10s | seed 42 | (2 remark)"]),
    ),
    (
        "mmap",
        "[m]\nfilename=/srv/f\nsize=1g\nioengine=mmap\nrw=randread\n",
        Refused("line 4: ioengine of [m]: nearside's own engine does not stand in for \"mmap\""),
    ),
    (
        "network",
        "[n]\nioengine=net\nhostname=localhost\nport=8888\nrw=read\nsize=1g\n",
        Refused("line 2: ioengine of [n]: nearside's own engine does not stand in for \"net\""),
    ),
    (
        "steady-state",
        "[s]\nfilename=/dev/nvme0n1\nrw=randread\nruntime=60\nss=iops:5%\nss_dur=10\n",
        Refused("line 5: steadystate of [s]: nearside's own engine does not know it"),
    ),
    (
        "thinking",
        "[t]\nfilename=/dev/sdb\nrw=randread\nthinktime=1000\nruntime=10\ntime_based\n",
        Refused("line 4: thinktime of [t]: nearside's own engine knows 0 only"),
    ),
    (
        "latency-target",
        "[t]\nfilename=/dev/sdb\nrw=randread\nruntime=10\nlatency_target=10ms\nlatency_window=5s\n\
         latency_percentile=99.9\n",
        Refused("line 5: latency_target of [t]: nearside's own engine does not know it"),
    ),
    (
        "synced",
        "[log]\nfilename=/srv/log\nsize=1g\nrw=write\nbs=16k\nfdatasync=1\n",
        Refused("line 6: fdatasync of [log]: nearside's own engine knows 0 only"),
    ),
    (
        "two-loads-at-once",
        "[global]\nfilename=/dev/nvme0n1\nruntime=10\ntime_based\n[reader]\nrw=randread\n[writer]\n\
         rw=randwrite\n",
        Refused(
            "line 7: [writer]: it runs beside [reader] and asks for something else: one workload is \
             one load; add stonewall",
        ),
    ),
    (
        "rate-of-a-mix",
        "[m]\nfilename=/dev/sdb\nrw=randrw\nrate_iops=100\nruntime=10\ntime_based\n",
        Refused(
            "line 4: rate_iops of [m]: in a mix fio holds each direction to it; nearside's own \
             engine knows one rate",
        ),
    ),
    (
        "pareto",
        "[p]\nfilename=/dev/sdb\nrw=randread\nrandom_distribution=pareto:0.9\nruntime=10\n",
        Refused(
            "line 4: random_distribution of [p]: nearside's own engine does not know \"pareto:0.9\"",
        ),
    ),
];
