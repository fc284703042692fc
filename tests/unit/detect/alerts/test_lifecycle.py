"""An alert that comes and goes is held open."""

from tests.unit.detect.builders import Driver, log_dir


def test_an_alert_that_comes_and_goes_is_held_open_and_says_so():
    driver = Driver()
    for _ in range(3):
        driver.polls(0.8, 0.8, 0.6, 0.6)
    assert [item[1] for item in driver.said("log_dir_space")] == [
        *["firing", "resolved"] * 2,
        "firing",
        "firing",
    ]
    assert driver.status() == "online"
    assert driver.open_alerts()[0].evidence["flapping"] == 3
    held = driver.open_alerts()[0].summary
    assert "Broker 7 /d1 has had no log_dir_space since 2023-11-14" in held
    assert "ended 3 times within an hour, held open until 2023-11-14" in held
    driver.polls(0.8, 0.8)
    assert "is filling" in driver.open_alerts()[0].summary, "it is not well, and does not say so"
    driver.polls(0.6, 0.6)
    assert len(driver.said("log_dir_space")) == 8
    driver.polls(*[0.6] * 118)
    assert driver.open_alerts(), "not calm for ten minutes yet"
    driver.polls(*[0.6] * 3)
    assert driver.said("log_dir_space")[-1] == ("log_dir_space", "resolved", "recovered")


def test_a_failure_that_flaps_is_held_too():
    driver = Driver().polls(0.5)
    for _ in range(3):
        driver.poll(log_dir(error_code=56)).polls(0.5, 0.5, 0.5)
    assert [item[1] for item in driver.said("log_dir_offline")] == [*["firing", "resolved"] * 2, "firing", "firing"]
    driver.polls(*[0.5] * 125)
    assert driver.said("log_dir_offline")[-1] == ("log_dir_offline", "resolved", "recovered")


def test_a_flapping_directory_that_fails_ends_its_alert_at_once():
    driver = Driver()
    for _ in range(3):
        driver.polls(0.8, 0.8, 0.6, 0.6)
    driver.poll(log_dir(error_code=56))
    assert ("log_dir_space", "resolved", "offline") in driver.said()
    assert [str(alert.rule) for alert in driver.open_alerts()] == ["log_dir_offline"]
