"""The table of releases says right, wrong or absent from what pytest reports."""

from xml.etree import ElementTree

from tests.versions.matrix import cells_of, passed

REPORT = """<testsuite>
  <testcase name="test_lost_directories_page_and_more[2.8.2-zookeeper]"/>
  <testcase name="test_a_filling_directory_is_told_of_at_every_level[2.8.2-zookeeper]"><failure/></testcase>
  <testcase name="test_a_directory_that_ran_full_is_told_of[2.8.2-zookeeper]"/>
  <testcase name="test_a_directory_that_ran_full_is_told_of[2.8.2-zookeeper]"><error/></testcase>
</testsuite>"""


def test_a_cell_is_right_or_wrong_and_absent_without_a_run():
    ran = passed(ElementTree.fromstring(REPORT).iter("testcase"))
    assert cells_of(ran) == ["absent", "right", "wrong", "absent", "wrong"]
