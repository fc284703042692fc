"""Kernel messages about disks, paths to them, and volumes built on them: patterns by subsystem.

Every pattern is matched against the beginning of a message, ignoring case. The device is in the group ``device`` or, if
several spellings are possible, in another one; :mod:`block_devices` knows the same names. The first matching pattern
counts.
"""

from logdirwatch.model.vocabulary import Cause, KernelTrouble
from logdirwatch.parse.os_errors import numbers_of

MEDIUM = KernelTrouble.MEDIUM_ERROR
DEVICE = KernelTrouble.DEVICE_ERROR
DEGRADED = KernelTrouble.ARRAY_DEGRADED
FAILED = KernelTrouble.COMMAND_FAILED
TIMED_OUT = KernelTrouble.TIMED_OUT
PATH = KernelTrouble.PATH_LOST
READ_ONLY = KernelTrouble.REMOUNTED_READ_ONLY
FILE_SYSTEM = KernelTrouble.FILE_SYSTEM_ERROR
POOL = KernelTrouble.POOL_FULL
POOL_LOW = KernelTrouble.POOL_LOW
NO_SPACE = KernelTrouble.NO_SPACE

NAME = r"(?P<device>[\w!-]+)"
_NUMBER = r"(?P<device>\d+:\d+)"
_PCI = r"(?P<device>[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f])"
_REQUEST = r"(?:(?:blk_update_request|print_req_error|end_request|blk_print_req_error): )?"
_UNUSED = r"(?:DISCARD|SECURE_ERASE|WRITE_ZEROES|ZONE_\w+)"
_SD = r"(?:sd|scsi) (?P<address>\d+:\d+:\d+:\d+):? (?:\[(?P<device>\w+)\] )?.*?"
_SENSE = rf"{_SD}Sense Key : "
_ADD_SENSE = rf"{_SD}Add\. Sense: "
_RESULT = rf"{_SD}Result: hostbyte="
_ATA = r"(?P<device>ata\d+(?:\.\d+)?): "
_NVME = r"nvme (?P<device>nvme\d+(?:c\d+)?(?:n\d+)?): "
_NVME_COMMAND = r"(?P<device>nvme\d+(?:c\d+)?n\d+): .*\(sct "
_MD = r"(?:md/)?(?:raid\d*|linear):?(?:md\w+)?: "
_MD_DEVICE = r"(?:md/)?raid\d*:?(?P<device>md\w+): "
_MDADM = r"mdadm\[?.*\b{event}(?: event)?(?: detected)? on (?:md device )?/dev/(?:md/)?"
_DM = r"device-mapper: "
# dmeventd, which logs as lvm where lvm2-monitor starts it.
_DMEVENTD = r"(?:dmeventd|lvm)\[?.*\b"
_THIN = r"Thin(?: pool| metadata)? (?P<pool>[\w.+-]+?)(?:-tpool)?"
_POOL = rf"{_DMEVENTD}(?:{_THIN}|VDO pool (?P<device>[\w.+-]+)) (?:\w+ )?is now "
_MULTIPATHD = r"multipathd?\[?.*?: (?P<device>[\w!:-]+): "
# A checker of multipathd names the map first, and then the path that it means.
_CHECKED = r"multipathd?\[?.*?: (?:[\w!:.-]+: )?(?P<device>[\w!:]+) - .*"
_SMARTD = r"smartd\[?.*Device: /dev/(?P<device>\w+)\b.*"
# The name of a volume that DRBD mirrors, behind that of its resource; a peer's name may follow (DRBD 8 and 9).
_DRBD = r"(?:block|drbd(?: [\w./-]+)?) (?P<device>drbd\d+)(?: [\w.-]+)?: "
# What the firmware of a controller reports, by its class.
_FIRMWARE = rf"megaraid_sas {_PCI}: \d+ \(\w+/0x\w+/"
# Where the line has no address of the controller: its driver stands for the disks of all its hosts.
_HBA = r"(?P<device>mpt[23]sas|mptsas|arcmsr|aacraid|3w-\w+)(?:_cm\d+|\d+)?(?: \S+)?: "
_IO_COMMAND = r"0x(?:[28a]?[8a]|35|91)\b"
_CEPH = r"(?:lib)?(?P<device>ceph): (?:\[[^\]]*\]: )?"
_QLA = r"qla2xxx \[(?P<device>[0-9a-f:.]+)\]-\w+:\d+: "

