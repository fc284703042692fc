"""The kernel's log: lines to troubles of disks, paths and file systems."""
