"""The model string, the settings, the proxy and the key."""

from __future__ import annotations

import pytest

from twlocal.backend import Decoding, load
from twlocal.backends.http import address, settings
from twlocal.errors import ConfigurationError, ModelError, UsageError


def test_the_backend_is_found_by_its_entry_point(bench):
    module = load("http")
    assert (module.ISOLATE, module.EXTRA) == (False, "")
    assert "concurrency" in module.SETTINGS
    backend = module.open(f"{bench.server.url}#m", Decoding(max_tokens=8), {"concurrency": "2"})
    assert [completion.text for completion in backend.generate(bench.requests(3))] == ["\\boxed{A}"] * 3
    backend.close()


@pytest.mark.parametrize(
    ("text", "url", "model"),
    [
        ("http://localhost:8000", "http://localhost:8000/v1/chat/completions", ""),
        ("http://localhost:8000/#m", "http://localhost:8000/v1/chat/completions", "m"),
        ("http://localhost:8000/v1/#org/model:free", "http://localhost:8000/v1/chat/completions", "org/model:free"),
        ("https://h/api/v3#m", "https://h/api/v3/chat/completions", "m"),
        ("https://h/v1/chat/completions#m", "https://h/v1/chat/completions", "m"),
        ("https://h/chat/completions/#m", "https://h/v1/chat/completions", "m"),
        ("https://h/openai/v1?api-version=2#m", "https://h/openai/v1/chat/completions?api-version=2", "m"),
        ("http://[::1]:8/v1#m", "http://[::1]:8/v1/chat/completions", "m"),
        ("  http://h:1/v1#a#b ", "http://h:1/v1/chat/completions", "a#b"),
    ],
)
def test_addresses(text, url, model):
    found = address.parse(text)
    assert (found.url("chat/completions"), found.model) == (url, model)


@pytest.mark.parametrize(
    "text",
    ["localhost:8000", "h/v1#m", "ftp://h#m", "http://#m", "http:///v1#m", "http://h:99999/v1", "http://h:x/v1",
     "http://a b/v1", "http://[::1", "http://h:0/v1", ""],
)  # fmt: skip
def test_addresses_that_are_none_name_the_way_out(text):
    with pytest.raises(UsageError, match="http://localhost:8000/v1#model-name"):
        address.parse(text)


@pytest.mark.parametrize(
    "text", ["http://user:hunter22@h/v1#m", "https://h/v1?api_key=hunter22#m", "https://h/?token=hunter22"]
)
def test_secrets_in_an_address_are_refused_and_not_repeated(text):
    with pytest.raises(UsageError, match="TWLOCAL_API_KEY") as caught:
        address.parse(text)
    assert "hunter22" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "loopback", "local"),
    [
        ("http://localhost/v1", True, True),
        ("http://127.0.0.1:1/v1", True, True),
        ("http://[::1]/v1", True, True),
        ("http://192.168.1.5/v1", False, True),
        ("http://gpu-box:8000/v1", False, True),
        ("http://studio.local/v1", False, True),
        ("https://api.openai.com/v1", False, False),
        ("https://8.8.8.8/v1", False, False),
    ],
)
def test_which_addresses_are_near(text, loopback, local):
    found = address.parse(text)
    assert (found.loopback, found.local) == (loopback, local)


@pytest.mark.parametrize(
    ("text", "environ", "proxy"),
    [
        ("http://far.example/v1", {"HTTP_PROXY": "http://p:3128"}, "http://p:3128"),
        ("https://far.example/v1", {"https_proxy": "p:3128"}, "http://p:3128"),
        ("https://far.example/v1", {"HTTP_PROXY": "http://p:3128"}, None),
        ("https://far.example/v1", {"ALL_PROXY": "http://p:1"}, "http://p:1"),
        ("http://far.example/v1", {"HTTP_PROXY": "http://p:3128", "NO_PROXY": "a.b, .example"}, None),
        ("http://far.example/v1", {"HTTP_PROXY": "http://p:3128", "NO_PROXY": "ample"}, "http://p:3128"),
        ("http://far.example/v1", {"HTTP_PROXY": "http://p:3128", "no_proxy": "*"}, None),
        ("http://localhost:1/v1", {"HTTP_PROXY": "http://p:3128"}, None),
        ("http://127.0.0.1:1/v1", {"ALL_PROXY": "http://p:3128"}, None),
    ],
)
def test_proxies(text, environ, proxy):
    assert address.proxy(address.parse(text), environ) == proxy


