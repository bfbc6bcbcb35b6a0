"""The embedded engine's decoder and backend, over a fake llama.cpp that counts cells, positions and sequences."""

import ctypes
import json

import pytest

pytest.importorskip("numpy")
import numpy as np

from twlocal import token_sizes
from twlocal.backend import CUT, FINISH_LENGTH, FINISH_STOP, TOO_LONG, Decoding, Message, Request
from twlocal.backends.llama_cpp.decoder import BATCH
from twlocal.backends.llama_cpp.engine import LlamaCpp
from twlocal.backends.llama_cpp.model import Model
from twlocal.backends.llama_cpp.settings import parse
from twlocal.errors import BackendError, EngineDied, ModelError, UsageError
from twlocal.served import another

# -- a llama.cpp of bytes ----------------------------------------------------------------------------------------------

BOS, EOS, THINK, END_THINK, JUNK = range(256, 261)
CONTROL = {BOS: "<s>", EOS: "</s>", THINK: "<think>", END_THINK: "</think>", JUNK: "<|junk|>"}
VOCABULARY = 261
TEMPLATE = "<s>{% for m in messages %}[{{ m['role'] }}]{{ m['content'] }}{% endfor %}[assistant]"


def tokens_of(text):
    ids, data = [], text.encode("utf-8") if isinstance(text, str) else text
    while data:
        special = next((k for k, v in CONTROL.items() if data.startswith(v.encode())), None)
        ids.append(data[0] if special is None else special)
        data = data[1 if special is None else len(CONTROL[special]) :]
    return ids


def always(value):
    return lambda self, *arguments: value


class FakeApi:
    """llama.cpp's functions over a model whose tokens are bytes and whose answer is `reply(the last user turn)`."""

    class llama_batch(ctypes.Structure):
        _fields_ = (
            ("n_tokens", ctypes.c_int32),
            ("token", ctypes.POINTER(ctypes.c_int32)),
            ("embd", ctypes.POINTER(ctypes.c_float)),
            ("pos", ctypes.POINTER(ctypes.c_int32)),
            ("n_seq_id", ctypes.POINTER(ctypes.c_int32)),
            ("seq_id", ctypes.POINTER(ctypes.POINTER(ctypes.c_int32))),
            ("logits", ctypes.POINTER(ctypes.c_int8)),
        )

    class Params:
        pass

    def __init__(self, reply, *, trained=4096, template=TEMPLATE, memory=10**9):
        self.reply, self.trained, self.memory = reply, trained, memory
        self.metadata = {"general.architecture": "bytes", "tokenizer.chat_template": template, "general.file_type": "1"}
        self.contexts = []  # cells of each context made
        self.decoded = []  # (tokens in the batch, sequences in it) of each decode
        self.broken = False

    def llama_model_default_params(self):
        return self.Params()

    llama_context_default_params = llama_model_default_params

    def llama_model_load_from_file(self, path, params):
        return 1

    llama_model_get_vocab = llama_model_has_decoder = always(1)
    llama_model_has_encoder = always(0)
    llama_model_free = always(None)
    llama_vocab_n_tokens = always(VOCABULARY)
    llama_vocab_bos = always(BOS)
    llama_vocab_eos = always(EOS)
    llama_vocab_get_add_bos = always(True)
    llama_model_n_params = always(1000)
    llama_model_size = always(2000)

    def llama_model_n_ctx_train(self, model):
        return self.trained

    def llama_vocab_get_text(self, vocab, token):
        return CONTROL[token].encode()

    def llama_vocab_is_eog(self, vocab, token):
        return token == EOS

    def llama_vocab_is_control(self, vocab, token):
        return token in CONTROL

    def llama_model_meta_count(self, model):
        return len(self.metadata)

    def llama_model_desc(self, model, buffer, size):
        buffer.value = b"bytes 1K F16"

    def llama_model_meta_key_by_index(self, model, place, buffer, room):
        return self._put(list(self.metadata)[place], buffer, room)

    def llama_model_meta_val_str_by_index(self, model, place, buffer, room):
        return self._put(list(self.metadata.values())[place], buffer, room)

    def _put(self, text, buffer, room):
        data = text.encode("utf-8")
        buffer.value = data[: room - 1]
        return len(data)

    def llama_tokenize(self, vocab, data, size, buffer, room, add_special, parse_special):
        assert parse_special and not add_special
        ids = tokens_of(data)
        buffer[: len(ids)] = ids
        return len(ids)

    def llama_token_to_piece(self, vocab, token, buffer, room, lstrip, special):
        shown = b"" if token in CONTROL and not special else CONTROL.get(token, "").encode()
        data = shown if token in CONTROL else bytes([token])
        buffer[: len(data)] = data
        return len(data)

    def llama_init_from_model(self, model, params):
        if params.n_ctx > self.memory:
            return None
        self.cells, self.sequences, self.shared = params.n_ctx, {}, {}
        self.contexts.append(params.n_ctx)
        return len(self.contexts)

    def llama_free(self, context):
        self.cells = 0

    def llama_get_memory(self, context):
        return context

    def llama_memory_seq_cp(self, memory, source, target, start, end):
        assert target not in self.sequences
        self.sequences[target] = list(self.sequences[source])
        self.shared[target] = len(self.sequences[source])

    def llama_memory_seq_rm(self, memory, sequence, start, end):
        self.sequences.pop(sequence, None)
        self.shared.pop(sequence, None)
        return True

    def llama_decode(self, context, batch):
        assert 0 < batch.n_tokens <= BATCH
        if self.broken:
            return -3
        self.rows, seen = {}, set()
        for place in range(batch.n_tokens):
            sequence = batch.seq_id[place][0]
            assert batch.n_seq_id[place] == 1
            held = self.sequences.setdefault(sequence, [])
            assert batch.pos[place] == len(held), "positions go on where the sequence ends"
            held.append(batch.token[place])
            seen.add(sequence)
            if batch.logits[place]:
                self.rows[place] = self._logits(held)
        self.decoded.append((batch.n_tokens, seen))
        used = sum(len(held) - self.shared.get(sequence, 0) for sequence, held in self.sequences.items())
        return 0 if used <= self.cells else 1

    def _logits(self, held):
        # What was asked is read back from the tokens, so that a prompt in the wrong slot would answer wrongly.
        asked = bytes(token for token in held if token < 256).decode("utf-8", errors="replace")
        question = asked.split("[user]")[-1].split("[assistant]")[0]
        start = len(held) - 1 - held[::-1].index(ord("]"))
        answer = [*self.reply(question), EOS]
        row = np.full(VOCABULARY, -1.0, dtype=np.float32)
        row[answer[len(held) - start - 1]] = 1.0
        return row

    def llama_get_logits_ith(self, context, place):
        return self.rows[place].ctypes.data_as(ctypes.POINTER(ctypes.c_float))


