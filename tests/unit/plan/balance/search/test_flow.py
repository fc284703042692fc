"""How far two units are off together while bytes go from one to the other."""

import numpy as np
import pytest

from logdirwatch.plan.balance.search.flow import Flow, Side

GIVER, TAKER = Side(700, 450, 550), Side(300, 450, 550)
"""150 bytes too much and 150 missing: with 150 to 250 bytes gone, both are in their band."""


@pytest.mark.parametrize(("more", "off"), [(0, 150), (-150, 0), (-250, 0), (-251, 1), (-100, 50), (10, 160)])
def test_a_side_is_off_by_what_is_outside_its_band(more, off):
    assert GIVER.off_bytes(more) == off


@pytest.mark.parametrize(
    ("gone", "off"), [(0, 300), (50, 200), (149, 2), (150, 0), (250, 0), (251, 2), (300, 100), (400, 300)]
)
def test_both_are_off_by_the_sum(gone, off):
    assert Flow(GIVER, TAKER).off_bytes(np.array([float(gone)])).tolist() == [off]


def test_many_amounts_are_judged_at_once():
    assert Flow(GIVER, TAKER).off_bytes(np.array([0.0, 150.0, 300.0])).tolist() == [300, 0, 100]


@pytest.mark.parametrize(
    ("giver", "taker", "span"),
    [
        (GIVER, TAKER, (150, 250)),
        (Side(700, 450, 550), Side(450, 450, 550), (100, 150)),  # what helps the one beyond 100 bytes harms the other
        (Side(500, 450, 550), Side(430, 450, 550), (20, 50)),
        (Side(500, 450, 550), Side(500, 450, 550), (0, 50)),
        (Side(400, 450, 550), Side(600, 450, 550), (0, 0)),  # the wrong way round
    ],
)
def test_the_best_is_what_leaves_the_least(giver, taker, span):
    assert Flow(giver, taker).best() == span


@pytest.mark.parametrize(
    ("gain", "span"),
    [(1, (0.5, 399.5)), (100, (50, 350)), (200, (100, 300)), (300, (150, 250)), (301, None), (0, (0, 400))],
)
def test_helpful_is_what_gains_so_much(gain, span):
    assert Flow(GIVER, TAKER).helpful(gain) == span


def test_nothing_helps_two_units_in_their_band():
    assert Flow(Side(500, 450, 550), Side(500, 450, 550)).helpful(1) is None
    assert Flow(Side(400, 450, 550), Side(600, 450, 550)).helpful(1) is None
