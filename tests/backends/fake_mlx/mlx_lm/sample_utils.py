def apply_top_p(logprobs, top_p):
    raise AssertionError("not at temperature 0")