@pytest.fixture
def make(tmp_path):
    """Backends over a FakeApi: make(reply, settings…) → (backend, api)."""
    path = tmp_path / "bytes.gguf"
    path.write_bytes(b"GGUF")
    opened = []

    def make(reply=lambda question: tokens_of("\\boxed{A}"), *, decoding=None, api=None, **settings):
        api = api or FakeApi(reply)
        model = Model(api, str(path), gpu_layers=0, repack=False)
        backend = LlamaCpp(
            model,
            decoding or Decoding(max_tokens=32),
            parse({"slots": 1, "threads": 1, **settings}),
            offload=False,
            layers=0,
            repack=False,
            build="fake",
        )
        opened.append(backend)
        return backend, api

    yield make
    for backend in opened:
        backend.close()


def ask(key, question, max_tokens=32):
    return Request(key, (Message("system", "看題。"), Message("user", question)), max_tokens)


def test_each_answer_goes_to_its_own_request_whatever_the_order(make):
    answers = {"Q1": "\\boxed{A}" + "甲" * 9, "Q2": "\\boxed{B}", "Q3": "\\boxed{C}" + "丙" * 4}
    for slots in (1, 2, 3):
        backend, _ = make(lambda question: tokens_of(answers[question]), slots=slots)
        got = list(backend.generate(ask(q, q, 99) for q in answers))
        assert {c.key: c.text for c in got} == answers
    assert [c.key for c in got] == ["Q2", "Q3", "Q1"], "the shortest first: in the order of finishing"


