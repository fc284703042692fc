"""Lines as kernels of many ages and subsystems write them: which trouble of which device, or none at all."""

import pytest

from logdirwatch.collect.kernel_log import ERROR_CHARACTERS, kernel_error, kernel_news
from logdirwatch.model.vocabulary import KernelTrouble

TROUBLES = {
    "medium_error": [
        ("blk_update_request: critical medium error, dev sdq, sector 88120 op 0x0:(READ) flags 0x80700", "sdq"),
        ("critical medium error, dev sdq, sector 88120 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2", "sdq"),
        ("print_req_error: critical medium error, dev nvme4n1, sector 771", "nvme4n1"),
        ("end_request: critical medium error, dev sdq, sector 12", "sdq"),
        ("sd 5:0:3:0: [sdq] tag#11 Sense Key : Medium Error [current] ", "sdq"),
        ("sd 5:0:3:0: [sdq]  Sense Key : Medium Error [current] [descriptor]", "sdq"),
        ("sd 5:0:3:0: [sdq] tag#11 Sense Key : 0x3 [current] ", "sdq"),
        ("sd 5:0:3:0: [sdq] tag#11 Add. Sense: Unrecovered read error", "sdq"),
        ("sd 5:0:3:0: [sdq] Add. Sense: Unrecovered read error - auto reallocate failed", "sdq"),
        ("sd 5:0:3:0: [sdq] tag#2 Add. Sense: Write error - auto reallocation failed", "sdq"),
        ("sd 5:0:3:0: [sdq] tag#2 FAILED Result: hostbyte=DID_MEDIUM_ERROR driverbyte=DRIVER_OK cmd_age=6s", "sdq"),
        ("ata7.00: error: { UNC }", "ata7.00"),
        ("ata7.00: error: { UNC IDNF ABRT }", "ata7.00"),
        ("ata7.00: error: { IDNF }", "ata7.00"),
        ("nvme4n1: Read(0x2) @ LBA 90112, 256 blocks, Unrecovered Read Error (sct 0x2 / sc 0x81) DNR ", "nvme4n1"),
        ("nvme4n1: Write(0x1) @ LBA 512, 8 blocks, Write Fault (sct 0x2 / sc 0x80) ", "nvme4n1"),
        ("nvme4c2n1: I/O Cmd(0x2) @ LBA 512, 8 blocks, I/O Error (sct 0x2 / sc 0x82) MORE", "nvme4c2n1"),
        ("md/raid1:md9: sdq2: unrecoverable I/O read error for block 903552", "sdq2"),
        ("md/raid5:md9: read error not correctable (sector 7048 on sdq2).", "sdq2"),
        ("md/raid:md9: read error NOT corrected!! (sector 7048 on sdq2).", "sdq2"),
        ("md/raid10:md9: too many read errors on sdq2.", "sdq2"),
        ("device-mapper: crypt: dm-11: INTEGRITY AEAD ERROR, sector 40123", "dm-11"),
        ("device-mapper: crypt: INTEGRITY AEAD ERROR, sector 40123", None),
        ("device-mapper: integrity: dm-11: Checksum failed at sector 0x9a210", "dm-11"),
        ("device-mapper: verity: 253:11: data block 4711 is corrupted", "253:11"),
        ("smartd[901]: Device: /dev/sdq [SAT], 16 Currently unreadable (pending) sectors", "sdq"),
        ("smartd[901]: Device: /dev/sdq [SAT], 3 Offline uncorrectable sectors", "sdq"),
    ],
    "device_error": [
        (
            "blk_update_request: I/O error, dev sdq, sector 2048 op 0x1:(WRITE) flags 0x800 phys_seg 4 prio class 0",
            "sdq",
        ),
        ("I/O error, dev vdd, sector 1048576 op 0x1:(WRITE) flags 0x9800 phys_seg 1 prio class 2", "vdd"),
        ("end_request: I/O error, dev xvdh, sector 16", "xvdh"),
        ("print_req_error: I/O error, dev nvme4n1, sector 55 flags 4001", "nvme4n1"),
        ("critical target error, dev sdq, sector 9 op 0x1:(WRITE) flags 0x0 phys_seg 1 prio class 2", "sdq"),
        ("protection error, dev sdq, sector 9 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2", "sdq"),
        ("device offline error, dev sdq, sector 9 op 0x1:(WRITE) flags 0x0 phys_seg 1 prio class 2", "sdq"),
        ("I/O error, dev cciss!c0d1, sector 40", "cciss!c0d1"),
        ("Buffer I/O error on dev sdq2, logical block 61, lost async page write", "sdq2"),
        ("Buffer I/O error on device dm-11, logical block 8", "dm-11"),
        ("lost page write due to I/O error on sdq2", "sdq2"),
        ("nvme4n1: detected capacity change from 1953525168 to 0", "nvme4n1"),
        ("mmcblk0: error -110 transferring data, sector 77, nr 8, cmd response 0x900, card status 0xc00", "mmcblk0"),
        ("sd 5:0:3:0: [sdq] tag#1 Sense Key : Hardware Error [current] ", "sdq"),
        ("sd 5:0:3:0: [sdq] tag#1 Add. Sense: Internal target failure", "sdq"),
        ("sd 5:0:3:0: [sdq] Add. Sense: Failure prediction threshold exceeded", "sdq"),
        ("sd 5:0:3:0: rejecting I/O to offline device", "5:0:3:0"),
        ("scsi 5:0:3:0: rejecting I/O to dead device", "5:0:3:0"),
        ("sd 5:0:3:0: [sdq] tag#31 Device offlined - not ready after error recovery", "sdq"),
        ("sd 5:0:3:0: Device offlined - not ready after error recovery", "5:0:3:0"),
        ("sd 5:0:3:0: [sdq] tag#4 FAILED Result: hostbyte=DID_BAD_TARGET driverbyte=DRIVER_OK cmd_age=0s", "sdq"),
        ("sd 5:0:3:0: [sdq] FAILED Result: hostbyte=DID_ERROR driverbyte=DRIVER_OK", "sdq"),
        ("megaraid_sas 0000:3b:00.0: Found FW in FAULT state, will reset adapter scsi5.", "0000:3b:00.0"),
        ("hpsa 0000:05:00.0: controller lockup detected: 0x00130000 after 30", "0000:05:00.0"),
        ("ata7.00: disabled", "ata7.00"),
        ("ata7.00: disable device", "ata7.00"),
        ("ata7: reset failed, giving up", "ata7"),
        ("nvme4n1: Write(0x1) @ LBA 8, 8 blocks, Internal Error (sct 0x0 / sc 0x6) ", "nvme4n1"),
        ("nvme nvme4: Device not ready; aborting initialisation, CSTS=0x0", "nvme4"),
        ("nvme nvme4: Removing after probe failure status: -19", "nvme4"),
        ("nvme nvme4: Disabling device after reset failure: -19", "nvme4"),
        ("nvme nvme4: Identify Controller failed (16641)", "nvme4"),
        ("nvme 0000:81:00.0: Unable to change power state from D3cold to D0, device inaccessible", "0000:81:00.0"),
        ("md/raid10:md9: Disk failure on nvme4n1p1, disabling device.", "nvme4n1p1"),
        ("raid1: Disk failure on sdq2, disabling device.", "sdq2"),
        ("md/raid:md9: Disk failure on sdq2, disabling device.", "sdq2"),
        ("md/raid5:md9: not enough operational devices (2/5 failed)", "md9"),
        ("md/raid1:md9: active with 1 out of 2 mirrors", "md9"),
        ("md: kicking non-fresh sdq2 from array!", "sdq2"),
        ("md: super_written gets error=-5", None),
        ("device-mapper: integrity: dm-11: Error on writing journal: -5", "dm-11"),
        (
            "EXT4-fs warning (device dm-11): ext4_end_bio:349: I/O error 10 writing to inode 77)",
            "dm-11",
        ),
        ("EXT4-fs (sdq2): unable to read superblock", "sdq2"),
        ("JBD2: Detected IO errors while flushing file data on dm-11-8", "dm-11"),
        ("JBD2: Detected IO errors while flushing file data on sdq2-8", "sdq2"),
        ("BTRFS error (device sdq2): bdev /dev/sdr errs: wr 14, rd 0, flush 0, corrupt 0, gen 0", "sdr"),
        ("BTRFS warning (device sdq2): lost page write due to IO error on /dev/sdr (-5)", "sdr"),
        ("rbd: rbd3: write at objno 11 1048576~4096 result -5", "rbd3"),
        ("drbd res0/0 drbd7: disk( UpToDate -> Failed )", "drbd7"),
        ("WARNING: Pool 'tank' has encountered an uncorrectable I/O failure and has been suspended.", "tank"),
        ("smartd[901]: Device: /dev/sdq [SAT], FAILED SMART self-check. BACK UP DATA NOW!", "sdq"),
    ],
    "command_failed": [
        ("nvme nvme4: I/O 331 QID 9 timeout, aborting", "nvme4"),
        ("nvme nvme4: I/O 331 (I/O Cmd) QID 9 timeout, aborting", "nvme4"),
        ("nvme nvme4: I/O 331 QID 9 timeout, reset controller", "nvme4"),
        ("nvme nvme4: I/O 12 QID 0 timeout, disable controller", "nvme4"),
        ("nvme nvme4: I/O tag 331 (714b) opcode 0x2 (I/O Cmd) QID 9 timeout, reset controller", "nvme4"),
        ("nvme nvme4: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10", "nvme4"),
        ("nvme4n1: I/O Cmd(0x2) @ LBA 1336320, 32 blocks, I/O Error (sct 0x3 / sc 0x71) ", "nvme4n1"),
        ("nvme nvme4: frozen state error detected, reset controller", "nvme4"),
        ("timeout error, dev sdq, sector 7 op 0x1:(WRITE) flags 0x0 phys_seg 1 prio class 2", "sdq"),
        ("sd 5:0:3:0: [sdq] tag#9 FAILED Result: hostbyte=DID_TIME_OUT driverbyte=DRIVER_OK cmd_age=30s", "sdq"),
        ("sd 5:0:3:0: [sdq]  Result: hostbyte=DID_ABORT driverbyte=DRIVER_OK", "sdq"),
        ("sd 5:0:3:0: [sdq] tag#9 timing out command, waited 180s", "sdq"),
        ("sd 5:0:3:0: attempting task abort!scmd(0x00000000c6e5f6d1), outstanding for 30408 ms", "5:0:3:0"),
        ("ata7.00: failed command: READ FPDMA QUEUED", "ata7.00"),
        ("ata7.00: failed command: FLUSH CACHE EXT", "ata7.00"),
        ("ata7.00: exception Emask 0x0 SAct 0x7fffffff SErr 0x0 action 0x6 frozen", "ata7.00"),
        ("ata7.00: qc timeout (cmd 0xec)", "ata7.00"),
        ("ata7.00: NCQ disabled due to excessive errors", "ata7.00"),
        ("ata7: limiting SATA link speed to 1.5 Gbps", "ata7"),
        (
            "hv_storvsc f8b3781a-1e82-4818-a1c3-63d806ec15bb: tag#88 cmd 0x2a status: scsi 0x2 srb 0x4 hv 0xc0000001",
            "f8b3781a-1e82-4818-a1c3-63d806ec15bb",
        ),
    ],
    "path_lost": [
        ("device-mapper: multipath: 253:11: Failing path 65:16.", "65:16"),
        ("device-mapper: multipath: Failing path 65:16.", "65:16"),
        ("recoverable transport error, dev sdq, sector 7 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2", "sdq"),
        ("reservation conflict error, dev sdq, sector 7 op 0x1:(WRITE) flags 0x0 phys_seg 1 prio class 2", "sdq"),
        ("sd 5:0:3:0: [sdq] tag#0 FAILED Result: hostbyte=DID_NO_CONNECT driverbyte=DRIVER_OK cmd_age=0s", "sdq"),
        ("sd 5:0:3:0: [sdq] tag#0 FAILED Result: hostbyte=DID_TRANSPORT_DISRUPTED driverbyte=DRIVER_OK", "sdq"),
        ("sd 5:0:3:0: [sdq] Result: hostbyte=DID_TRANSPORT_FAILFAST driverbyte=DRIVER_OK", "sdq"),
        ("sd 5:0:3:0: [sdq] Result: hostbyte=0x01 driverbyte=0x00", "sdq"),
        ("sd 5:0:3:0: [sdq] Synchronize Cache(10) failed: Result: hostbyte=DID_NO_CONNECT driverbyte=DRIVER_OK", "sdq"),
        ("sd 5:0:3:0: [sdq] tag#0 Sense Key : Aborted Command [current] ", "sdq"),
        ("sd 5:0:3:0: [sdq] tag#0 Sense Key : Not Ready [current] ", "sdq"),
        (" connection4:0: detected conn error (1020)", "session4"),
        (
            " connection4:0: ping timeout of 5 secs expired, recv timeout 5, last rx 4300, last ping 4305, now 4310",
            "session4",
        ),
        (" session4: session recovery timed out after 120 secs", "session4"),
        (
            "iscsid: Kernel reported iSCSI connection 4:0 error (1022 - Invalid) state (3)",
            "session4",
        ),
        (" rport-5:0-3: blocked FC remote port time out: removing target and saving binding", "rport-5:0-3"),
        ("lpfc 0000:05:00.0: 0:1305 Link Down Event x2 received Data: x2 x20 x800110 x0 x0", "0000:05:00.0"),
        ("qla2xxx [0000:05:00.1]-500b:6: LOOP DOWN detected (2 7 0 0).", "0000:05:00.1"),
        ("ata7: link is slow to respond, please be patient (ready=0)", "ata7"),
        ("ata7: COMRESET failed (errno=-16)", "ata7"),
        ("ata7.00: error: { ICRC ABRT }", "ata7.00"),
        ("nvme nvme4: failed nvme_keep_alive_end_io error=10", "nvme4"),
        ("nvme nvme4: starting error recovery", "nvme4"),
        ("nvme nvme4: Reconnecting in 10 seconds...", "nvme4"),
        ("nvme4n1: I/O Cmd(0x1) @ LBA 8, 8 blocks, Host Pathing Error (sct 0x3 / sc 0x70) ", "nvme4n1"),
        ("block nvme4n1: no usable path - requeuing I/O", "nvme4n1"),
        ("block nvme4n1: no available path - failing I/O", "nvme4n1"),
        ("block nbd2: Receive control failed (result -104)", "nbd2"),
        ("multipathd[771]: sdq: mark as failed", "sdq"),
        ("multipathd[771]: mpathk: remaining active paths: 0", "mpathk"),
        ("multipathd: checker failed path 65:16 in map mpathk", "65:16"),
    ],
    "server_not_responding": [
        ("nfs: server filer3 not responding, still trying", "filer3"),
        ("nfs: server filer3 not responding, timed out", "filer3"),
        ("nfs: server 10.4.0.9 not responding, still trying", "10.4.0.9"),
        ("lockd: server filer3 not responding, still trying", "filer3"),
        ("CIFS: VFS: \\\\filer3 has not responded in 180 seconds. Reconnecting...", "filer3"),
        ("NFS: state manager: lease expired failed on NFSv4 server filer3 with error 5", "filer3"),
    ],
    "hung": [
        ("INFO: task kafka-request-h:30121 blocked for more than 120 seconds.", None),
        ("INFO: task java:7 blocked for more than 241 seconds.", None),
        ("INFO: task kworker/u16:3:991 blocked for more than 122 seconds.", None),
        ("INFO: task jbd2/sdq2-8:533 blocked for more than 120 seconds.", "sdq2"),
        ("INFO: task jbd2/dm-11-8:533 blocked for more than 120 seconds.", "dm-11"),
        ("INFO: task xfsaild/dm-11:533 blocked for more than 120 seconds.", "dm-11"),
        ("INFO: task kworker/u16:3+flush-253:11:991 blocked for more than 122 seconds.", "253:11"),
        ("INFO: task md9_raid5:402 blocked for more than 120 seconds.", "md9"),
    ],
    "file_system_error": [
        ("EXT4-fs error (device sdq2): ext4_lookup:1706: inode #2: comm java: deleted inode referenced: 12", "sdq2"),
        ("EXT4-fs error (device dm-11) in ext4_reserve_inode_write:5752: Journal has aborted", "dm-11"),
        ("EXT3-fs error (device sdq2): ext3_journal_start_sb: Detected aborted journal", "sdq2"),
        (
            "EXT4-fs (sdq2): failed to convert unwritten extents to written extents -- potential data loss!  (inode 9)",
            "sdq2",
        ),
        ("EXT4-fs (sdq2): previous I/O error to superblock detected", "sdq2"),
        ("EXT4-fs (sdq2): I/O error while writing superblock", "sdq2"),
        ("EXT4-fs (sdq2): error count since last fsck: 3", "sdq2"),
        ("EXT4-fs (sdq2): warning: mounting fs with errors, running e2fsck is recommended", "sdq2"),
        ("Aborting journal on device sdq2-8.", "sdq2"),
        ("Aborting journal on device dm-11-8.", "dm-11"),
        ("JBD2: Error -5 detected when updating journal superblock for sdq2-8.", "sdq2"),
        ("JBD2: I/O error when updating journal superblock for dm-11-8.", "dm-11"),
        ("journal commit I/O error", None),
        ('XFS (sdq2): metadata I/O error in "xfs_imap_to_bp+0x5c/0xa0 [xfs]" at daddr 0x80 len 32 error 5', "sdq2"),
        ("XFS (sdq2): log I/O error -5", "sdq2"),
        ("XFS (sdq2): Log I/O Error Detected.  Shutting down filesystem", "sdq2"),
        ("XFS (dm-11): Corruption of in-memory data (0x8) detected at xfs_trans_cancel+0x11.  Shutting down", "dm-11"),
        ("XFS (dm-11): Metadata CRC error detected at xfs_agi_read_verify+0xd0/0xf0 [xfs], block 0x2", "dm-11"),
        ("XFS (dm-11): Metadata corruption detected at xfs_inode_buf_verify+0x7d/0x110, block 0x40", "dm-11"),
        ("XFS (dm-11): writeback error on inode 264243, offset 0, sector 2138048", "dm-11"),
        ("XFS (dm-11): SB validate failed with error -117.", "dm-11"),
        ("xfs_force_shutdown(dm-11,0x2) called from line 956 of file fs/xfs/xfs_log.c.", "dm-11"),
        ('Filesystem "dm-11": XFS internal error xfs_trans_cancel at line 1163 of file fs/xfs/xfs_trans.c.', "dm-11"),
        ("BTRFS error (device sdq2): parent transid verify failed on 30457856 wanted 9 found 7", "sdq2"),
        ("BTRFS: error (device sdq2 state A) in btrfs_commit_transaction:2494: errno=-5 IO failure", "sdq2"),
        ("BTRFS critical (device sdq2): corrupt leaf: root=2 block=98304 slot=1, bad key order", "sdq2"),
        (
            "BTRFS warning (device sdq2): csum failed root 5 ino 257 off 0 csum 0x8941f998 expected csum 0x1 mirror 1",
            "sdq2",
        ),
        ("sdq2: rw=1, sector=2099200, nr_sectors = 8 limit=2097152", "sdq2"),
        ("device-mapper: thin: 253:11: metadata operation 'dm_pool_commit_metadata' failed: error = -5", "253:11"),
        ("device-mapper: thin: 253:11: aborting current metadata transaction", "253:11"),
    ],
    "remounted_read_only": [
        ("EXT4-fs (sdq2): Remounting filesystem read-only", "sdq2"),
        ("Remounting filesystem read-only", None),
        ("BTRFS info (device sdq2 state EA): forced readonly", "sdq2"),
        ("BTRFS info (device sdq2): forced readonly", "sdq2"),
        ("device-mapper: thin: 253:11: switching pool to read-only mode", "253:11"),
        ("sd 5:0:3:0: [sdq] Write Protect is on", "sdq"),
    ],
    "pool_full": [
        ("device-mapper: thin: 253:11: switching pool to out-of-data-space mode", "253:11"),
        ("device-mapper: thin: 253:11: switching pool to out-of-data-space (error IO) mode", "253:11"),
        ("device-mapper: thin: 253:11: no free data space available.", "253:11"),
        ("device-mapper: thin: 253:11: metadata operation 'dm_thin_insert_block' failed: error = -28", "253:11"),
        ("device-mapper: space map metadata: unable to allocate new metadata block", None),
        ("blk_update_request: critical space allocation error, dev dm-11, sector 262144 op 0x1:(WRITE)", "dm-11"),
        ("sd 5:0:3:0: [sdq] tag#0 Add. Sense: Space allocation failed write protect", "sdq"),
        ("device-mapper: snapshots: Invalidating snapshot: Unable to allocate exception.", None),
    ],
}
ROWS = [(line, trouble, device) for trouble, lines in TROUBLES.items() for line, device in lines]

