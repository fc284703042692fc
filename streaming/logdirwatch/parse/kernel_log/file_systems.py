"""Kernel messages about file systems, file servers, and hung tasks: patterns by subsystem.

They are matched like those of :mod:`kernel_devices`.
"""

from logdirwatch.model.vocabulary import Cause, KernelTrouble
from logdirwatch.parse.kernel_log.devices import NAME
from logdirwatch.parse.os_errors import numbers_of

FILE_SYSTEM = KernelTrouble.FILE_SYSTEM_ERROR
RECORDED = KernelTrouble.RECORDED_ERROR
DEVICE = KernelTrouble.DEVICE_ERROR
READ_ONLY = KernelTrouble.REMOUNTED_READ_ONLY
SERVER = KernelTrouble.SERVER_NOT_RESPONDING
HUNG = KernelTrouble.HUNG
POOL = KernelTrouble.POOL_FULL
NO_SPACE = KernelTrouble.NO_SPACE
MEMORY = KernelTrouble.NO_MEMORY
MEDIUM = KernelTrouble.MEDIUM_ERROR
PATH = KernelTrouble.PATH_LOST
FAILED = KernelTrouble.COMMAND_FAILED
DEGRADED = KernelTrouble.ARRAY_DEGRADED
TIMED_OUT = KernelTrouble.TIMED_OUT

_EXT = rf"EXT[234]-fs \({NAME}\): "
# ENOSPC and EDQUOT: nothing is broken, a resource has run out.
_RAN_OUT = rf"(?:err(?:or|no)?[ =:]*-?{numbers_of(Cause.FULL)}\b|No space left|quota exceeded)"
# The number behind ext4's "I/O error" is not an error's but a status of the block layer.
_NO_MEMORY = rf"(?:(?<!I/O )err(?:or|no)?[ =:]*-?{numbers_of('ENOMEM')}\b|Out of memory|(?:allocate|enough) memory)"
_JOURNAL = r"(?P<device>dm-\d+|[\w!]+)"
_XFS = rf"XFS \({NAME}\): "
_BTRFS = r"BTRFS:? \w+ \(device (?P<device>[\w!-]+)"
_BTRFS_DEVICE = r"(?:/dev/)?(?:mapper/)?(?P<device>[\w!-]+)"
_SERVER = r"(?:server |\\\\)(?P<device>[^\s\\]+)"
_SHARE = r"\\\\(?P<device>[^\s\\]+)\S*"
_RPC = rf"(?:nfs4?|lockd|rpc\w*): {_SERVER}"

BENIGN = (
    r"XFS \([\w!-]+\): .*(?:Mounting|Ending|Starting recovery|Unmounting|Quotacheck|EXPERIMENTAL)",
    # What cannot be trimmed stays allocated in a device: no data is lost.
    r"XFS \([\w!-]+\): discard failed",
    r"EXT4-fs (?:warning|error) \(device [\w!-]+\): .*discard request .*failed",
    r"BTRFS:? \w+ \(device [\w!-]+\): failed to trim",
    r"BTRFS:? info \(device (?!.*forced readonly)",
)

# The number is the block layer's status (blk_status_t), before Linux 4.13 the error.
_END_IO = rf"EXT4-fs warning \(device {NAME}\): ext4_end_bio.*I/O error"

# What a file system says when a block device below it answers that it has no room, and when it has none itself.
SPACE = (
    (POOL, rf"{_END_IO} (?:3|-28) "),
    (POOL, rf"JBD2: Error -28 detected .*\bfor {_JOURNAL}"),
    (POOL, rf"{_XFS}(?=metadata I/O|log I/O).*{_RAN_OUT}"),
    (NO_SPACE, rf"{_EXT}.*{_RAN_OUT}"),
    (NO_SPACE, rf"EXT[234]-fs (?:error|warning) \(device {NAME}\).*(?:{_RAN_OUT}|index full, reach max htree level)"),
    (NO_SPACE, rf"{_XFS}(?:.*{_RAN_OUT}|Reserve blocks depleted)"),
    (NO_SPACE, rf"BTRFS:? (?!info)\w+ \(device {NAME}.*{_RAN_OUT}"),
    (NO_SPACE, r"BTRFS:? Transaction aborted \(error -" + numbers_of(Cause.FULL) + r"\)"),
)

