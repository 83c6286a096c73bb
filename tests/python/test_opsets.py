"""The backend suite written at opsets 13, 17, 21 and 28 gives the same answers; what an opset cannot say is refused with a code, as
often as docs/reference/scoreboard.md says."""

import re

import pytest

import opsets
import scoreboard

_, NOT_PASSING = scoreboard.documented()
NAMES = scoreboard.passing_names(NOT_PASSING)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("opset", opsets.OPSETS)
@pytest.mark.parametrize("name", NAMES)
def test_same_answers(name, opset):
    assert opsets.check(name, opset) in (None, "refused")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("opset", opsets.OPSETS)
def test_refusals_are_as_many_as_the_document_says(opset):
    refused = sum(opsets.converted(name, opset)[1] is not None for name in NAMES)
    (row,) = re.findall(rf"^\| {opset} \| (\d+) \| (\d+) \|$", scoreboard.DOCUMENT.read_text(), re.M)
    assert (len(NAMES) - refused, refused) == (int(row[0]), int(row[1]))