BENIGN = [
    "",
    "nvme nvme4: I/O 331 QID 9 timeout, completion polled",
    "nvme nvme4: I/O tag 331 (714b) QID 9 timeout, completion polled",
    "nvme nvme4: 8/0/0 default/read/poll queues",
    "nvme nvme4: Shutdown timeout set to 10 seconds",
    "nvme nvme4: missing or invalid SUBNQN field.",
    "nvme nvme4: allocated 64 MiB host memory buffer.",
    "nvme nvme4: pci function 0000:81:00.0",
    "nvme nvme4: creating 8 I/O queues.",
    'nvme nvme4: new ctrl: NQN "nqn.2014-08.org.nvmexpress.discovery", addr 10.4.0.9:4420',
    "nvme nvme4: resetting controller",
    "nvme4n1: Dataset Management(0x9) @ LBA 0, 8 blocks, Invalid Field in Command (sct 0x0 / sc 0x2) DNR",
    " nvme4n1: p1 p2 p3",
    "nvme 0000:81:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)",
    "nvme4n1: detected capacity change from 0 to 1953525168",
    "sdq: detected capacity change from 1953525168 to 3907029168",
    "sd 5:0:3:0: [sdq] Attached SCSI disk",
    "sd 5:0:3:0: Attached scsi generic sg17 type 0",
    "sd 5:0:3:0: [sdq] 7814037168 512-byte logical blocks: (4.00 TB/3.64 TiB)",
    "sd 5:0:3:0: [sdq] Write Protect is off",
    "sd 5:0:3:0: [sdq] Mode Sense: 00 3a 00 00",
    "sd 5:0:3:0: [sdq] Write cache: enabled, read cache: enabled, doesn't support DPO or FUA",
    "sd 5:0:3:0: [sdq] Synchronizing SCSI cache",
    "sd 5:0:3:0: [sdq] Power-on or device reset occurred",
    "sd 5:0:3:0: Power-on or device reset occurred",
    "sd 5:0:3:0: [sdq] tag#3 Sense Key : Recovered Error [current] [descriptor]",
    "sd 5:0:3:0: [sdq] tag#3 Sense Key : Illegal Request [current] ",
    "sd 5:0:3:0: [sdq] tag#3 Sense Key : Unit Attention [current] ",
    "sd 5:0:3:0: [sdq] tag#3 Add. Sense: Invalid command operation code",
    "sd 5:0:3:0: [sdq] tag#3 FAILED Result: hostbyte=DID_OK driverbyte=DRIVER_OK cmd_age=0s",
    "sd 5:0:3:0: [sdq] tag#3 CDB: Write same(16) 93 08 00 00 00 00 00 00 00 00 00 3f ff ff 00 00",
    "sd 5:0:3:0: task abort: SUCCESS scmd(0x00000000c6e5f6d1)",
    "sd 5:0:3:0: alua: port group 01 state A preferred supports tolusnA",
    "scsi host5: ahci",
    "operation not supported error, dev loop3, sector 16 op 0x9:(WRITE_ZEROES) flags 0x800800 phys_seg 0",
    "blk_update_request: I/O error, dev sdq, sector 0 op 0x3:(DISCARD) flags 0x800 phys_seg 1 prio class 0",
    "blk_update_request: critical target error, dev sdq, sector 8 op 0x3:(DISCARD) flags 0x800 phys_seg 1 prio class 0",
    "blk_update_request: I/O error, dev fd0, sector 0 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0",
    "Buffer I/O error on dev sr0, logical block 0, async page read",
    "ata7: SATA link up 6.0 Gbps (SStatus 133 SControl 300)",
    "ata8: SATA link down (SStatus 0 SControl 300)",
    "ata7.00: configured for UDMA/133",
    "ata7: EH complete",
    "ata7: hard resetting link",
    "ata7.00: status: { DRDY }",
    "ata7.00: failed command: DATA SET MANAGEMENT",
    "ata7.00: failed command: READ LOG DMA EXT",
    "ata7.00: supports DRM functions and may not be fully accessible",
    "EXT4-fs (sdq2): mounted filesystem with ordered data mode. Opts: (null)",
    "EXT4-fs (sdq2): mounted filesystem 1c9e r/w with ordered data mode. Quota mode: none.",
    "EXT4-fs (sdq2): re-mounted. Opts: errors=remount-ro",
    "EXT4-fs (sdq2): re-mounted 1c9e r/w. Quota mode: none.",
    "EXT4-fs (sdq2): recovery complete",
    "EXT4-fs (sdq2): 3 orphan inodes deleted",
    "EXT4-fs (sdq2): unmounting filesystem 1c9e.",
    "EXT4-fs (sdq2): error count since last fsck: 0",
    "EXT4-fs (sdq2): resized filesystem to 2097152",
    "XFS (dm-11): Mounting V5 Filesystem",
    "XFS (dm-11): Ending clean mount",
    "XFS (dm-11): Starting recovery (logdev: internal)",
    "XFS (dm-11): Ending recovery (logdev: internal)",
    "XFS (dm-11): Unmounting Filesystem",
    "XFS (dm-11): java(7) possible memory allocation deadlock size 32944 in kmem_alloc (mode:0x2400240)",
    "xfs filesystem being mounted at /data/1 supports timestamps until 2038 (0x7fffffff)",
    "SGI XFS with ACLs, security attributes, quota, no debug enabled",
    "BTRFS info (device sdq2): disk space caching is enabled",
    "BTRFS info (device sdq2): bdev /dev/sdq2 errs: wr 0, rd 0, flush 0, corrupt 4, gen 0",
    "BTRFS info (device sdq2): read error corrected: ino 257 off 4096 (dev /dev/sdq2 sector 24)",
    "BTRFS: device fsid 1c9e devid 1 transid 7 /dev/sdq2",
    "md/raid1:md9: active with 2 out of 2 mirrors",
    "md/raid1:md9: Operation continuing on 1 devices.",
    "md/raid1:md9: read error corrected (8 sectors at 4096 on sdq2)",
    "md/raid5:md9: read error corrected (8 sectors at 4096 on sdq2)",
    "md: recovery of RAID array md9",
    "md: md9: data-check done.",
    "md9: detected capacity change from 0 to 1953259520",
    "device-mapper: ioctl: 4.48.0-ioctl (2023-03-01) initialised: dm-devel@redhat.com",
    "device-mapper: thin: 253:11: growing the data device from 16384 to 32768 blocks",
    "device-mapper: thin: 253:11: reached low water mark for data device: sending event.",
    "device-mapper: thin: 253:11: switching pool to write mode",
    "device-mapper: multipath: 253:11: Reinstating path 65:16.",
    "device-mapper: multipath service-time: version 0.3.0 loaded",
    "multipathd[771]: mpathk: remaining active paths: 3",
    "multipathd[771]: sdq: reinstated",
    "smartd[901]: Device: /dev/sdq [SAT], SMART Usage Attribute: 194 Temperature_Celsius changed from 64 to 63",
    "smartd[901]: Device: /dev/sdq [SAT], SMART Prefailure Attribute: 1 Raw_Read_Error_Rate changed from 82 to 83",
    "iscsi: registered transport (tcp)",
    "nfs: server filer3 OK",
    "NFS: Registering the id_resolver key type",
    "FS-Cache: Loaded",
    "RPC: Registered named UNIX socket transport module.",
    "virtio_blk virtio3: [vdd] 209715200 512-byte logical blocks (107 GB/100 GiB)",
    "blkfront: xvdh: flush diskcache: enabled; persistent grants: enabled; indirect descriptors: enabled;",
    "loop3: detected capacity change from 0 to 8",
    "usb 1-1: new high-speed USB device number 2 using xhci_hcd",
    "INFO: NMI handler (perf_event_nmi_handler) took too long to run: 1.2 msecs",
    "Future hung task reports are suppressed, see sysctl kernel.hung_task_warnings",
    '"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.',
    "eth0: Link is Up - 10Gbps/Full - flow control off",
    "TCP: request_sock_TCP: Possible SYN flooding on port 9092. Sending cookies.",
    "Out of memory: Killed process 7 (java) total-vm:9437184kB, anon-rss:6291456kB",
    "perf: interrupt took too long (2513 > 2500), lowering kernel.perf_event_max_sample_rate to 79000",
]


