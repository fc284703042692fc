"""Which log entries are complete: those of Spark, of delta-rs and of this program, and what a cut leaves of them."""

import json

import pytest

from logdirwatch.store.delta_log.entries import IncompleteEntryError, complete_actions, encoded, file_name

ADD = {"add": {"path": "a.parquet", "dataChange": True}}
REMOVE = {"remove": {"path": "b.parquet", "dataChange": True}}
META = {"metaData": {"id": "x"}}


def info(operation="MERGE", **metrics):
    return {"commitInfo": {"operation": operation, "operationMetrics": metrics}}


COMPLETE = {
    "merge of Spark": [info(numTargetFilesAdded="2", numTargetFilesRemoved="1"), ADD, ADD, REMOVE],
    "merge that changed nothing": [info(numTargetFilesAdded="0", numTargetFilesRemoved="0")],
    "append of delta-rs": [info("WRITE", num_added_files=1, num_removed_files=0, num_added_rows=1), ADD],
    "insert of Spark": [info("WRITE", numFiles="1", numOutputRows="5"), ADD],
    "insert of no row": [info("WRITE", numFiles="1", numOutputRows="0")],
    "insert of Spark of which some files were empty": [info("WRITE", numFiles="3", numOutputRows="5"), ADD],
    "optimize": [info("OPTIMIZE", numAddedFiles="1", numRemovedFiles="2"), ADD, REMOVE, REMOVE],
    "more than was counted": [info("DELETE", numAddedFiles="0", numRemovedFiles="1"), ADD, REMOVE, REMOVE],
    "vacuum": [info("VACUUM START", numFilesToDelete="3")],
    "definition": [info("SET TBLPROPERTIES"), META],
    "creation": [info("CREATE TABLE"), META, {"protocol": {"minReaderVersion": 1}}],
    "without commitInfo": [ADD],
    "without metrics": [{"commitInfo": {"operation": "WRITE"}}],
    "metrics of another kind": [{"commitInfo": {"operation": None, "operationMetrics": ["x"]}}],
    "a metric that is no number": [info("MERGE", numTargetFilesAdded="many")],
}
CUT = {
    "added files": ([info(numTargetFilesAdded="2"), ADD], "it has 1 of its 2 actions of the kind add"),
    "all files": ([info("WRITE", num_added_files=1)], "it has 0 of its 1 actions of the kind add"),
    "removed files": ([info(numTargetFilesAdded="1", numTargetFilesRemoved="2"), ADD, REMOVE], "1 of its 2 .* remove"),
    "all of an insert": ([info("WRITE", numFiles="1", numOutputRows="5")], "none of the files"),
    "files that optimize adds": ([info("OPTIMIZE", numFilesAdded=1, numFilesRemoved=0)], "0 of its 1 .* add"),
    "files that Spark's optimize adds": ([info("OPTIMIZE", numAddedFiles="1")], "0 of its 1 .* add"),
    "files that a merge of delta-rs adds": ([info(num_target_files_added=1)], "0 of its 1 .* add"),
    "files that optimize removes": ([info("OPTIMIZE", numFilesRemoved=1)], "0 of its 1 .* remove"),
    "files that Spark's optimize removes": ([info("OPTIMIZE", numRemovedFiles="1")], "0 of its 1 .* remove"),
    "files that a deletion of delta-rs removes": ([info("DELETE", num_removed_files=1)], "0 of its 1 .* remove"),
} | {
    operation: ([info(operation)], f"its operation {operation} changes the table")
    for operation in (
        *("CREATE TABLE", "REPLACE TABLE", "SET TBLPROPERTIES", "UNSET TBLPROPERTIES", "UPGRADE PROTOCOL"),
        *("ADD COLUMNS", "CHANGE COLUMN", "DROP COLUMNS", "RENAME COLUMN", "CLUSTER BY"),
    )
}


@pytest.mark.parametrize("case", COMPLETE)
def test_a_complete_entry_gives_its_actions(case):
    assert complete_actions(encoded(COMPLETE[case])) == COMPLETE[case]


@pytest.mark.parametrize("case", CUT)
def test_an_entry_that_ends_after_a_whole_line_lacks_what_it_counted(case):
    actions, reason = CUT[case]
    with pytest.raises(IncompleteEntryError, match=f"is cut: .*{reason}"):
        complete_actions(encoded(actions))


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (b"", "^is empty$"),
        (b"\0" * 100, "^contains no action$"),
        (b"\n", "^contains no action$"),
        (b'{"add":{"path"', "^is cut or damaged in line 1$"),
        (b'{"commitInfo":{}}\n{"add":', "^is cut or damaged in line 2$"),
        (b'{"commitInfo":{}}\n' + b"\0" * 50, "^is cut or damaged in line 2$"),
        (b'{"commitInfo":{"a":"\xe4"}}', "^is cut or damaged in line 1$"),
        (b"[" * 100_000, "^is cut or damaged in line 1$"),
        (b"[]\n", "^is cut or damaged in line 1$"),
        (b"1\n", "^is cut or damaged in line 1$"),
        (b"null\n", "^is cut or damaged in line 1$"),
    ],
)
def test_what_is_no_entry_says_where(entry, reason):
    with pytest.raises(IncompleteEntryError, match=reason):
        complete_actions(entry)


@pytest.mark.parametrize("case", [case for case in COMPLETE if case.startswith(("merge of", "append", "optimize"))])
def test_a_cut_anywhere_shows_but_within_what_follows_the_last_action(case):
    """However many bytes of an entry reached the disk: they show, or nothing is missing."""
    entry = encoded(COMPLETE[case])
    for length in range(len(entry) - 1):
        with pytest.raises(IncompleteEntryError):
            complete_actions(entry[:length])
    assert complete_actions(entry[:-1]) == COMPLETE[case]


def test_an_entry_is_one_line_per_action_in_the_file_of_its_version():
    assert [json.loads(line) for line in encoded([ADD, REMOVE]).split(b"\n")[:-1]] == [ADD, REMOVE]
    assert encoded([ADD]).endswith(b"}\n")
    assert file_name(12) == "_delta_log/00000000000000000012.json"
