"""The least that asks a server every question of a CSV file: one aiohttp session, N workers, nothing stored.

    python scripts/bare_aiohttp.py http://127.0.0.1:8000/v1 questions.csv --concurrency 32 --system prompt.txt

The limit that `bench_http.py` holds the tools against: same questions, same words, same library, no engine around it.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
from pathlib import Path

import aiohttp


async def ask(url: str, bodies: list[bytes], concurrency: int) -> int:
    """Post every body, `concurrency` at once; returns how many replies held an answer."""
    left = iter(bodies)
    answered = 0

    async def worker(session: aiohttp.ClientSession) -> None:
        nonlocal answered
        for body in left:
            async with session.post(url, data=body, headers={"Content-Type": "application/json"}) as reply:
                answer = json.loads(await reply.read())
            answered += bool(answer["choices"][0]["message"]["content"])

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=concurrency)) as session:
        await asyncio.gather(*(worker(session) for _ in range(concurrency)))
    return answered


def bodies(questions: Path, system: str) -> list[bytes]:
    """One request body a question."""
    with questions.open(encoding="utf-8", newline="") as file:
        return [
            json.dumps(
                {
                    "model": "stub",
                    "messages": [
                        {"role": "system", "content": system},
                        {
                            "role": "user",
                            "content": f"題目：{row['question']}\n" + "\n".join(f"{x}. {row[x]}" for x in "ABCD"),
                        },
                    ],
                    "temperature": 0,
                    "max_tokens": 4096,
                },
                ensure_ascii=False,
            ).encode("utf-8")
            for row in csv.DictReader(file)
        ]


def main() -> None:
    """Parse the command line, ask, and fail where an answer is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", help="the server's address, ending in /v1")
    parser.add_argument("questions", type=Path, help="a CSV file with the columns question, A, B, C, D")
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--system", type=Path, required=True, help="a text file: the system prompt")
    wish = parser.parse_args()
    asked = bodies(wish.questions, wish.system.read_text(encoding="utf-8"))
    answered = asyncio.run(ask(f"{wish.base}/chat/completions", asked, wish.concurrency))
    print(f"{answered} of {len(asked)} answered")
    raise SystemExit(0 if answered == len(asked) else 1)


if __name__ == "__main__":
    main()