def test_the_table_is_as_large_as_it_is_meant_to_be():
    lines = [line for line, _, _ in ROWS] + BENIGN
    assert len(set(lines)) == len(lines) > 250
    assert len(BENIGN) * 3 >= len(lines)
    assert set(TROUBLES) == {str(trouble) for trouble in KernelTrouble}


@pytest.mark.parametrize(("line", "trouble", "device"), ROWS, ids=[row[0][:60] for row in ROWS])
def test_a_line_tells_which_trouble_of_which_device(line, trouble, device):
    for spelled in (line, line.upper(), line.lower()):
        found = kernel_error(spelled)
        assert found is not None, spelled
        assert found.trouble == trouble
        assert (found.device or "").lower() == (device or "").lower()
    assert kernel_error(line).text == line.strip()[:ERROR_CHARACTERS]
    assert kernel_error(line).device == device


@pytest.mark.parametrize("line", BENIGN, ids=lambda line: line[:60])
def test_a_benign_line_is_no_evidence(line):
    assert kernel_error(line) is None


MESSAGE = "XFS (dm-4): Corruption detected. Unmount and run xfs_repair"
PREFIXES = {
    "none": "",
    "dmesg": "[12225.445356] ",
    "dmesg with the caller": "[12225.445356][T20556] ",
    "dmesg with blanks and the caller": "[    5.445356] [    C1] ",
    "dmesg -r": "<3>[12225.445356] ",
    "dmesg -T": "[Mon Jan 11 05:55:54 2026] ",
    "dmesg --time-format iso": "2026-01-11T05:55:54,123456+00:00 ",
    "dmesg -x": "kern  :err   : [12225.445356] ",
    "/dev/kmsg": "3,1234,12225445356,-;",
    "/dev/kmsg with the caller": "3,1234,12225445356,-,caller=T20556;",
    "syslog": "Jan 11 05:55:54 broker7 kernel: ",
    "syslog with the uptime": "Jan  1 05:55:54 broker7 kernel: [12225.445356] ",
    "syslog with two blanks": "Jan 11 05:55:54 broker7 kernel:  ",
    "syslog with priority": "<3>Jan 11 05:55:54 broker7 kernel: ",
    "syslog with facility and level": "Jan 11 05:55:54 broker7 kern.err kernel: [ 225.445356] ",
    "rsyslog": "2026-01-11T05:55:54.123456+00:00 broker7 kernel: [12225.445356] ",
    "rfc 5424": "<3>1 2026-01-11T05:55:54.003Z broker7.example.org kernel - - - ",
    "rfc 5424 with data": '<3>1 2026-01-11T05:55:54Z broker7 kernel - - [meta sequenceId="9"] ',
    "journalctl -k": "Jan 11 05:55:54 broker7 kernel: ",
    "journalctl -k -o short-iso": "2026-01-11T05:55:54+0100 broker7 kernel: ",
    "journalctl -k -o short-full": "Sun 2026-01-11 05:55:54 UTC broker7 kernel: ",
    "journalctl -k -o short-unix": "1768110954.123456 broker7 kernel: ",
    "journalctl -k -o short-monotonic": "[12225.445356] broker7 kernel: ",
    "kernel alone": "kernel: ",
    "kernel with a number": "Jan 11 05:55:54 broker7 kernel[0]: ",
}


