"""Why a broker refused to start, halted or was fenced: a table of log messages. Pure.

The wording is that of Kafka 2.4 to 4.3 (``LogManager``, ``ReplicaManager``, ``MetaPropertiesEnsemble``,
``BrokerLifecycleManager``, ``ProcessTerminatingFaultHandler``, ``Kafka.main``) and of Java.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from logdirwatch.model.broker_failures import BY_CAUSE, WHAT
from logdirwatch.model.broker_failures import BrokerFailureReason as Reason
from logdirwatch.model.vocabulary import Cause
from logdirwatch.parse.broker_log.causes import cause_of, damaged_file
from logdirwatch.parse.broker_log.entries import Entry
from logdirwatch.parse.broker_log.process_ends import HOST, reason_of
from logdirwatch.parse.patterns import compiled
from logdirwatch.text.printable import printable

DETAIL_CHARACTERS = 300
Judge = Callable[[str], Reason | None]
"""Returns the reason that a line gives, None if it gives none."""

# Of a mapped file a page could not be read or written: Java says no more of it, whether its disk is full or fails.
MEMORY_FAULT = r"InternalError: a fault occurred in (?:a recent|an) unsafe memory access"

# Messages that are conclusive in any entry, since only a broker that is about to end logs them.
_ALWAYS: Mapping[Reason, Sequence[str]] = {
    Reason.FOREIGN_FOLDER: [r"Found directory .{0,4096} is not in the form of topic-partition"],
    Reason.NODE_ID_MISMATCH: [
        r"Inconsistent(?:Node|Broker)IdException",
        r"Configured (?:node|broker)\.id .* doesn't match stored",
        r"Stored (?:node|broker) id \d+ doesn't match",
        r"Invalid (?:node|broker)\.id in",
        r"InconsistentBrokerMetadataException",
    ],
    Reason.CLUSTER_ID_MISMATCH: [
        r"Invalid cluster\.id in",
        r"InconsistentClusterIdException",
        r"Cluster ID \S+ doesn't match stored",
        r"INCONSISTENT_CLUSTER_ID",
    ],
    Reason.DIRECTORY_ID_MISMATCH: [
        r"Duplicate directory ID",
        r"Invalid res?e?rved directory ID",
        r"[Ii]nconsistent directory[ .][Ii][Dd]",
        r"directory\.id was not specified",
    ],
    Reason.NOT_FORMATTED: [
        r"No readable meta\.properties files? found",
        r"No `?meta\.properties`? found",
        r"(?:node|cluster)\.id was not specified in",
        r"(?:[Dd]irectory|[Dd]ir|[Ss]torage) .*is not formatted",
        r"[Uu]nformatted (?:log )?director",
        r"metadata log directory (?:is missing|was not specified)",
    ],
    Reason.TOPIC_ID_MISSING: [
        r"does not have a topic ID",
        r"Tried to assign topic ID .* but log (?:for|already)",
        r"partition\.metadata file .*(?:missing|not found|does not exist)",
    ],
    Reason.DUPLICATE_REPLICA: [r"Duplicate log directories (?:for|found)"],
    Reason.DIRECTORY_LOCKED: [r"Failed to acquire lock on file \.lock"],
    Reason.NO_USABLE_DIRECTORY: [r"none of the specified log dirs from .{0,4096} can be created or validated"],
    Reason.METADATA_DIRECTORY_FAILED: [
        r"Shutdown broker because the metadata log dir .{0,4096} has failed",
        r"I/O error in metadata log directory",
    ],
    Reason.ALL_DIRECTORIES_FAILED: [
        r"Shutdown broker because all log dirs in .{0,4096} have failed",
        r"Halting broker because dir .{0,4096} is offline",
        r"Shutdown broker because some log directory has failed",
    ],
    Reason.FAILURE_NOT_TOLD: [
        r"couldn't communicate offline log dirs?",
        # Controllers know directories by their ids only.
        r"Unable to propagate directory failure",
    ],
    Reason.DUPLICATE_BROKER: [
        r"DUPLICATE_BROKER_REGISTRATION",
        r"DuplicateBrokerRegistrationException",
        r"broker is (?:already )?registered (?:on|with)",
        r"NodeExistsException.*/brokers/ids",
        r"/brokers/ids/\d+.*(?:NodeExists|owned by another|node already exists)",
    ],
    Reason.UNSUPPORTED_VERSION: [
        r"No MetadataVersion with",
        r"Unsupported metadata\.version",
        r"Unable to register .*(?:UNSUPPORTED_VERSION|API version problem)",
        r"Found unexpected version in .*meta\.properties",
    ],
    Reason.LOGIN: [r"Unable to register broker .*_AUTHORIZATION_FAILED"],
    Reason.CONTROLLER_UNREACHABLE: [
        r"unable to register with the controller quorum",
        r"Received a fatal error while waiting for .*controller",
        r"Received a fatal error while waiting for the broker to be unfenced",
        r"Unable to register (?:the )?broker .*(?:RPC got timed out|authentication exception|returned (?:an )?error)",
        r"Unable to register broker \d+\.$",
        r"Timed out waiting for connection while in state",
        r"ZooKeeperClientTimeoutException",
    ],
    Reason.HEARTBEAT_LOST: [
        r"Unable to send (?:a |broker )heartbeat",
        r"sent a heartbeat request but received error (?!NONE)",
        # Of a broker in ZooKeeper mode.
        r"Client session timed out, have not heard from server in",
        r"Unable to reconnect to ZooKeeper service, session \S+ has expired",
    ],
    # A few pages: what is refused is not memory but one more map. Of a whole heap it is memory that lacks.
    Reason.LIMIT: [
        r"unable to create (?:new )?native thread",
        r"Native memory allocation \(mmap\) failed to map \d{1,7} bytes",
        r"os::commit_memory\(\w+, \d{1,7}, .*failed",
    ],
    Reason.OUT_OF_MEMORY: [
        r"java\.lang\.OutOfMemoryError: (?!Map failed)",
        r"There is insufficient memory for the Java Runtime",
        r"os::commit_memory\(.*failed",
        r"Could not reserve enough space for",
    ],
    Reason.STOPPED: [r"Terminating process due to signal SIG"],
    # Stopped during log recovery: the start took longer than its time limit.
    Reason.KILLED: [r"still starting up, cannot shut ?down"],
}

_OF_BITNAMI = "==> "
"""The prefix of messages from the script of Bitnami's images, which ends after an error."""