# No evidence, though a pattern below would fit: discards, unsupported commands, interrupts that were lost, drives
# without a disk in them, what was read from the other half of a mirror.
BENIGN = (
    r"nvme nvme\d+: .*timeout, completion polled",
    rf"{_REQUEST}[\w /]+ error, dev [\w!-]+, sector \d+ op 0x[0-9a-f]+:\({_UNUSED}",
    rf"{_REQUEST}(?:operation not supported|nonblocking retry|dm internal retry|kernel resource|device resource) error",
    rf"{_REQUEST}(?:(?:Buffer )?I/O|critical \w+) error,? (?:on )?dev(?:ice)? (?:fd|sr|scd|ram)\d",
    r"nvme\w+: (?:Dataset Management|Write Zeroes|Copy|Identify|Get Log Page|Get Features|Compare)\b",
    r"ata\d+(?:\.\d+)?: failed command: (?:DATA SET MANAGEMENT|SEND FPDMA|READ LOG|SMART|IDENTIFY|SET FEATURES|PACKET)",
    rf"{_SENSE}(?:Recovered Error|No Sense|Unit Attention|Illegal Request)",
    rf"{_RESULT}(?:DID_OK|0x00|DID_SOFT_ERROR|DID_REQUEUE|DID_IMM_RETRY)",
)

BLOCK = (
    (MEDIUM, rf"{_REQUEST}critical medium error, dev {NAME}"),
    (POOL, rf"{_REQUEST}critical space allocation error, dev {NAME}"),
    (PATH, rf"{_REQUEST}(?:recoverable transport|critical nexus|reservation conflict) error, dev {NAME}"),
    (FAILED, rf"{_REQUEST}(?:timeout|duration limit exceeded) error, dev {NAME}"),
    (DEVICE, rf"{_REQUEST}(?:I/O|critical target|protection|device offline) error, dev {NAME}"),
    (DEVICE, rf"Buffer I/O error on dev(?:ice)? {NAME}"),
    (DEVICE, rf"lost page write due to I/O error on {NAME}"),
    (DEVICE, rf"{NAME}: detected capacity change from [1-9]\d* to 0\b"),
    (DEVICE, r"(?P<device>mmcblk\d\w*): (?:error -\d+|timed out)"),
    (DEVICE, rf"bcache: .*?\(\) {NAME}: IO error"),
    (DEVICE, r"bcache: (?:\w+\(\) )?error on [0-9a-f-]{36}: .*disabling caching"),
    (PATH, r"rbd: (?P<device>rbd\d+): encountered watch error"),
    # This client is away from the cluster, or was blocklisted by it.
    (PATH, rf"rbd: (?P<device>rbd\d+): .*result -{numbers_of(Cause.REMOUNT)}\b"),
    (POOL, rf"rbd: (?P<device>rbd\d+): .*result -{numbers_of(Cause.FULL)}\b"),
    (DEVICE, r"rbd: (?P<device>rbd\d+): (?:read|write|result).*-\d+"),
    (TIMED_OUT, r"block (?P<device>nbd\d+): Possible stuck request"),
    (PATH, r"block (?P<device>nbd\d+): (?:Receive control failed|Connection timed out|shutting down|Dead conn)"),
    (DEVICE, rf"{_DRBD}(?:local (?:\w+ )?IO (?:failed|error)|IO ERROR: neither local nor remote)"),
    (DEVICE, rf"{_DRBD}.*\bdisk\( \w+ -> (?:Failed|Diskless|Detaching) \)"),
    (PATH, rf"{_DRBD}.*(?:quorum\( yes -> no \)|susp(?:-io)?\( \w+ -> (?!no\b)\w+)"),
    # The mirror has one half left, and writes go on.
    (DEGRADED, rf"{_DRBD}.*\bpdsk\( UpToDate -> (?:DUnknown|Failed|Diskless|Outdated|Inconsistent) \)"),
)

