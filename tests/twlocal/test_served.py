"""Whether a server has another model than before behind a name, as far as it tells."""

from __future__ import annotations

from typing import Any

import pytest

from twlocal.served import another

Q8: dict[str, Any] = {"name": "m", "meta": {"n_params": 134515008, "size": 144811200, "n_ctx": 4096}}
Q4: dict[str, Any] = {"name": "m", "meta": {"n_params": 134515008, "size": 91728768, "n_ctx": 4096}}


@pytest.mark.parametrize(
    ("before", "now", "says"),
    [
        ([Q8], Q4, "size was 144811200 and is 91728768"),
        ([{}, Q8], Q4, "size"),
        ([{"root_sha256": "a"}], {"root_sha256": "b"}, "root_sha256 was a and is b"),
        ([{"quantization": "awq"}], {"quantization": "fp8"}, "quantization"),
        ([{"long_rope": True}], {"long_rope": False}, "long_rope"),
        ([{"served_as": ["m-05"]}], {"served_as": ["m-11"]}, "from m-05 and come from m-11"),
    ],
)
def test_another_model(before: list[dict[str, Any]], now: dict[str, Any], says: str) -> None:
    assert says in another(before, now)


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ([], Q4),
        ([Q4], Q4),
        ([Q4], {"name": "m"}),
        ([{"name": "m"}], Q4),
        ([Q4], {"name": "m", "meta": {**Q4["meta"], "n_ctx": 8192}, "max_model_len": 8192}),
        ([{"meta": None}], {"meta": []}),
        ([{"served_as": ["a", "b"]}], {"served_as": ["b", "c"]}),
        ([{"served_as": ["a"]}], {"served_as": []}),
    ],
)
def test_nothing_says_that_it_is_another(before: list[dict[str, Any]], now: dict[str, Any]) -> None:
    assert another(before, now) == ""
