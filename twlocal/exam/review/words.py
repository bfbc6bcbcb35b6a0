"""What the review says of flags, rules and states, in Chinese and in English. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from twlocal.html import Text, t

STATES: Mapping[str, Text] = {
    "open": t("未審", "undecided"),
    "by_rule": t("規則撤題", "withdrawn by a rule"),
    "withdrawn": t("已撤題", "withdrawn"),
    "kept": t("已接受", "accepted"),
}
SHOWN: Mapping[str, Text] = {
    "todo": t("待審（有疑慮）", "to do: flagged"),
    "flagged": t("有疑慮", "flagged"),
    "all": t("全部", "all"),
    "withdrawn": t("撤題", "withdrawn"),
    "kept": t("已接受", "accepted"),
}
RULES: Mapping[str, Text] = {
    "figure_on_page": t("題目旁有圖或表格", "a picture, a drawing or a ruled grid stands beside the item"),
    "figure_implied": t("題幹暗指某張圖", "the stem leans on a figure"),
    "table": t("題幹指向某張表", "the stem points at a table"),
    "question_group": t("屬於題組，共用的文章不在題內", "it shares a passage with others, which is not part of it"),
    "passage": t("題幹指向題內沒有的文章或案例", "the stem points at a passage or a case that it does not carry"),
    "attachment": t("題幹指向附件", "the stem points at an attachment"),
    "decision": t("人工撤題", "withdrawn by a person"),
}
_FLAGS: Mapping[str, Text] = {
    "figure": t("旁邊有圖片", "an image stands beside it"),
    "drawing": t("旁邊有線條或圖形", "lines or shapes stand beside it"),
    "table": t("旁邊有表格", "a ruled grid stands beside it"),
    "figure_in_group": t("題組的文章有圖", "the passage of its group has a figure"),
    "private_use": t("有造字區字元，讀不出是什麼字", "a private-use character that nobody could read"),
    "mark_in_text": t("文字裡夾著選項記號", "an option mark stands within the text"),
    "stacked_text": t("有疊在一起的字（分數、矩陣）", "some of it is stacked, as a fraction or a matrix is"),
    "small_text": t("有特別小的字", "some of it is set in small type"),
    "wrapped_in_columns": t("選項分欄折行", "options wrap inside their columns"),
    "loose_text_before": t("前面有不屬於任何題的文字", "text that belongs to no item stands before it"),
    "loose_text_after": t("後面有不屬於任何題的文字", "text that belongs to no item stands after it"),
    "changed_without_note": t(
        "更正答案與原答案不同，卻沒有備註", "the correction has another letter and no note says why"
    ),
    "code_unverified": t("試卷與答案的代號無從核對", "paper and key could not be matched by their code"),
    "page_without_text": t("有一頁沒有文字層", "a page has no text layer"),
    "no_stated_count": t("試卷沒有寫題數", "the paper does not state how many items it has"),
    "image_numbers": t("題號是圖片", "the numbers are images"),
    "image_markers": t("選項記號是圖片", "the option marks are images"),
    "answer_is_a_correction": t("答案檔其實是更正檔", "the key is a correction"),
    "correction_is_an_answer": t("更正檔其實是答案檔", "the correction is a plain key"),
    "year_on_paper": t("試卷上的年度與清單不同", "the year on the paper is not the listed one"),
}
UNSEEN: Mapping[str, Text] = {
    "missing_file": t("找不到檔案", "the file is not there"),
    "changed_file": t("檔案已經不是當初讀的那一份", "the file is not the one that was read"),
    "timeout": t("畫這一頁花了太久", "drawing it took too long"),
    "memory": t("畫這一頁用了太多記憶體", "drawing it took too much memory"),
    "crashed": t("讀取程式中斷了", "the reader died of it"),
}
KINDS: Mapping[str, Text] = {
    "number": t("題號", "number"),
    "stem": t("題幹", "stem"),
    "option": t("選項", "option"),
    "key": t("答案", "key"),
}
DOCUMENTS: Mapping[str, Text] = {
    "Q": t("試卷", "question paper"),
    "A": t("答案", "answer key"),
    "M": t("更正答案", "correction"),
}
# What a row is most often withdrawn for, to choose from: the reason is published, and so in the language of the data.
REASONS = (
    "題目需要圖片才能作答",
    "題幹缺字或錯字",
    "選項缺字或錯置",
    "公式、上下標或符號讀錯",
    "答案與公告不符",
    "法令修正後已無正解",
)


def of_text(detail: str) -> bool:
    """Whether what a rule found is a piece of the text: where it names flags, they stand there in words already."""
    return not all(name.partition(":")[0] in _FLAGS for name in detail.split())


def flag(name: str) -> Text:
    """A flag in words; what follows its colon (a code point, a page) is kept."""
    kind, _, detail = name.partition(":")
    said = _FLAGS.get(kind, t(kind, kind))
    return t(f"{said.zh}：{detail}", f"{said.en}: {detail}") if detail else said