def test_the_first_tokens_of_an_answer_are_the_answer_under_a_smaller_budget(make):
    """Every budget, on bytes that end within characters, with control tokens that are shown and that are not."""
    answer = [THINK, *tokens_of("想🍵"), JUNK, END_THINK, *tokens_of("答案是\\boxed{乙}")]
    backend, _ = make(lambda question: answer)
    (whole,) = backend.generate([ask("k", "Q", 99)])
    packed = token_sizes.pack(whole.text, whole.token_sizes)
    assert whole.finish == FINISH_STOP and len(whole.token_sizes) == len(answer) == whole.completion_tokens - 1
    for cap in range(1, len(answer) + 1):
        (cut,) = backend.generate([ask("k", "Q", cap)])
        assert token_sizes.first(whole.text, token_sizes.unpack(packed), cap) == cut.text
        assert cut.finish == FINISH_LENGTH and cut.completion_tokens == cap


def test_one_slot_promises_to_repeat_itself_and_several_do_not(make):
    promises = [make(slots=slots)[0].describe().settings["deterministic"] for slots in (1, 2)]
    assert promises == [True, False]


def test_a_completion_says_how_it_came_about(make):
    backend, _ = make()
    (done,) = backend.generate([ask("k", "問")])
    prompt = "<s>[system]看題。[user]問[assistant]"
    assert (done.text, done.finish, done.error_kind) == ("\\boxed{A}", FINISH_STOP, "")
    assert done.prompt_tokens == len(tokens_of(prompt))
    assert done.completion_tokens == len("\\boxed{A}") + 1, "the end token is counted"
    assert done.prompt_hash == backend._template.render(ask("k", "問").messages).sha256
    assert done.latency >= 0


def test_the_budget_counts_exactly(make):
    backend, _ = make(lambda question: tokens_of("abcdefgh"))
    got = {c.key: c for c in backend.generate(ask(str(n), "q", n) for n in (1, 7, 8, 9))}
    assert [(got[k].finish, got[k].completion_tokens, got[k].text) for k in ("1", "7", "8", "9")] == [
        (FINISH_LENGTH, 1, "a"),
        (FINISH_LENGTH, 7, "abcdefg"),
        (FINISH_LENGTH, 8, "abcdefgh"),
        (FINISH_STOP, 9, "abcdefgh"),
    ]


def test_a_character_cut_by_the_budget_costs_only_itself(make):
    backend, _ = make(lambda question: tokens_of("答案：臺"))
    (done,) = backend.generate([ask("k", "q", 11)])
    assert done.text == "答案：\ufffd"
    assert done.finish == FINISH_LENGTH


def test_thoughts_stay_marked_and_other_control_tokens_do_not_show(make):
    backend, _ = make(lambda question: [THINK, *tokens_of("嗯"), END_THINK, JUNK, *tokens_of("好")])
    (done,) = backend.generate([ask("k", "q")])
    assert done.text == "<think>嗯</think>好"


def test_the_context_is_what_prompt_and_budget_need_not_512(make):
    backend, api = make()
    (done,) = backend.generate([ask("k", "x" * 600, 1024)])
    assert done.finish == FINISH_STOP
    assert api.contexts[0] >= done.prompt_tokens + 1024
    assert backend.describe().settings["n_ctx"] == api.contexts[0]


# -- the reported faults of engines (P2-3, P2-5), as written here and as given ----------------------------------------

HERE = {
    "P2-3": {"fake_llama": {"n_ctx": 512}, "prompt_tokens": 600, "max_tokens": 1024},
    "P2-5": {
        "batch": ["Q1", "Q2", "Q3"],
        "fake_backend_returns": [
            {"index": 2, "text": "\\boxed{C}"},
            {"index": 0, "text": "\\boxed{A}"},
            {"index": 1, "text": "\\boxed{B}"},
        ],
    },
}


@pytest.fixture(params=["written here", "given"])
def given(request):
    if request.param == "written here":
        return HERE.__getitem__
    path = request.getfixturevalue("shared") / "cases" / "given.jsonl"
    cases = {case["id"]: case["input"] for case in map(json.loads, path.read_text(encoding="utf-8").splitlines())}
    return cases.__getitem__


