"""log_dir_changed: what counts as another volume. Size, root volume and reserve file: test_log_dir_space."""

import pytest

from tests.unit.detect.builders import GIB, TOTAL, Driver, host_dir, log_dir

RULE = "log_dir_changed"


def looked(driver, number, usable_bytes, total_bytes=TOTAL):
    return driver.host(
        host_dir(volume=f"dev 259:{number}", is_root_volume=False, total_bytes=total_bytes, usable_bytes=usable_bytes)
    )


@pytest.mark.parametrize(
    ("usable_bytes", "total_bytes", "said"),
    [
        pytest.param(int(TOTAL * 0.7), TOTAL, [], id="renumbered by a boot"),
        pytest.param(int(TOTAL * 0.705), TOTAL, [], id="renumbered, and a little was deleted meanwhile"),
        pytest.param(TOTAL, TOTAL, [(RULE, "firing", "warning")], id="an empty disk of the same size"),
        pytest.param(int(TOTAL * 0.7), TOTAL + GIB, [(RULE, "firing", "warning")], id="a disk of nearly the same size"),
        pytest.param(None, TOTAL, [(RULE, "firing", "warning")], id="its use is not known"),
    ],
)
def test_another_device_number_is_another_volume_unless_size_and_use_are_the_same(usable_bytes, total_bytes, said):
    driver = looked(Driver().polls(0.3), 1, int(TOTAL * 0.7))
    assert looked(driver, 3, usable_bytes, total_bytes).said(RULE) == said


def test_what_was_renumbered_is_known_by_its_new_number():
    driver = looked(looked(Driver().polls(0.3), 1, int(TOTAL * 0.7)), 3, int(TOTAL * 0.7))
    assert driver.memory.log_dirs["/d1"].volume == "dev 259:3"


OTHER = "another volume answers at its path"
ROOT = {"volume": "dev 8:1", "is_root_volume": True, "total_bytes": TOTAL // 20, "usable_bytes": TOTAL // 25}
NEW = {"volume": "dev 8:99", "is_root_volume": False, "total_bytes": TOTAL, "usable_bytes": TOTAL // 2}


@pytest.mark.parametrize(
    ("case", "used_ratio", "total_bytes", "host", "ended"),
    [
        ("a smaller volume has room", 0.2, TOTAL // 20, None, OTHER),
        ("nearly as large", 0.2, TOTAL - 2 * TOTAL // 100, None, OTHER),
        ("the root volume has room", 0.2, TOTAL // 20, ROOT, OTHER),
        ("a root volume that is larger has room", 0.2, 2 * TOTAL, ROOT, OTHER),
        ("a new volume of the same size has room", 0.2, TOTAL, NEW, OTHER),
        ("the volume was enlarged", 0.45, 2 * TOTAL, None, "recovered"),
        ("its replicas were moved to a larger one", 0.45, 2 * TOTAL, NEW | {"total_bytes": 2 * TOTAL}, "recovered"),
        ("replicas were moved off it", 0.2, TOTAL, None, "recovered"),
        ("its size wavers by a thousandth, as on zfs", 0.2, TOTAL - TOTAL // 1000, None, "recovered"),
        ("the smaller volume is full as well", 0.97, TOTAL // 20, None, None),
    ],
)
def test_room_on_another_volume_is_no_recovery_of_the_one_that_was_full(case, used_ratio, total_bytes, host, ended):
    driver = Driver().polls(*[0.97] * 5)
    driver.host(host_dir(volume="dev 8:17", is_root_volume=False, total_bytes=TOTAL, usable_bytes=TOTAL // 30))
    for _ in range(8):
        if host is not None:
            driver.host(host_dir(**host))
        driver.poll(log_dir("/d1", used_ratio, total_bytes=total_bytes))
    resolved = [one for one in driver.alerts if one.rule == "log_dir_space" and one.status == "resolved"]
    assert [one.reason for one in resolved] == ([] if ended is None else [ended]), case
    changed = [one.alert_id for one in driver.open_alerts() if one.rule == RULE]
    assert [one.merged_into for one in resolved if one.reason == OTHER] == (changed if ended == OTHER else [])


def test_the_full_volume_is_told_again_when_it_is_back():
    driver = Driver().polls(*[0.97] * 5)
    for _ in range(5):
        driver.poll(log_dir("/d1", 0.2, total_bytes=TOTAL // 20))
    driver.polls(*[0.97] * 5)
    assert [alert.rule for alert in driver.open_alerts()] == ["log_dir_space"]
    assert driver.said(RULE)[-1] == (RULE, "resolved", "recovered")