# What it says when the kernel had no memory for it: nothing is damaged, though it may give up for that.
NO_MEMORY = (
    (MEMORY, rf"EXT[234]-fs (?:error |warning )?\((?:device )?{NAME}\).*{_NO_MEMORY}"),
    (MEMORY, rf"JBD2: {_NO_MEMORY} detected .*\bfor {_JOURNAL}"),
    (MEMORY, rf"{_XFS}.*{_NO_MEMORY}"),
    (MEMORY, rf"BTRFS:? (?!info)\w+ \(device {NAME}.*{_NO_MEMORY}"),
    (MEMORY, rf"BTRFS:? Transaction aborted \({_NO_MEMORY}\)"),
)

EXT = (
    (MEDIUM, rf"{_END_IO} (?:7|-61) "),
    (PATH, rf"{_END_IO} (?:4|6|-67|-52) "),
    (FAILED, rf"{_END_IO} (?:2|-110) "),
    (READ_ONLY, rf"{_EXT}Remounting filesystem read-only"),
    (FILE_SYSTEM, rf"EXT[234]-fs error \(device {NAME}\)"),
    (DEVICE, rf"EXT[234]-fs warning \(device {NAME}\): .*(?:I/O error|error -5\b)"),
    (DEVICE, rf"{_EXT}.*(?:unable to|can't) read superblock"),
    (FILE_SYSTEM, rf"{_EXT}(?:Delayed block allocation failed|This should not happen|.*data loss|.*I/O error)"),
    # ext4 repeats at each mount and once a day what it found at any time since the last fsck.
    (
        RECORDED,
        rf"{_EXT}(?:(?:initial|last) error at|error count since last fsck: [1-9]|warning: mounting fs with err)",
    ),
    (RECORDED, rf"EXT4-fs warning \(device {NAME}\): .*(?:errors in the filesystem|error recorded)"),
    (FILE_SYSTEM, rf"{_EXT}.*(?:corrupted|Checksum for group|bad geometry|orphan list check failed)"),
    (FILE_SYSTEM, rf"{_EXT}error loading journal"),
    (FILE_SYSTEM, rf"EXT4-fs warning \(device {NAME}\): .*Marking fs in need"),
    (FILE_SYSTEM, rf"{_EXT}shut down"),
    (DEVICE, rf"JBD2: Detected IO errors while flushing file data on {_JOURNAL}"),
    (FILE_SYSTEM, rf"JBD2: .*(?:I/?O error|Error -?\d+ detected) .*\b(?:on|for) {_JOURNAL}"),
    (FILE_SYSTEM, r"JBD2: Error while async write back metadata"),
    (FILE_SYSTEM, r"(?:JBD2: )?(?:.*journal.* I/O error|.*aborted journal|recovery failed|no valid journal)"),
    (FILE_SYSTEM, rf"Aborting journal on device {_JOURNAL}"),
    (READ_ONLY, r"Remounting filesystem read-only"),
)

XFS = (
    (
        FILE_SYSTEM,
        rf"{_XFS}.*(?:I/O error|internal error|CRC error|corrupt|shut(?:ting)? down|force_shutdown|xfs_repair)",
    ),
    (
        FILE_SYSTEM,
        rf"{_XFS}.*(?:error -\d+|un?mount the filesystem|xfs_repair|validate failed|writeback error|async write)",
    ),
    (FILE_SYSTEM, rf"{_XFS}(?:page discard|log mount (?:finish )?failed|failed to (?:locate log tail|recover))"),
    (FILE_SYSTEM, rf"{_XFS}(?:empty log check failed|xfs_log_force: error \d+ returned|User initiated shutdown)"),
    (FILE_SYSTEM, r"xfs_force_shutdown\((?P<device>[\w!-]+),"),
    (FILE_SYSTEM, r'Filesystem "(?P<device>[\w!-]+)": (?:XFS internal error|Corruption|.*shutting down)'),
)

BTRFS = (
    (READ_ONLY, rf"{_BTRFS}.*forced readonly"),
    (DEVICE, rf"BTRFS:? error \(device .*bdev {_BTRFS_DEVICE} errs:"),
    (DEVICE, rf"BTRFS:? \w+ \(device .*lost page write due to I/?O error on {_BTRFS_DEVICE}"),
    (FILE_SYSTEM, rf"BTRFS:? (?:error|critical|emergency|alert) \(device {NAME}"),
    (FILE_SYSTEM, rf"BTRFS:? warning \(device {NAME}.*(?:csum|checksum|aborted transaction|IO fail)"),
    (FILE_SYSTEM, r"BTRFS:? Transaction aborted"),
)

# What ZFS's event daemon logs (zed.d/all-syslog.sh): of a pool with other copies one member is gone, or all are.
_ZED = r"zed(?:\[\d+\])?: eid=\d+ class="
# Up to ZFS 0.7 a pool's name stood without quotes, and without what follows it.
_ZPOOL = r"pool='?(?P<device>(?<=')[^']+|[^\s']+)"
_ZED_STATE = rf"{_ZED}statechange .*\bvdev=(?P<device>[\w!-]+)\S* .*\bvdev_state="