def test_a_proxy_that_cannot_work_is_said():
    with pytest.raises(UsageError, match="NO_PROXY"):
        address.proxy(address.parse("https://far.example/v1"), {"ALL_PROXY": "socks5://p:1080"})


def test_a_proxy_is_really_used(bench):
    """The scripted server stands in as the proxy: it sees the far address in the request line."""
    proxy = bench.server.url.removesuffix("/v1").replace("http://", "http://who:pass-word-1@")
    backend = bench.connect("http://far.example/v1#m", environ={"HTTP_PROXY": proxy})
    assert [completion.text for completion in backend.generate(bench.requests())] == ["\\boxed{A}"]
    assert bench.server.posts[0].path == "http://far.example/v1/chat/completions"
    assert bench.server.posts[0].headers["proxy-authorization"].startswith("Basic ")
    assert "pass-word" not in repr(backend.describe())


def test_settings_come_as_text_or_as_values():
    text = settings.parse(
        {"concurrency": "4", "timeout": "2.5", "stream": "true", "extra_body": '{"a": 1}', "seed": "3"}
    )
    value = settings.parse({"concurrency": 4, "timeout": 2.5, "stream": True, "extra_body": {"a": 1}, "seed": 3})
    assert text == value
    assert settings.parse({}) == settings.Settings()
    assert settings.parse({}).concurrency == 16


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"concurency": 4}, "concurrency"),
        ({"concurrency": 0}, "concurrency"),
        ({"concurrency": "many"}, "many"),
        ({"concurrency": 1.5}, "1.5"),
        ({"timeout": -1}, "timeout"),
        ({"timeout": "nan"}, "timeout"),
        ({"retries": True}, "retries"),
        ({"stream": "perhaps"}, "stream"),
        ({"extra_body": "[1]"}, "extra_body"),
        ({"extra_body": "{"}, "extra_body"),
        ({"extra_body": {"temperature": 1}}, "temperature"),
        ({"extra_body": {"messages": []}}, "messages"),
        ({"extra_body": {"n": 3}}, "'n'"),
        ({"headers": {"X-A": "a\r\nX-B: b"}}, "X-A"),
        ({"headers": {"bad name": "a"}}, "bad name"),
        ({"headers": {"api-key": "hunter22"}}, '"api-key": "$VARIABLE"'),
        ({"headers": {"Authorization": "Bearer hunter22"}}, "stored with every run"),
    ],
)
def test_settings_that_cannot_be(given, says):
    with pytest.raises(UsageError, match=r".") as caught:
        settings.parse(given)
    assert says in str(caught.value)
    assert "hunter22" not in str(caught.value)


def test_headers_name_their_secrets_and_never_hold_them(bench):
    given = {"api-key": "${AZURE}", "X-Both": "a-$AZURE-b", "X-Plain": "costs 5$"}
    backend = bench.connect(headers=given, environ={"AZURE": "hunter22"})
    bench.server.route = lambda seen: bench.Reply(500, {"error": "what is hunter22?"})
    (completion,) = backend.generate(bench.requests())
    sent = bench.server.posts[0].headers
    assert (sent["api-key"], sent["x-both"], sent["x-plain"]) == ("hunter22", "a-hunter22-b", "costs 5$")
    assert completion.error == "500: what is [key]?"
    assert "hunter22" not in repr(backend.describe())
    with pytest.raises(UsageError, match="AZURE"):
        bench.connect(headers=given)