@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES)
def test_every_prefix_is_left_out(prefix):
    found = kernel_error(prefix + MESSAGE)
    assert found is not None
    assert (found.device, found.text) == ("dm-4", MESSAGE)


@pytest.mark.parametrize(
    "line",
    [
        f"Jan 11 05:55:54 broker7 sudo[7]:   ada : COMMAND=/usr/bin/grep '{MESSAGE}' /var/log/kern.log",
        f"Jan 11 05:55:54 broker7 kafka[71]: {MESSAGE}",
        f"2026-01-11T05:55:54.123456+00:00 broker7 audit: {MESSAGE}",
        f"30,9,1,-;systemd[1]: {MESSAGE}",
        f"[12225.445356] systemd[1]: {MESSAGE}",
        "Jan 11 05:55:54 broker7 alertmanager: nfs: server filer3 not responding, still trying",
    ],
)
def test_what_another_program_writes_is_none_of_the_kernels(line):
    assert kernel_news(line) == []


@pytest.mark.parametrize(
    ("line", "ended", "device"),
    [
        ("device-mapper: multipath: 253:11: Reinstating path 65:16.", ["path_lost"], "65:16"),
        ("device-mapper: multipath: Reinstating path 65:16.", ["path_lost"], "65:16"),
        ("multipathd[771]: sdq: reinstated", ["path_lost"], "sdq"),
        ("multipathd[771]: mpathk: remaining active paths: 1", ["path_lost"], "mpathk"),
        ("nvme nvme4: Successfully reconnected (3 attempts)", ["path_lost", "command_failed"], "nvme4"),
        ("iscsid: connection4:0 is operational after recovery (2 attempts)", ["path_lost"], "session4"),
        (
            "lpfc 0000:05:00.0: 0:1303 Link Up Event x3 received Data: x3 x1 x20",
            ["path_lost"],
            "0000:05:00.0",
        ),
        ("qla2xxx [0000:05:00.1]-500a:6: LOOP UP detected (16 Gbps).", ["path_lost"], "0000:05:00.1"),
        ("ata7: SATA link up 6.0 Gbps (SStatus 133 SControl 300)", ["path_lost"], "ata7"),
        ("nfs: server filer3 OK", ["server_not_responding"], "filer3"),
        ("lockd: server filer3 OK", ["server_not_responding"], "filer3"),
        ("device-mapper: thin: 253:11: switching pool to write mode", ["pool_full", "remounted_read_only"], "253:11"),
    ],
)
def test_a_line_that_heals_says_what_is_over(line, ended, device):
    news = kernel_news(f"Jan 11 05:55:54 broker7 kernel: {line}" if "[" not in line and ":" in line[:20] else line)
    assert [(str(one.trouble), one.device, one.is_over) for one in news] == [(kind, device, True) for kind in ended]


def test_a_line_of_trouble_is_news_and_one_of_nothing_is_none():
    (news,) = kernel_news("nfs: server filer3 not responding, still trying")
    assert (news.device, news.is_over, news.heals) == ("filer3", False, True)
    assert kernel_news("usb 1-1: new high-speed USB device") == []


def test_what_heals_by_itself_and_how_loud_it_is():
    told = {str(trouble): (trouble.heals, str(trouble.severity), trouble.cause) for trouble in KernelTrouble}
    assert told == {
        "medium_error": (False, "warning", "failed"),
        "device_error": (False, "critical", "failed"),
        "command_failed": (True, "warning", None),
        "path_lost": (True, "warning", "remount"),
        "server_not_responding": (True, "warning", "remount"),
        "hung": (True, "warning", None),
        "file_system_error": (False, "critical", "file_system"),
        "remounted_read_only": (False, "critical", "read_only"),
        "pool_full": (False, "critical", "full"),
    }


def test_a_long_line_is_cut():
    assert len(kernel_error("I/O error, dev sdb, " + "x" * 1_000).text) == ERROR_CHARACTERS
