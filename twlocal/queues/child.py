"""The process of one item of a queue: `python -m twlocal.queues.child run WORDS…`, or `… fetch ENGINE run WORDS…`.

It ends when the queue that began it does, however that ends: its standard input is a pipe that only the queue holds.
`run` is the ordinary command. `fetch` gets the weights that the same words would need on that engine.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

# What is in flight may still be stored (see runner.GRACE_SECONDS); then the process ends whatever it does.
PATIENCE = 15.0


def main() -> None:
    """Look after the pipe, then do what the words say."""
    threading.Thread(target=_end_with_queue, name="twlocal-lifeline", daemon=True).start()
    words = sys.argv[1:]
    if words[0] == "fetch":
        sys.exit(_fetch(words[1], words[3:]))
    sys.argv = ["twlocal", *words]
    from twlocal.__main__ import main as command

    command()


def _end_with_queue() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(PATIENCE)
    os._exit(130)


def _fetch(engine: str, words: list[str]) -> int:
    from twlocal import evaluate
    from twlocal.cli.queue import wish_of_words
    from twlocal.errors import TwlocalError

    try:
        wish = evaluate.settled(wish_of_words(words))
        rules = evaluate.rules_of(wish)
        placed, _ = evaluate.place(wish, evaluate.Surroundings(), max_tokens=rules.decoding.max_tokens, earlier=engine)
        placed.fetch()
    except TwlocalError as error:
        sys.stderr.write(f"twlocal: {error}\n")
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    main()