def key(url="https://h.example/v1", environ=None, ring=None, **given):
    asked = []

    def keyring(service, user):
        asked.append((service, user))
        return ring

    found = settings.find_key(address.parse(url), settings.parse(given), environ or {}, keyring)
    return found.value, found.source, asked


def test_where_the_key_comes_from():
    both = {"TWLOCAL_API_KEY": "one-key", "OPENAI_API_KEY": "two-key"}
    assert key(environ=both) == ("one-key", "TWLOCAL_API_KEY", [])
    assert key(environ={"OPENAI_API_KEY": " two-key\n"})[:2] == ("two-key", "OPENAI_API_KEY")
    assert key(environ={**both, "MINE": "three"}, api_key_env="MINE")[:2] == ("three", "MINE")
    assert key(ring="four") == ("four", "keyring", [("twlocal", "h.example")])
    assert key()[:2] == ("", "none")
    assert key(environ=both, headers={"authorization": "Basic $BASIC"})[0] == ""


def test_a_key_does_not_go_in_the_clear_over_the_public_net_unless_named():
    environ = {"OPENAI_API_KEY": "two-key"}
    assert key("http://far.example/v1", environ)[0] == ""
    assert key("http://far.example/v1", environ, api_key_env="OPENAI_API_KEY")[0] == "two-key"
    assert key("http://192.168.0.9/v1", environ)[0] == "two-key"


@pytest.mark.parametrize("environ", [{}, {"MINE": " "}])
def test_a_named_variable_that_is_not_set_is_a_wrong_call(environ):
    with pytest.raises(UsageError, match="MINE"):
        key(environ=environ, api_key_env="MINE")


def test_a_key_with_odd_characters_is_refused_without_being_shown():
    with pytest.raises(UsageError, match="TWLOCAL_API_KEY") as caught:
        key(environ={"TWLOCAL_API_KEY": "abc\u200bdef"})
    assert "def" not in str(caught.value)
    assert "secret" not in repr(settings.Key("secret", "keyring"))


def test_a_message_cut_off_inside_a_key_keeps_none_of_it():
    redact = settings.Redactor(["Bearer abcdefghijklmnop"])
    assert redact("sent abcdefghi…") == "sent [key]…"
    assert redact("sent abcdefghijklmnop, and Bearer") == "sent [key], and Bearer"


def test_without_a_name_the_only_model_is_taken(bench):
    backend = bench.connect(bench.server.url)
    list(backend.generate(bench.requests()))
    assert bench.server.posts[0].body["model"] == "m"
    assert backend.describe().model == {"name": "m", "id": "m", "served_as": ["served-name"]}


def test_without_a_name_and_with_several_models_they_are_listed(bench):
    bench.server.models = bench.Reply(body={"data": [{"id": "a"}, {"id": "b"}]})
    with pytest.raises(ModelError, match="a, b"):
        bench.connect(bench.server.url)
    bench.server.models = bench.Reply(404, b"no")
    with pytest.raises(ModelError, match="#model-name"):
        bench.connect(bench.server.url)
    bench.server.models = bench.Reply(401, {"error": "no key"})
    with pytest.raises(ConfigurationError, match="TWLOCAL_API_KEY"):
        bench.connect(bench.server.url)


@pytest.mark.parametrize("status", [401, 404, 500])
def test_a_server_without_a_list_of_models_works_when_one_is_named(bench, status):
    bench.server.models = bench.Reply(status, "<html>")
    assert bench.ask()[0].text == "\\boxed{A}"


def test_models_that_are_served_are_named_when_ours_is_not(bench):
    bench.server.models = bench.Reply(body={"data": [{"id": "right-name"}]})
    bench.server.route = lambda seen: bench.Reply(404, {"error": {"message": "no such model"}})
    with pytest.raises(ConfigurationError, match="right-name"):
        bench.ask()