SCSI = (
    (MEDIUM, rf"{_SENSE}(?:0x3\b|Medium Error)"),
    (DEVICE, rf"{_SENSE}(?:0x4\b|Hardware Error)"),
    (PATH, rf"{_SENSE}(?:0x2\b|0xb\b|Not Ready|Aborted Command)"),
    (POOL, rf"{_ADD_SENSE}Space allocation failed write protect"),
    (POOL_LOW, rf"{_SD}.*thin provisioning soft threshold"),
    (MEDIUM, rf"{_ADD_SENSE}(?:Unrecovered read error|Write error|Record not found|ID CRC or ECC error|Read retries)"),
    (MEDIUM, rf"{_ADD_SENSE}(?:Medium format corrupted|Peripheral device write fault|Address mark not found)"),
    (DEVICE, rf"{_ADD_SENSE}(?:Internal target failure|Logical unit failure|Mechanical positioning|Write protected)"),
    (DEVICE, rf"{_ADD_SENSE}(?:Failure prediction threshold exceeded|Hardware|.*impending failure)"),
    (MEDIUM, rf"{_RESULT}DID_MEDIUM_ERROR"),
    (POOL, rf"{_RESULT}DID_ALLOC_FAILURE"),
    (PATH, rf"{_RESULT}(?:DID_NO_CONNECT|DID_BUS_BUSY|DID_TRANSPORT_|DID_NEXUS|0x0[12ef]\b)"),
    (FAILED, rf"{_RESULT}(?:DID_TIME_OUT|DID_ABORT|DID_RESET|0x0[358]\b)"),
    (DEVICE, rf"{_RESULT}(?:DID_BAD_TARGET|DID_ERROR|DID_TARGET_FAILURE|0x0[47]\b)"),
    (DEVICE, rf"{_SD}(?:rejecting I/O to (?:offline|dead) device|Device offlined)"),
    (FAILED, rf"{_SD}(?:timing out command|attempting (?:task )?abort|task abort: FAILED)"),
    (READ_ONLY, rf"{_SD}(?:Write Protect is on|Sense Key : (?:0x7\b|Data Protect))"),
    # Reads, writes and flushes only: tools that query the health of a virtual disk get errors.
    (FAILED, rf"hv_storvsc (?P<device>[0-9a-f-]{{36}}): tag#\d+ cmd {_IO_COMMAND} status: scsi 0x(?!0\b)\w+"),
    # A controller is the path to its disks, and says nothing about them.
    (PATH, rf"megaraid_sas {_PCI}: .*(?:FW in FAULT state|Adapter is dead|controller is not (?:responding|ready))"),
    # Of a drive in an array of the controller: the array's other drives still hold what is there.
    (FAILED, rf"megaraid_sas {_PCI}: .*\b(?:unrecoverable|uncorrectable) medium error"),
    (FAILED, rf"megaraid_sas {_PCI}: .*encountered a fatal error and was reset"),
    (PATH, rf"{_FIRMWARE}(?:(?:FATAL|DEAD)\) - |\w+\) - VD .* is now OFFLINE)"),
    (DEGRADED, rf"{_FIRMWARE}\w+\) - VD .* is now (?:PARTIALLY )?DEGRADED"),
    (FAILED, rf"{_FIRMWARE}CRIT\) - "),
    (FAILED, rf"{_FIRMWARE}\w+\) - (?=.*\bPD ).*(?:failed|predictive failure|removed)"),
    (PATH, rf"(?:hpsa|smartpqi) {_PCI}: .*(?:lockup|offline|C\d+:B\d+:T\d+:L\d+ .*(?:fail|not ready))"),
    (FAILED, rf"hpsa {_PCI}: .*CHECK CONDITION.*(?:0x0?3|0x0?4)\b"),
    (FAILED, rf"(?:hpsa|aacraid) {_PCI}: .*(?:resetting (?:logical|physical)|Host adapter (?:abort|reset) request)"),
    (PATH, rf"{_HBA}.*(?:non-operational|fault_state|removing handle|inoperable|adapter (?:is )?dead|panic|BLINK LED)"),
    (DEGRADED, rf"{_HBA}.*\bdegraded"),
    # What the tools of such a controller log, without its address; a drive is a member of an array there.
    (PATH, r"MR_MONITOR\[?.*(?:VD is now OFFLINE|\bVD\b.*Current = Offline)"),
    (DEGRADED, r"MR_MONITOR\[?.*(?:VD is now (?:PARTIALLY )?DEGRADED|\bVD\b.*Current = (?:Partially )?Degraded)"),
    (FAILED, r"MR_MONITOR\[?.*\bPD\b.*(?:Current = Failed|predictive failure|Unrecoverable medium error)"),
    (FAILED, rf"{_HBA}.*(?:\babort|\breset\b|SCSI hang|time ?out|get command error|\bfailed|AEN: ERROR)"),
    (MEDIUM, rf"{_SMARTD}\b[1-9]\d* (?:Currently unreadable|Offline uncorrectable)"),
    (DEVICE, rf"{_SMARTD}(?:FAILED SMART|SMART Failure: )"),
    # The bits of NVMe's critical warning; the spare blocks run out before the device fails.
    (DEVICE, rf"{_SMARTD}Critical Warning .*(?:Reliability|R/O|VolMem)"),
    (MEDIUM, rf"{_SMARTD}Critical Warning .*Available Spare"),
    (FAILED, rf"{_SMARTD}Critical Warning .*Temperature"),
)

