"""Where each reported fault is tested. A case that is given and has no entry here fails."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PARTS = frozenset(range(1, 13))

_READERS = "twlocal/readers/test_given.py::test_case"
_JOBS = "twlocal/cli/test_given.py::"
_LOADING = "twlocal/dataset/test_cases.py::"
_PAPERS = "twlocal/exam/test_cases.py::"
_WORDS = "twlocal/formosa/test_lexicon.py::"
_HTTP = "backends/test_http_given.py::"
_LLAMA = "backends/test_llama_cpp.py::"
_MLX = "backends/test_mlx.py::"
_VLLM = "backends/test_vllm.py::"

WHERE = {
    **dict.fromkeys(("P1-1", "P1-3", "P1-5", "P1-7", "P1-9", "P1-11", "P9-4", "P9-6"), _READERS),
    # Parts 2 and 10 are about engines, each tested at one of them; the others' tests name the case as well.
    "P2-1": _MLX + "test_a_sampler_object_is_built_and_the_run_proceeds",
    "P2-3": _LLAMA + "test_p2_3_the_context_comes_from_prompt_and_budget",
    "P2-5": _LLAMA + "test_p2_5_answers_follow_their_request_not_their_arrival",
    "P2-7": _JOBS + "test_p2_7_a_character_cut_at_the_end_costs_only_itself",
    "P3-2": _JOBS + "test_p3_2_another_budget_is_another_run",
    "P3-4": _JOBS + "test_p3_4_results_of_every_sitting_count",
    "P3-6": _JOBS + "test_p3_6_equal_ids_of_two_subjects",
    "P4-2": _JOBS + "test_p4_2_a_limit_is_spread_over_subjects",
    "P4-4": _JOBS + "test_p4_4_the_same_questions_in_every_variant",
    "P4-6": _LOADING + "test_equal_rows_are_kept_and_counted",
    "P5-2": _PAPERS + "test_a_number_fused_with_the_digits_of_its_stem_is_split_by_the_expected_number",
    "P5-4": _PAPERS + "test_fake_bold_is_read_once_and_reduplication_survives",
    "P5-6": _PAPERS + "test_two_columns_are_read_one_after_the_other",
    "P5-8": _PAPERS + "test_a_footer_inside_a_sentence_is_taken_out",
    "P5-10": _PAPERS + "test_a_page_without_text_and_options_that_are_pictures_are_reported",
    "P5-12": _PAPERS + "test_a_decimal_at_the_beginning_of_a_line_is_no_number",
    "P6-1": _JOBS + "test_p6_1_excels_bom",
    "P6-3": _LOADING + "test_given_integer_answers",
    "P6-5": _LOADING + "test_given_answers",
    "P6-7": _JOBS + "test_p6_7_the_key_follows_the_place",
    "P6-9": _JOBS + "test_p6_9_only_question_and_options_are_asked",
    "P7-2": _WORDS + "test_p7_2_legal_vocabulary_is_not_simplified",
    "P7-4": _WORDS + "test_p7_4_a_term_across_a_word_boundary_is_none",
    "P7-6": _WORDS + "test_p7_6_scientific_and_legal_senses_are_never_strict",
    "P7-8": _WORDS + "test_p7_8_characters_normal_in_taiwan_are_not_flagged",
    "P8-1": _HTTP + "test_an_error_object_under_200_is_fatal_and_keeps_what_was_answered",
    "P8-3": _HTTP + "test_a_context_length_message_is_never_an_answer",
    "P8-5": _HTTP + "test_retry_after_in_all_its_forms",
    "P8-7": _HTTP + "test_a_stream_that_just_ends_is_incomplete",
    "P8-9": _HTTP + "test_three_samples_are_three_requests",
    "P8-11": _HTTP + "test_web_pages_instead_of_json",
    "P9-2": "twlocal/test_chat.py::test_the_given_case_of_the_second_begin_token",
    "P9-8": _JOBS + "test_p9_8_cut_thinking_is_unread_and_truncated",
    "P10-2": "backends/test_vllm_layout.py::test_bfloat16_on_a_card_that_has_none",
    "P10-4": _VLLM + "test_a_context_that_memory_has_no_room_for_is_shrunk_to_what_fits",
    "P10-6": _MLX + "test_a_poisoned_item_is_passed_over_and_the_others_are_answered",
    "P11-1": _JOBS + "test_p11_1_a_lock_is_waited_for_and_no_answer_is_lost",
    "P11-3": _JOBS + "test_p11_3_a_full_disk_loses_nothing_that_was_stored",
    "P11-5": _JOBS + "test_p11_5_an_old_schema_is_upgraded_and_keeps_its_answers",
    "P12-1": _JOBS + "test_p12_1_rows_of_chinese_and_latin_names_line_up",
    "P12-3": _JOBS + "test_p12_3_the_c_locale_without_pythons_rescue",
    "P12-5": _JOBS + "test_p12_5_a_log_holds_plain_lines",
}


@pytest.mark.parametrize("case", WHERE)
def test_the_test_is_there_and_names_its_case(case: str) -> None:
    file, _, name = WHERE[case].partition("::")
    source = (TESTS / file).read_text(encoding="utf-8")
    assert case in source
    assert name in {node.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)}


def test_every_given_case_has_its_test(shared: Path) -> None:
    lines = (shared / "cases" / "given.jsonl").read_text(encoding="utf-8").splitlines()
    given = {row["id"] for row in map(json.loads, lines) if row["part"] in PARTS}
    assert given, "the file has cases of these parts"
    assert given <= WHERE.keys(), sorted(given - WHERE.keys())