# Elsewhere a broker survives these; here they are why it ends.
_WHEN_FATAL: Mapping[Reason, Sequence[str]] = {
    Reason.CRASHED: [
        r"A fatal error has been detected by the Java Runtime",
        # Of the image without a JVM (apache/kafka-native).
        r"^Segfault detected, aborting process",
        MEMORY_FAULT,
    ],
    Reason.JAVA: [
        r"UnsupportedClassVersionError",
        r"NoClassDefFoundError",
        r"Unrecognized (?:VM )?option",
        r"Could not (?:create the Java|find or load main class)",
        r"Invalid (?:maximum|initial|minimum) heap size",
        r"Error occurred during initialization of VM",
        # What Java says before "Could not create the Java Virtual Machine".
        r"^(?:Improperly specified|Conflicting|Multiple|Invalid -X|VM option '|Initial heap size|Error opening zip)",
        r"^Could not find agent",
    ],
    Reason.TOPIC_ID_MISSING: [r"InconsistentTopicIdException"],
    Reason.UNSUPPORTED_VERSION: [
        r"[Uu]nsupported feature",
        # Of a meta.properties from ZooKeeper mode (0) or KRaft (1), up to Kafka 3.6.
        r"Expected version \d+, but got version \d+",
        r"unable to support feature",
        r"does not support (?:feature|metadata\.version|the cluster MetadataVersion)",
        r"not supported in the current MetadataVersion",
        r"[Ii]nvalid feature (?:level|version)",
    ],
    Reason.CANNOT_BIND: [
        r"BindException",
        r"Address already in use",
        r"Port already in use",
        r"[Ss]ocket server failed to bind",
        r"Cannot assign requested",
    ],
    Reason.TLS: [
        r"[Kk]ey[Ss]tore",
        r"[Tt]rust[Ss]tore",
        r"UnrecoverableKeyException",
        r"Certificate\w*Exception",
        r"SslAuthenticationException",
        r"SSLHandshakeException",
        r"\bPEM\b",
    ],
    Reason.LOGIN: [
        r"LoginException",
        r"SaslAuthenticationException",
        r"\bJAAS\b",
        r"KafkaServer' entry",
        r"AuthorizationException",
        r"\bNoAuth(?:Exception)?\b",
    ],
}
_OF_METADATA: Mapping[Reason, Sequence[str]] = {
    Reason.METADATA_FAULT: [
        r"__cluster_metadata",
        r"raft (?:IO|client)",
        r"[Mm]etadata(?:Loader| (?:log|image|record|loading|delta|publish))",
        r"UnexpectedAppendOffsetException",
        r"(?:loading|replaying|handling) .*(?:snapshot|metadata)",
        r"Unable to apply \w+ record",
        r"quorum-state",
        r"KafkaRaft",
        # KafkaMetadataLog and the readers of its snapshots.
        r"[Ss]napshot (?:state|id|at an offset|with id|file|does|must|cannot|is not)|SnapshotId|OffsetAndEpoch\(",
        r"\d{20}-\d{10}\.checkpoint",
    ]
}
_LAST: Mapping[Reason, Sequence[str]] = {
    Reason.CONTROLLER_UNREACHABLE: [
        r"controller quorum",
        r"waiting for .*controller",
        r"UnknownHostException",
        r"Couldn't resolve server",
        r"TimeoutException",
    ],
    # Whatever ends in ".log" in a partition's folder is taken for a segment, whose name is its first offset.
    Reason.FOREIGN_FOLDER: [r'^java\.lang\.NumberFormatException: For input string: "[^"\d]'],
    Reason.CORRUPT_LOG: [
        r"logs loading",
        r"Corrupt(?:Record|Index|Snapshot)Exception",
        r"InvalidOffsetException",
        r"LogSegmentOffsetOverflow",
        r"Error starting LogManager",
    ],
    Reason.JAVA: [r"^Error opening log file"],
    Reason.CONFIGURATION: [
        r"ConfigException",
        r"Invalid value .* for configuration",
        r"Missing required configuration",
        r"requirement failed",
        r"Error creating broker listeners",
        rf"^{_OF_BITNAMI}",
        r"(?:FileNotFound|NoSuchFile)Exception: \S+\.properties",
    ],
}