ATA = (
    (MEDIUM, rf"{_ATA}error: \{{ (?:\w+ )*(?:UNC|IDNF|AMNF)\b"),
    (PATH, rf"{_ATA}error: \{{ (?:\w+ )*ICRC\b"),
    (FAILED, rf"{_ATA}(?:error: \{{ |failed command: |exception Emask |qc timeout|NCQ disabled)"),
    (FAILED, rf"{_ATA}(?:failed to IDENTIFY|revalidation failed|failed to set xfermode|limiting SATA link speed)"),
    (
        PATH,
        rf"{_ATA}(?:link is slow to respond|COMRESET failed|device not ready|S(?:RST|oftreset) failed|SATA link down)",
    ),
    (
        DEVICE,
        rf"{_ATA}(?:disabled\b|detaching \(SCSI|disable device|disabling|reset failed, giving up|EH pending after)",
    ),
)

NVME = (
    (MEDIUM, rf"{_NVME_COMMAND}0x2 / sc 0x8[0-47]\)"),
    (FAILED, rf"{_NVME_COMMAND}0x0 / sc 0x82\)"),
    # What the driver itself aborted, because no answer had come.
    (TIMED_OUT, rf"{_NVME_COMMAND}0x(?:0 / sc 0x[78]|3 / sc 0x71)\)"),
    (PATH, rf"{_NVME_COMMAND}0x3 / sc 0x\w+\)"),
    (POOL, rf"{_NVME_COMMAND}0x0 / sc 0x81\)"),
    (READ_ONLY, rf"{_NVME_COMMAND}0x0 / sc 0x20\)"),
    (DEVICE, rf"{_NVME_COMMAND}0x\w+ / sc 0x\w+\)"),
    (PATH, rf"{_NVME}(?:starting error recovery|reconnecting in|failed to connect|connect error|keep.alive timeout)"),
    (PATH, rf"{_NVME}(?:failed nvme_keep_alive|removing controller after|reconnect.* failed|failed reconnect)"),
    (PATH, rf"{_NVME}(?:ANATT timeout|.*connectivity lost|ctrl removed due to connection loss)"),
    (PATH, r"block (?P<device>nvme\w+): no (?:usable|available) path"),
    (DEVICE, rf"{_NVME}(?:Device not ready; aborting|Removing after probe failure|Disabling (?:device )?after reset)"),
    (DEVICE, rf"{_NVME}(?:Identify Controller failed|Could not set queue count|failed to mark controller)"),
    (DEVICE, rf"{_NVME}IO queues (?:lost|not created)"),
    (MEDIUM, rf"{_NVME}.*critical warning"),
    (DEVICE, rf"nvme {_PCI}: .*(?:Unable to|can't) change power state .*inaccessible"),
    # A volume of a cloud (EBS, Alibaba) is an NVMe drive too, and answers late when it or the way to it stalls. A drive
    # that does not come back has a line of its own, see DEVICE.
    (TIMED_OUT, rf"{_NVME}(?:(?:I/O|Admin Cmd|.*QID \d+).* timeout|queue \d+: timeout)"),
    (TIMED_OUT, rf"nvme {_PCI}: (?:I/O \d+ QID \d+ timeout|Timeout I/O \d+ QID)"),
    (FAILED, rf"{_NVME}(?:controller is down|frozen state error|resetting controller due to|Abort command failed)"),
    (FAILED, rf"nvme {_PCI}: (?:AER: )?PCIe Bus Error: severity=Uncorrect"),
    (FAILED, rf"pcieport \S+ (?:AER: )?Uncorrected \((?:Non-)?Fatal\) error (?:message )?received: {_PCI}"),
)

