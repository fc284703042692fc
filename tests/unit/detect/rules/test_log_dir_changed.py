"""log_dir_changed: what counts as another volume. Size, root volume and reserve file: test_log_dir_space."""

import pytest

from tests.unit.detect.builders import GIB, TOTAL, Driver, host_dir

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
