"""A run's apparatus as others may see it: its manifest, its sittings, the provenance made of both, and its marks. Pure.

The manifest of a bundle is the run's own without what may not leave (see `scrub`). Its key is made again of what is
left, so that whoever reads it can make it too.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from twlocal.backend import Decoding
from twlocal.bundle.scrub import bench_name, model_name, scrubbed
from twlocal.bundle.strict import Malformed
from twlocal.errors import ProtocolError
from twlocal.plural import counted
from twlocal.protocol import Example, Protocol, load
from twlocal.readers import READERS

FORMAT = "twlocal-run/1"
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z")

# What a run may be marked with, and what each mark says.
MARKS: Mapping[str, str] = {
    "quantised": "the weights are quantised",
    "precision_unknown": "the engine does not tell whether the weights are quantised",
    "protocol": "its protocol is not a published one",
    "deviations": "the engine did not decode as the protocol asks",
    "private_text": "it holds responses to questions that are not public",
}
_NEUTRAL = {
    "repeat_penalty": 1,
    "repetition_penalty": 1,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "stop_at_box": False,
}


@dataclass(frozen=True)
class RunManifest:
    """A run as its bundle describes it. `manifest`: as planned. `sittings`: in order, without process and host.

    rows: questions in the plan, each asked `repeats` times. private: its questions are not public.
    """

    name: str
    model: str
    backend: str
    bench: str
    protocol: str
    repeats: int
    rows: int
    private: bool
    created_at: str
    completed_at: str
    manifest: Mapping[str, Any]
    sittings: tuple[Mapping[str, Any], ...]

    @property
    def reader(self) -> str:
        """The protocol's reader, that of the published score."""
        return str(self.manifest["protocol"]["reader"])

    @property
    def key(self) -> str:
        """sha256 (hex) over what could change an answer, as it stands in this manifest."""
        return digest(self.manifest["identity"])

    def as_json(self) -> dict[str, Any]:
        return {"format": FORMAT, "key": self.key} | asdict(self)


def digest(value: Any) -> str:
    """sha256 (hex) of plain data as JSON with sorted keys."""
    return hashlib.sha256(json.dumps(value, ensure_ascii=False, sort_keys=True).encode("utf-8")).hexdigest()


def describe(
    labels: Mapping[str, Any], manifest: Mapping[str, Any], sittings: Sequence[Mapping[str, Any]], hosts: Iterable[str]
) -> RunManifest:
    """The shareable manifest of a run. labels: the other fields of RunManifest. hosts: names that must not appear."""
    forbidden = tuple(host for host in hosts if len(host) >= 3)
    clean = scrubbed({name: part for name, part in manifest.items() if name != "protocol"}, forbidden)
    clean["protocol"] = manifest["protocol"]  # sent to the model, and bound by its own hash
    clean["identity"]["model"]["id"] = model_name(manifest["identity"]["model"]["id"])
    clean["bench"]["name"] = bench_name(manifest["bench"]["name"])
    return RunManifest(
        **{
            **labels,
            "model": model_name(labels["model"]),
            "bench": bench_name(labels["bench"]),
            "manifest": clean,
            "sittings": tuple(scrubbed(sitting, forbidden) for sitting in sittings),
        }
    )


def from_json(data: Any) -> RunManifest:
    """The manifest in parsed JSON. Raises Malformed where it is none, or does not hold together."""
    try:
        if data["format"] != FORMAT:
            raise Malformed(f"is of the format {data['format']!r}, and this twlocal reads {FORMAT}")
        stated = data["key"]
        fields = {name: value for name, value in data.items() if name not in ("format", "key")}
        run = RunManifest(**{**fields, "sittings": tuple(fields["sittings"])})
        _shapes(run)
        # Whatever is made of a manifest is made once here, where it may fail.
        marks(run, {}, full=False)
        provenance(run)
        if run.key != stated:
            raise Malformed("has a key that is not the hash of its identity")
        _together(run)
    except Malformed:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, ProtocolError) as error:
        raise Malformed(f"does not hold together ({type(error).__name__}: {error})") from error
    return run