VOLUMES = (
    # Without redundancy (raid0, linear), or with too few members left, the array itself failed.
    (DEVICE, rf"{_MD}Disk failure on {NAME}.*failing array"),
    (DEVICE, rf"{_MD_DEVICE}(?:not enough operational|Cannot continue|failed to run|.*continuing on 0 devices)"),
    (DEGRADED, rf"{_MD}Disk failure on {NAME}"),
    (DEGRADED, rf"{_MD_DEVICE}Operation continuing on \d+ devices"),
    (DEGRADED, rf"{_MD}{NAME}: (?:Raid device exceeded read_error threshold|Failing raid device)"),
    (DEGRADED, rf"{_MD}Too many read errors, failing device {NAME}"),
    (DEGRADED, rf"{_MD_DEVICE}.*\bactive with (\d+) out of (?!\2\b)\d+"),
    (DEGRADED, rf"md: kicking (?:non-fresh|faulty) {NAME} from array"),
    (DEGRADED, rf"{_MDADM.format(event='Fail')}md.*, component device /dev/{NAME}"),
    (DEGRADED, rf"{_MDADM.format(event='DegradedArray')}{NAME}"),
    (DEGRADED, rf"{_DMEVENTD}Device #\d+ of \w+ array, (?P<device>[\w.+-]+), has failed"),
    (DEGRADED, rf"{_DMEVENTD}(?:Primary|Secondary) mirror device {_NUMBER} has failed"),
    (MEDIUM, rf"{_MD}{NAME}: unrecoverable I/O (?:read )?error"),
    (MEDIUM, rf"{_MD}(?:.*read error not correct(?:able|ed)[^(]*\(.* on |too many read errors on ){NAME}"),
    (DEVICE, r"md: super_written gets error"),
    (PATH, rf"{_DM}multipath: (?:\d+:\d+: )?Failing path {_NUMBER}"),
    (PATH, rf"{_DM}multipath: {_NUMBER}: .*(?:no (?:usable|valid) path|all paths failed)"),
    (PATH, rf"{_CHECKED}(?:path (?:is )?(?:down|offline)|.*checker timed out)"),
    (PATH, rf"{_MULTIPATHD}(?:mark as failed|.*path (?:is )?(?:down|offline))"),
    (PATH, r"multipathd?\[?.*checker failed path (?P<device>\d+:\d+) in map"),
    (PATH, rf"{_MULTIPATHD}(?:remaining active paths: 0|Entering recovery mode|Disable queueing)"),
    (POOL, rf"{_DM}thin: {_NUMBER}: (?:switching pool to out-of-data-space|no free (?:\w+ )?space available)"),
    (POOL_LOW, rf"{_DM}thin: {_NUMBER}: reached low water mark"),
    (POOL, rf"{_POOL}100(?:\.0+)?% full"),
    (POOL_LOW, rf"{_POOL}[\d.]+% full"),
    (POOL, rf"{_DM}thin: {_NUMBER}: metadata operation .* failed: error = -28"),
    (READ_ONLY, rf"{_DM}(?:thin|cache): {_NUMBER}: (?:switching \w+ to (?:read-only|fail)|unable to service pool)"),
    (FILE_SYSTEM, rf"{_DM}(?:thin|cache): {_NUMBER}: (?:.*failed: error = -|aborting current metadata)"),
    (POOL, rf"{_DM}space map (?:metadata|disk|common): unable to allocate"),
    (FILE_SYSTEM, rf"{_DM}(?:thin metadata|btree|block manager|array): .*(?:fail|invalid|corrupt)"),
    (MEDIUM, rf"{_DM}crypt: (?:{NAME}: )?INTEGRITY AEAD ERROR"),
    (MEDIUM, rf"{_DM}integrity: (?:{NAME}: )?(?:Integrity )?Checksum failed"),
    (DEVICE, rf"{_DM}integrity: (?:{NAME}: )?(?:Error on |failed)"),
    (MEDIUM, rf"{_DM}verity: {_NUMBER}: .*corrupted"),
    (POOL, rf"{_DM}snapshots?: Invalidating snapshot: Unable to allocate"),
    (DEVICE, rf"{_DM}snapshots?: Invalidating snapshot: Error"),
    (DEVICE, rf"{_DM}writecache: (?:{_NUMBER}: )?I/O error"),
    (DEVICE, rf"{_DM}raid\d?: .*(?:has failed|failed to read|mirror devices? (?:has|have) failed)"),
    (POOL, r"(?:device-mapper: vdo|kvdo)\S*.*(?:out of space|no space left)"),
    (READ_ONLY, r"(?:device-mapper: vdo|kvdo)\S*.*entering read-only mode"),
)