OTHERS = (
    (DEGRADED, rf"{_ZED_STATE}(?:DEGRADED|FAULTED|REMOVED|UNAVAIL)\b"),
    (DEVICE, rf"{_ZED}io_failure {_ZPOOL}"),
    # What no copy of the pool holds intact any more (errors EIO and ECKSUM), what another copy replaced, and I/O that
    # has not come back for minutes.
    (MEDIUM, rf"{_ZED}data {_ZPOOL}(?!.*\berr=(?!5\b|52\b))"),
    (FAILED, rf"{_ZED}(?:io|checksum|probe_failure) .*\bvdev=(?P<device>[\w!-]+)"),
    (TIMED_OUT, rf"{_ZED}deadman {_ZPOOL}"),
    # GFS2 names the cluster and its own label, no device.
    (FILE_SYSTEM, r"gfs2: fsid=\S+: (?:fatal: |about to withdraw this file system|(?:File system )?withdrawn\b)"),
    (FILE_SYSTEM, rf"OCFS2: (?:ERROR|abort) \(device {NAME}\): "),
    (READ_ONLY, r"File system is now read-only due to the potential of on-disk corruption"),
    (FILE_SYSTEM, rf"F2FS-fs \({NAME}\): (?:Stopped filesystem due to reason: \d|.*(?:inconsistent|corrupt|checksum))"),
    (READ_ONLY, rf"F2FS-fs \({NAME}\): Remounting filesystem read-only"),
    (READ_ONLY, rf"bcachefs \({NAME}\): (?:.* - )?emergency read only"),
    (DEVICE, rf"{NAME}: writeback error on (?:inode|sector)"),
    (DEVICE, r"zio pool=\S+ vdev=(?:/dev/)?(?P<device>[\w!-]+)\S* error=(?:5|6|52)\b"),
    (DEVICE, r"(?:zfs: )?WARNING: Pool '(?P<device>[^']+)' has encountered an uncorrectable I/O failure"),
    # Nothing is left of a device that was detached.
    (DEVICE, rf"(?:.+: attempt to access beyond end of device )?{NAME}: rw=\d+, (?:want|sector)=\d+, .*limit=0\b"),
    (FILE_SYSTEM, rf"(?:.+: attempt to access beyond end of device )?{NAME}: rw=\d+, (?:want|sector)=\d+, .*limit=\d+"),
)

SERVERS = (
    (SERVER, rf"{_RPC} not responding"),
    (SERVER, r"NFS: .*(?:failed on NFSv4 )?server (?P<device>\S+) .*(?:error|not responding)"),
    (SERVER, rf"CIFS:? (?:VFS: )?.*{_SERVER} (?:has not responded|sends on sock \S+ stuck)"),
    (SERVER, rf"CIFS:? (?:VFS: )?(?:{_SHARE} )?Send error in SessSetup = -\d"),
    (SERVER, rf"CIFS:? (?:VFS: )?(?:{_SHARE} )?reconnect tcon failed rc = -\d"),
    (SERVER, r"NFS: (?:__)?nfs4_reclaim_open_state: Lock reclaim failed!"),
    (SERVER, r"NFSv?4: state recovery failed for open file "),
    (SERVER, r"LustreError: \S+ .*This client was evicted by "),
    (SERVER, r"(?:nfs: RPC call returned error|RPC: sendmsg returned (?:unrecognized )?error)"),
)

HANGS = (
    # A task repeats its allocation a hundred times, for two seconds, before each such line (Linux, xfs/kmem.c).
    (HUNG, r"XFS(?: \((?P<device>[\w!-]+)\))?: .+\(\d+\) possible memory allocation deadlock "),
    (HUNG, r"INFO: task jbd2/(?P<device>[\w!-]+?)-\d+:\d+ blocked "),
    (HUNG, r"INFO: task (?:xfs[\w-]*/(?P<volume>[\w!-]+)|(?P<array>md\d\w*)_\w+):\d+ blocked "),
    (HUNG, r"INFO: task kworker\S*flush-(?P<number>\d+:\d+)\S*:\d+ blocked "),
    (HUNG, r"INFO: task (?P<task>.+?):\d+ blocked (?:in I/O wait )?for more than"),
)

ENDS = (((SERVER,), rf"{_RPC} OK\b"), ((DEGRADED,), rf"{_ZED_STATE}ONLINE\b"))