def _shapes(run: RunManifest) -> None:
    texts = (run.name, run.model, run.backend, run.bench, run.protocol, run.created_at, run.completed_at)
    if not all(isinstance(text, str) and text for text in texts):
        raise Malformed("has a label that is empty or no text")
    if type(run.private) is not bool or not all(type(n) is int and n > 0 for n in (run.repeats, run.rows)):
        raise Malformed("has counts that are none")
    said, drawn = run.manifest["protocol"], run.manifest["sample"]
    if not all(isinstance(said[name], str) for name in ("name", "title", "system", "body", "why_not")):
        raise Malformed("has a protocol whose name or texts are none")
    if not all(isinstance(said.get(name, ""), str) for name in ("title_zh", "why_not_zh")):
        raise Malformed("has a protocol whose Chinese title or note is no text")
    if said["reader"] not in READERS:
        raise Malformed(f"names a reader that is not known here: {said['reader']!r}")
    if type(drawn["ids"]) is not bool or any(
        drawn[name] is not None and (type(drawn[name]) is not int or drawn[name] < 1)
        for name in ("per_subject", "limit")
    ):
        raise Malformed("has a sample that cannot be drawn")
    if not all(_TIME.fullmatch(time) for time in (run.created_at, run.completed_at)):
        raise Malformed("has a time that is none")
    if not run.sittings:
        raise Malformed("has no sitting, although it was answered")
    for sitting in run.sittings:
        for name in ("started_at", "last_seen_at", "engine", "engine_version"):
            if not isinstance(sitting[name], str):
                raise Malformed(f"has a sitting whose {name} is no text")
        for name in ("ended_at", "outcome"):
            if not isinstance(sitting[name], str | None):
                raise Malformed(f"has a sitting whose {name} is no text")
        times = (sitting["started_at"], sitting["last_seen_at"], sitting["ended_at"] or sitting["started_at"])
        if not all(_TIME.fullmatch(time) for time in times):
            raise Malformed("has a sitting with a time that is none")
        if not isinstance(sitting["machine"], dict) or not isinstance(sitting["engine_info"]["sent"], dict):
            raise Malformed("has a sitting without engine or machine")
        if sitting["engine_info"]["quantised"] not in (True, False, None):
            raise Malformed("has a sitting that is neither quantised nor not")


def _together(run: RunManifest) -> None:
    manifest, identity = run.manifest, run.manifest["identity"]
    pairs = {
        "model": (identity["model"]["id"], run.model),
        "backend": (identity["backend"], run.backend),
        "repeats": (identity["repeats"], run.repeats),
        "planned repeats": (manifest["repeats"], run.repeats),
        "dataset fingerprint": (identity["dataset"]["fingerprint"], manifest["bench"]["fingerprint"]),
        "dataset revision": (identity["dataset"]["revision"], manifest["bench"]["revision"]),
        "dataset": (manifest["bench"]["name"], run.bench),
        "decoding": (identity["decoding"], manifest["decoding"]),
        "protocol": (identity["protocol"], manifest["protocol"]["sha256"]),
        "protocol name": (manifest["protocol"]["name"], run.protocol),
        "number of rows": (manifest["sample"]["rows"], run.rows),
        "protocol hash": (manifest["protocol"]["sha256"], protocol_of(manifest).sha256),
        "system prompt's hash": (manifest["protocol"]["system_sha256"], protocol_of(manifest).system_sha256),
        "engines": (
            [(sitting["engine_info"]["engine"], sitting["engine_info"]["version"]) for sitting in run.sittings],
            [(sitting["engine"], sitting["engine_version"]) for sitting in run.sittings],
        ),
    }
    for what, (one, other) in pairs.items():
        if one != other:
            raise Malformed(f"states two of its {what}: {one!r} and {other!r}")