def test_p2_3_the_context_comes_from_prompt_and_budget(make, given):
    case = given("P2-3")
    frame = len(tokens_of("<s>[system]看題。[user][assistant]"))
    question = "x" * (case["prompt_tokens"] - frame)
    backend, api = make()
    (done,) = backend.generate([ask("k", question, case["max_tokens"])])
    assert (done.prompt_tokens, done.finish) == (case["prompt_tokens"], FINISH_STOP)
    assert min(api.contexts) >= case["prompt_tokens"] + case["max_tokens"] > case["fake_llama"]["n_ctx"]
    # Told to keep the small context, it says what is needed and answers nothing.
    backend, _ = make(context=case["fake_llama"]["n_ctx"])
    (done,) = backend.generate([ask("k", question, case["max_tokens"])])
    assert (done.error_kind, done.text) == (TOO_LONG, "")
    assert str(case["prompt_tokens"] + case["max_tokens"]) in done.error


def test_p2_5_answers_follow_their_request_not_their_arrival(make, given):
    case = given("P2-5")
    arrivals = [(case["batch"][one["index"]], one["text"]) for one in case["fake_backend_returns"]]
    # The sooner it is to arrive, the shorter its text.
    texts = {question: text + "。" * 4 * place for place, (question, text) in enumerate(arrivals)}
    got = {}
    for slots in (1, 3):
        backend, _ = make(lambda question: tokens_of(texts[question]), slots=slots)
        done = list(backend.generate(ask(question, question, 99) for question in case["batch"]))
        got[slots] = {one.key: one.text for one in done}
    assert [one.key for one in done] == [question for question, _ in arrivals], "they do arrive in that order"
    assert got[1] == got[3] == texts


def test_a_longer_prompt_grows_the_context_and_a_shorter_one_never_shrinks_it(make):
    backend, api = make()
    got = list(backend.generate(ask(str(n), "x" * n) for n in (10, 900, 20, 901)))
    assert len(api.contexts) == 2
    assert api.contexts[0] < api.contexts[1]
    assert {c.finish for c in got} == {FINISH_STOP}


def test_a_longrope_model_never_changes_its_rotation_within_a_run(make):
    api = FakeApi(lambda question: tokens_of("A"), trained=9000)
    api.metadata["bytes.rope.scaling.original_context_length"] = "4096"
    backend, _ = make(api=api)
    list(backend.generate([ask("k", "q"), ask("l", "x" * 5000)]))
    assert min(api.contexts) > 4096
    long = backend.describe().model
    backend, _ = make(api=api, context=512)
    list(backend.generate([ask("k", "q")]))
    assert api.contexts[-1] < 4096, "a context set below the change stays below it"
    assert another([long], backend.describe().model), "and no run goes on from one to the other"
    assert not another([long], long)


def test_what_cannot_fit_the_model_is_too_long_and_never_answered(make):
    backend, api = make(api=FakeApi(lambda question: tokens_of("A"), trained=600))
    got = {c.key: c for c in backend.generate([ask("fits", "q"), ask("long", "x" * 600), ask("budget", "q", 590)])}
    assert got["fits"].text == "A"
    for key in ("long", "budget"):
        assert (got[key].error_kind, got[key].text, got[key].completion_tokens) == (TOO_LONG, "", None)
    assert "needs 667 tokens (635 of prompt, 32 of answer)" in got["long"].error
    assert "the model has 600" in got["long"].error
    assert max(api.contexts) <= 768


def test_a_set_context_is_made_at_once_and_limits(make):
    backend, api = make(context=1000)
    got = {c.key: c for c in backend.generate([ask("a", "q"), ask("b", "x" * 800), ask("c", "x" * 1000)])}
    assert len(api.contexts) == 1
    assert api.contexts[0] >= 1000
    assert [got[k].error_kind for k in "abc"] == ["", "", TOO_LONG]
    assert "the setting context allows 1000" in got["c"].error
    with pytest.raises(UsageError, match="trained for 4096"):
        make(context=5000)


def test_the_opening_is_computed_once_and_never_more_than_the_prompts_must_share(make):
    backend, api = make()
    list(backend.generate(ask(str(n), f"same beginning {n}") for n in range(5)))
    opening = len(tokens_of("<s>[system]看題。[user]"))
    assert backend.describe().settings["prefix_tokens"] == opening
    prefill = [size for size, sequences in api.decoded if size > 1]
    assert prefill == [opening] + [len(tokens_of("same beginning 0[assistant]"))] * 5


def test_another_opening_replaces_the_prefix(make):
    backend, _ = make(lambda question: tokens_of(question), slots=2)
    chats = [
        Request(f"{role}{n}", (Message("system", role), Message("user", f"{role}{n}")), 32)
        for n in range(3)
        for role in ("one", "two")
    ]
    assert {c.key: c.text for c in backend.generate(chats)} == {c.key: c.key for c in chats}


