"""The evidence of the alerts of each rule, one struct per rule.

An alert's ``rule`` decides the struct of its ``evidence``. If two queries raise alerts of one rule, or the alert is
about a broker in one case and about a directory in the other, the rule has one struct for each, distinguished by a
field that only one of them has. ``shown_by`` at each struct names its rule.
"""

from collections.abc import Mapping
from typing import Any

from logdirwatch.model.evidence import brokers as brokers
from logdirwatch.model.evidence import clusters as clusters
from logdirwatch.model.evidence import log_dirs as log_dirs
from logdirwatch.model.evidence import stream as stream
from logdirwatch.model.evidence.base import KINDS, VARIANTS, Kinds
from logdirwatch.model.evidence.base import NO_EVIDENCE as NO_EVIDENCE
from logdirwatch.model.evidence.base import Evidence as Evidence
from logdirwatch.model.evidence.base import read_as as read_as
from logdirwatch.model.record_part import converted
from logdirwatch.model.vocabulary import Rule

EVIDENCE: Mapping[Rule, Kinds] = {
    rule: Kinds(KINDS[rule], tuple(VARIANTS.get(rule, ()))) for rule in Rule if rule in KINDS
}


def evidence_of(rule: Rule, found: Mapping[str, Any]) -> Evidence:
    """Return the evidence of an alert of a rule, as in its record."""
    if not found:
        return NO_EVIDENCE
    if rule is Rule.LOG_DIR_SUSPECT and isinstance(texts := found.get("why"), dict):
        # The short form of a suspicion: its texts by kind, as they are written by hand.
        found = {**found, **texts, "why": sorted(texts)}
    shown = converted(found, _kind_of(rule, found))
    # What holds no field that is known reads as it does after it was written once more.
    return shown if len(shown) else NO_EVIDENCE


def _kind_of(rule: Rule, found: Mapping[str, Any]) -> type[Evidence]:
    kinds = EVIDENCE[rule]
    return next((variant.kind for variant in kinds.variants if variant.marker in found), kinds.kind)