PATHS = (
    (PATH, r"(?:iscsi: )?(?P<device>connection\d+:\d+): (?:detected conn error|.*time(?:d )?out|.*not queued)"),
    (PATH, r"(?:iscsi: )?(?P<device>session\d+): .*(?:timed out|logged out)"),
    (PATH, r"iscsid\[?.*Kernel reported iSCSI connection (?P<connection>\d+):\d+ error"),
    (PATH, r"(?P<device>rport-\d+:\d+-\d+): blocked FC remote port time out"),
    (PATH, rf"lpfc {_PCI}: .*Link Down Event"),
    (PATH, rf"{_QLA}(?:LOOP DOWN|Cable is unplugged)"),
    (PATH, rf"{_CEPH}(?:osd|mon|mds)\d+ .*(?:socket (?:closed|error)(?!.*state OPEN)|session lost|hung)"),
    (NO_SPACE, rf"{_CEPH}.*(?:osd ?map full|full or reached)"),
)

# Messages which say that a trouble of the same device is over.
ENDS = (
    ((PATH,), rf"{_DM}multipath: (?:\d+:\d+: )?Reinstating path {_NUMBER}"),
    ((PATH,), rf"{_CHECKED}path is up"),
    ((PATH,), rf"{_MULTIPATHD}(?:reinstated|.*path is up|remaining active paths: [1-9]|Recovered to normal mode)"),
    ((PATH, TIMED_OUT, FAILED), rf"{_NVME}Successfully reconnected"),
    ((PATH,), r"iscsid\[?.*(?P<device>connection\d+:\d+) is operational"),
    ((PATH,), rf"lpfc {_PCI}: .*Link Up Event"),
    ((PATH,), rf"{_QLA}LOOP UP"),
    ((PATH,), rf"{_CEPH}mon\d+ .*session established"),
    ((PATH,), rf"{_ATA}SATA link up"),
    ((POOL_LOW,), rf"{_DM}thin: {_NUMBER}: growing the \w+ device"),
    ((DEVICE,), rf"{_DRBD}.*\bdisk\( \w+ -> UpToDate \)"),
    ((DEGRADED,), rf"{_DRBD}.*\bpdsk\( \w+ -> UpToDate \)"),
    ((PATH,), rf"{_DRBD}.*(?:quorum\( no -> yes \)|susp(?:-io)?\( \w+ -> no\b)"),
    ((PATH, FAILED, DEGRADED), rf"{_FIRMWARE}\w+\) - VD .* is now OPTIMAL"),
    ((DEGRADED,), r"md: (?P<device>md\w+): recovery done"),
    ((DEGRADED,), rf"{_DMEVENTD}\w+ array, (?P<device>[\w.+-]+), is now in-sync"),
    ((DEGRADED,), rf"{_MD_DEVICE}.*\bactive with (\d+) out of \2\b"),
    ((POOL, READ_ONLY), rf"{_DM}thin: {_NUMBER}: switching pool to write mode"),
)