def test_long_prompts_are_read_in_chunks_beside_writing_slots(make):
    backend, api = make(lambda question: tokens_of("y" * 20), slots=2)
    got = list(backend.generate([ask("short", "q"), ask("long", "x" * 1500)]))
    assert {c.text for c in got} == {"y" * 20}
    assert max(size for size, _ in api.decoded) == BATCH
    assert any(size == BATCH and len(sequences) == 2 for size, sequences in api.decoded)


def test_requests_are_pulled_only_as_slots_get_free(make):
    backend, _ = make(slots=3)
    pulled, done = 0, 0

    def requests():
        nonlocal pulled
        for n in range(20):
            pulled += 1
            yield ask(str(n), f"q{n}")

    for _ in backend.generate(requests()):
        done += 1
        assert pulled - done <= 3
    assert done == 20


def test_closing_the_iterator_stops_at_once_and_the_backend_goes_on(make):
    backend, api = make(slots=2)
    running = backend.generate(ask(str(n), f"q{n}") for n in range(10))
    next(running)
    steps = len(api.decoded)
    running.close()
    assert len(api.decoded) == steps
    assert set(api.sequences) <= {0}
    assert [c.key for c in backend.generate([ask("later", "q")])] == ["later"]


def test_a_broken_decode_is_an_error_not_an_answer(make):
    backend, api = make()
    api.broken = True
    with pytest.raises(EngineDied, match="status -3"):
        list(backend.generate([ask("k", "q")]))


def test_output_that_is_not_a_number_is_no_answer(make):
    backend, api = make()
    api._logits = lambda held: np.full(VOCABULARY, np.nan, dtype=np.float32)
    (done,) = backend.generate([ask("k", "q")])
    assert done.error_kind == CUT
    assert "not a number" in done.error


def test_no_memory_for_a_context_names_the_way_out(make):
    backend, _ = make(api=FakeApi(lambda question: [], memory=100))
    with pytest.raises(BackendError, match="no context of") as caught:
        list(backend.generate([ask("k", "q")]))
    assert "fewer slots" in caught.value.hint


def test_a_model_without_a_chat_template_is_refused_with_two_ways_out(make):
    with pytest.raises(ModelError, match="no chat template") as caught:
        make(api=FakeApi(lambda question: [], template=""))
    assert "--chat-template" in caught.value.hint
    assert "server" in caught.value.hint
    backend, _ = make(api=FakeApi(lambda question: tokens_of("A"), template=""), chat_template=TEMPLATE)
    assert [c.text for c in backend.generate([ask("k", "q")])] == ["A"]
    assert backend.describe().model["chat_template_from"] == "setting"


def test_the_manifest_says_when_the_system_prompt_was_merged(make):
    no_system = (
        "{% for m in messages if m['role'] != 'system' %}[{{ m['role'] }}]{{ m['content'] }}{% endfor %}[assistant]"
    )
    backend, _ = make(lambda question: tokens_of(question), api=None, chat_template=no_system)
    (done,) = backend.generate([ask("k", "q")])
    assert done.text == "看題。\n\nq"
    assert backend.describe().model["merged_system"] is True


def test_a_switch_for_thinking_is_in_the_prompt_and_in_the_record(make):
    made = {}
    for value in (True, False):
        backend, _ = make(
            chat_template=TEMPLATE + "{% if enable_thinking %}<think>{% endif %}",
            template_variables={"enable_thinking": value},
        )
        (made[value],) = backend.generate([ask("k", "q")])
        assert backend.describe().settings["template_variables"] == {"enable_thinking": value}
    assert made[True].prompt_hash != made[False].prompt_hash
    with pytest.raises(ModelError, match="never reads enable_thinking"):
        make(chat_template=TEMPLATE, template_variables={"enable_thinking": False})


def test_the_begin_token_stands_once(make):
    """P9-2: a template that writes the begin token, one that does not, and one that writes it twice."""
    for template in (TEMPLATE, TEMPLATE.removeprefix("<s>"), "<s>" + TEMPLATE):
        backend, api = make(chat_template=template)
        list(backend.generate([ask("k", "q")]))
        assert api.sequences[0][0] == BOS
        assert api.sequences[0].count(BOS) == 1