_FATAL = compiled(
    r"Exiting Kafka|[Ff]atal error|Encountered fatal fault|errors? in one of the threads during logs loading"
    r"|There was an error in one of the threads|Shutdown broker because|Shutting down because|Halting"
    r'|Exception in thread "main"|Unable to start(?! fetching)|Exit(?:ing)? (?:due to|because)|Stopping the server as'
    r"|exception while starting SharedServer"
)
_SAID_ALWAYS = {reason: compiled("|".join(patterns)) for reason, patterns in _ALWAYS.items()}
_ENDS = compiled(
    r"Exiting Kafka|Fatal error during|Encountered fatal fault|logs loading|Shutdown broker|Shutting down because"
    r'|Halting|"main"|Stopping the server as'
)
# Kafka (``BrokerLifecycleManager``) has these as INFO, though a broker is fenced or cannot start for them.
_LIFECYCLE = compiled(r"Unable to (?:register (?:the )?broker|send a heartbeat) ")
QUIET = frozenset({"TRACE", "DEBUG", "INFO"})
# Messages about others: clients, and brokers that register with a controller; and faults that a broker survives.
_OF_OTHERS = compiled(
    r"\[?(?:SocketServer|KafkaApi|Processor|\w*Coordinator|QuorumController|ControllerApis|Controller (?:id|\d)"
    r"|Producer|Consumer|AdminClient|ReplicaFetcher|Selector)|Encountered (?!fatal )[\w -]+ fault: "
)
# Secrets that a rejected configuration may quote.
_SECRET = compiled(
    r"(?P<name>(?i:password|passphrase|secret|token)\w*\s*[=:]\s*)(?:\"[^\"]{0,65536}\"?|'[^']{0,65536}'?|[^\s,;]{1,65536})"
)
_NAMES_FILE = compiled(r"(?:^|[\s('\"=:])/[^\s/]")
_OF_DISK = frozenset({Cause.FAILED, Cause.FILE_SYSTEM})
# Of a broker that starts, a connection that fails (Cause.REMOUNT) says nothing of its disks.
_CONCLUSIVE = frozenset(BY_CAUSE) - _OF_DISK - {Cause.REMOUNT}


@dataclass(frozen=True)
class BrokerFailed:
    """A broker ends, or is about to be fenced.

    ``detail`` is one line, ``log_dir`` the directory named in it, if any.
    """

    reason: Reason
    detail: str
    log_dir: str | None = None


