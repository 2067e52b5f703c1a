"""Host names and the text they fold into, both ways; what is no hostlist is never taken for no host."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from rackwright.hostlists import NoHostlist, folded, unfolded
from rackwright.provision import jobs
from rackwright.validate.slurm import Job

if TYPE_CHECKING:
    from pathlib import Path

names = st.sets(st.builds("{}-{:03d}".format, st.sampled_from(["node", "h100"]), st.integers(1, 1200)))


@given(names)
def test_what_was_folded_unfolds(hosts: set[str]) -> None:
    assert set(unfolded(folded(hosts))) == hosts


@pytest.mark.parametrize("text", ["node-[1-", "node-[3-1]", "node-[x]"])
def test_what_is_no_hostlist_is_refused(text: str) -> None:
    with pytest.raises(NoHostlist):
        unfolded(text)


def test_a_job_whose_nodes_are_not_understood_is_no_job_without_nodes() -> None:
    with pytest.raises(ValidationError):
        Job.model_validate({"job_id": 7, "job_state": ["RUNNING"], "nodes": "node-[1-"})


@pytest.mark.parametrize("line", ["7|alice|node-[1-", "nonsense"])
def test_an_answer_that_is_not_understood_is_told(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "_squeue", lambda *_: line)
    with pytest.raises(jobs._NoAnswer, match="not understood"):  # noqa: SLF001 (its own word for it)
        jobs._ask(["head-001"], tmp_path)  # noqa: SLF001 (the question itself is stood in for)
