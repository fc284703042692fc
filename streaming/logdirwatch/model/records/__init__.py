"""The records of every topic, version 1.

JSON in UTF-8. Unknown fields are ignored, a missing required field rejects the record. Times are epoch milliseconds in
fields ending ``_ms``, sizes are bytes in fields ending ``_bytes``; ``None`` means unknown, never zero.
"""

from logdirwatch.model.evidence.stream import LostRange, RejectedRows
from logdirwatch.model.records.actions import ActionRecord, AlertPattern, DecisionRecord
from logdirwatch.model.records.alerts import AlertRecord, AnyEvidence, NotificationRecord
from logdirwatch.model.records.events import EventRecord
from logdirwatch.model.records.executions import ExecutionRecord, OwnLimit
from logdirwatch.model.records.inventory import (
    InventoryRecord,
    PartitionInfo,
    Placement,
    ReplicasRecord,
    ScanRecord,
    TopicRecord,
)
from logdirwatch.model.records.metrics import (
    DEFAULT_INTERVAL_MS,
    HeartbeatRecord,
    HostLogDir,
    HostRecord,
    KernelNews,
    LogDirSample,
    MetricsRecord,
    PartitionHealth,
    PipelineRecord,
    ReplicaMoves,
)
from logdirwatch.model.records.state import ADVANCES_NOT, SILENT, LogDirView, StateRecord, Transition
from logdirwatch.model.scalars import Version

__all__ = [
    "ADVANCES_NOT",
    "DEFAULT_INTERVAL_MS",
    "SILENT",
    "ActionRecord",
    "AlertPattern",
    "AlertRecord",
    "AnyEvidence",
    "DecisionRecord",
    "EventRecord",
    "ExecutionRecord",
    "HeartbeatRecord",
    "HostLogDir",
    "HostRecord",
    "InventoryRecord",
    "KernelNews",
    "LogDirSample",
    "LogDirView",
    "LostRange",
    "MetricsRecord",
    "NotificationRecord",
    "OwnLimit",
    "PartitionHealth",
    "PartitionInfo",
    "PipelineRecord",
    "Placement",
    "RejectedRows",
    "ReplicaMoves",
    "ReplicasRecord",
    "ScanRecord",
    "StateRecord",
    "TopicRecord",
    "Transition",
    "Version",
]