def broker_failed(entry: Entry) -> BrokerFailed | None:
    """Return why the broker ends, None for any other entry."""
    if entry.logger == HOST:
        ended = reason_of(entry.message)
        return None if ended is None else failed_by(ended, entry.message)
    if entry.level in QUIET and not _is_of_lifecycle(entry):
        is_signal = _SAID_ALWAYS[Reason.STOPPED].search(entry.message)
        return failed_by(Reason.STOPPED, entry.message) if is_signal else None
    for judge in _judges(entry):
        for said in (entry.message, *entry.more):
            reason = judge(said)
            if reason is Reason.METADATA_FAULT and (of_disk := _of_disk(entry)) is not None:
                return failed_by(Reason.METADATA_DIRECTORY_FAILED, of_disk)
            if reason is not None:
                return failed_by(reason, _with_exception(entry) if said == entry.message else _with_place(said, entry))
    is_last_word = entry.level in {"FATAL", "ERROR", ""} and _ENDS.search(entry.message) is not None
    return failed_by(Reason.OTHER, _with_exception(entry)) if is_last_word or entry.level == "FATAL" else None


def _is_of_lifecycle(entry: Entry) -> bool:
    """Tell whether a broker logs, at level INFO, that the controllers did not answer or refused it."""
    return entry.level == "INFO" and _LIFECYCLE.search(entry.message) is not None


def _is_fatal(entry: Entry) -> bool:
    """Tell whether an entry reports the end of the broker, not an error of one thread or client."""
    if entry.message.startswith(_OF_BITNAMI):
        return entry.level == "ERROR"
    if entry.level == "FATAL":
        return True
    if entry.logger == "java":
        return not entry.message.startswith("Exception in thread") or '"main"' in entry.message
    return _FATAL.search(entry.message) is not None and not _OF_OTHERS.match(entry.message)


def _said(reason: Reason, pattern: "re.Pattern[str]") -> Judge:
    return lambda line: reason if pattern.search(line) else None


def _os_error(causes: Collection[Cause]) -> Judge:
    return lambda line: BY_CAUSE[cause] if (cause := cause_of(line)) in causes else None


def _damaged(line: str) -> Reason | None:
    """Return the reason of a file that cannot be parsed; that of the quorum is one of the metadata log."""
    file = damaged_file(line)
    if file is None:
        return None
    return Reason.METADATA_FAULT if file.endswith("quorum-state") else Reason.DAMAGED_FILE


_SAYS_ALWAYS = tuple(_said(*row) for row in _SAID_ALWAYS.items())
_SAYS_OF_MEMORY = tuple(_said(reason, _SAID_ALWAYS[reason]) for reason in (Reason.LIMIT, Reason.OUT_OF_MEMORY))
_SAYS_WHEN_FATAL = (
    *_SAYS_ALWAYS,
    *(_said(reason, compiled("|".join(patterns))) for reason, patterns in _WHEN_FATAL.items()),
    _damaged,
    _os_error(_CONCLUSIVE),
    *(_said(reason, compiled("|".join(patterns))) for reason, patterns in _OF_METADATA.items()),
    _os_error(_OF_DISK),
    *(_said(reason, compiled("|".join(patterns))) for reason, patterns in _LAST.items()),
)


def _judges(entry: Entry) -> Sequence[Judge]:
    """Return what may tell the reason, the most certain first."""
    if _is_fatal(entry):
        return _SAYS_WHEN_FATAL
    return _SAYS_OF_MEMORY if _OF_OTHERS.match(entry.message) else _SAYS_ALWAYS


def _of_disk(entry: Entry) -> str | None:
    """Return the line that reports a failed disk or file system, after which the data may still be intact."""
    return next((line for line in entry.more if cause_of(line) in _OF_DISK), None)


def _with_place(said: str, entry: Entry) -> str:
    """Return a line with what stands above it and names a file, if it names none: what is full must be found."""
    above = (line for line in (entry.message, *entry.more[: entry.more.index(said)]) if _NAMES_FILE.search(line))
    return said if _NAMES_FILE.search(said) else ": ".join([*list(above)[-1:], said])


def _with_exception(entry: Entry) -> str:
    thrown = next((text for line in entry.more if (text := line.strip("# \t"))), None)
    return entry.message if thrown is None else f"{entry.message.rstrip('.:')}: {thrown}"


def failed_by(reason: Reason, said: str) -> BrokerFailed:
    """Return a failure with its reason as text and the log line, without secrets."""
    hidden = _SECRET.sub(r"\g<name>[hidden]", said)
    text = printable(" ".join(f"{WHAT[reason]}: {hidden}".split()))
    return BrokerFailed(reason, text if len(text) <= DETAIL_CHARACTERS else f"{text[: DETAIL_CHARACTERS - 3]}...")
