"""`twlocal protocols`."""

from __future__ import annotations

import click

from twlocal.cli.common import json_option, out


@click.command()
@click.argument("name", metavar="[PROTOCOL]", required=False)
@json_option
def protocols(name: str | None, as_json: bool) -> None:
    """List the bundled protocols, or show one in full: its prompt, its decoding, its hashes."""
    import json
    from dataclasses import asdict

    from twlocal import protocol
    from twlocal.report.table import table

    if name is None:
        listed = [protocol.load(known) for known in protocol.names()]
        if as_json:
            out(json.dumps([asdict(one) | {"sha256": one.sha256} for one in listed], ensure_ascii=False, indent=1))
            return
        rows = [[one.name, one.sha256[:12], "yes" if one.publishable else "no", one.title] for one in listed]
        out("\n".join(line.rstrip() for line in table(rows, ["protocol", "sha256", "publishable", "what it is"])))
        return
    one = protocol.load(name)
    if as_json:
        out(
            json.dumps(
                asdict(one) | {"sha256": one.sha256, "system_sha256": one.system_sha256}, ensure_ascii=False, indent=1
            )
        )
        return
    decoding = one.decoding
    budget = decoding.max_tokens if one.own_budget else "the benchmark's own, else 4096"
    out(
        f"{one.name}: {one.title}\nsha256 {one.sha256}\n"
        f"publishable: {'yes' if one.publishable else 'no, ' + one.why_not}\n"
        f"temperature {decoding.temperature}, top_p {decoding.top_p}, max tokens: {budget}; reader: {one.reader}; "
        f"options {'permuted by the question hash' if one.shuffle else 'in the order of the source'}\n"
        f"\nsystem prompt (sha256 {one.system_sha256}):\n{one.system}\n\nuser message:\n{one.body}"
    )
    for number, example in enumerate(one.examples, 1):
        out(f"\nworked example {number}:\n{example.question} {' / '.join(example.options)}\n{example.reply}")