def protocol_of(manifest: Mapping[str, Any]) -> Protocol:
    """The protocol that a manifest says was used, made again from its texts."""
    said = manifest["protocol"]
    examples = (Example(one["question"], tuple(one["options"]), one["reply"]) for one in said["examples"])
    return Protocol(
        name=said["name"],
        title=said["title"],
        system=said["system"],
        body=said["body"],
        decoding=Decoding(**manifest["decoding"]),
        reader=said["reader"],
        shuffle=said["shuffle"],
        examples=tuple(examples),
    )


def protocol_bar(manifest: Mapping[str, Any]) -> str:
    """Why a score under a manifest's protocol is not publishable, judged by the protocols that ship here; "" if it is.

    What a manifest says of itself is not asked. The budget of new tokens is free.
    """
    said = manifest["protocol"]
    try:
        ours = load(said["name"]) if not said["name"].endswith(".toml") else None
    except ProtocolError:
        ours = None
    if ours is None:
        return said["why_not"] or "a protocol that does not ship with twlocal"
    if ours.with_budget(manifest["decoding"]["max_tokens"]).sha256 != said["sha256"]:
        return f"not the protocol {said['name']} as it ships with this twlocal: a text or a value was changed"
    return "" if ours.publishable else ours.why_not


def quantised(sittings: Iterable[Mapping[str, Any]]) -> bool | None:
    """Whether a run's weights are quantised: True if any sitting says so, None if the last one does not tell."""
    told = [sitting["engine_info"]["quantised"] for sitting in sittings]
    return True if True in told else told[-1] if told else None


def deviations(run: RunManifest, flags: Mapping[str, int]) -> list[str]:
    """Where the engine did not decode as the protocol asks, in words. flags: how many responses have which flag."""
    found = [
        f"{counted(count, 'response is', 'responses are')} flagged {flag}"
        for flag, count in sorted(flags.items())
        if is_deviation(flag)
    ]
    asked = run.manifest["decoding"]
    for sitting in run.sittings:
        sent = sitting["engine_info"]["sent"]
        for name, value in sent.items():
            wanted = asked.get(name, _NEUTRAL.get(name))
            if wanted is not None and value is not None and value != wanted:
                found.append(f"{name} was sent as {value}, not {wanted}")
    return list(dict.fromkeys(found))


def is_deviation(flag: str) -> bool:
    """Whether a response's flag says that a value of the protocol was not honoured."""
    return flag.endswith("_not_honoured")


def marks(run: RunManifest, flags: Mapping[str, int], *, full: bool) -> list[str]:
    """What a run is marked with wherever it is shown: keys of MARKS."""
    precision = quantised(run.sittings)
    there = {
        "quantised": precision is True,
        "precision_unknown": precision is None,
        "protocol": bool(protocol_bar(run.manifest)),
        "deviations": bool(deviations(run, flags)),
        "private_text": full and run.private,
    }
    return [name for name in MARKS if there[name]]


def provenance(run: RunManifest) -> dict[str, Any]:
    """What a result was measured with, a sitting after the other, as the public runners' provenance files tell it."""
    manifest = run.manifest
    return {
        "model": manifest["identity"]["model"],
        "backend": run.backend,
        "quantised": quantised(run.sittings),
        "dataset": dict(manifest["bench"]),
        "sample": dict(manifest["sample"]),
        "protocol": {name: manifest["protocol"][name] for name in ("name", "sha256", "system_sha256", "reader")},
        "decoding": dict(manifest["decoding"]),
        "repeats": run.repeats,
        "planned_on": dict(manifest["machine"]),
        "sittings": [
            {
                "engine": sitting["engine"],
                "engine_version": sitting["engine_version"],
                "settings": sitting["engine_info"].get("settings", {}),
                "sent": sitting["engine_info"]["sent"],
                "engine_model": sitting["engine_info"].get("model", {}),
                "machine": sitting["machine"],
                "started_at": sitting["started_at"],
                "ended_at": sitting["ended_at"],
            }
            for sitting in run.sittings
        ],
    }
