"""What a stem points at outside itself: a figure, a table, a passage, another item (the paper's sections 3.3 and 3.4).

Each function returns the words that point, or None. They go by deictic reference only: 圖 by itself deletes
library-science items about 圖書分類, and 承上 by itself those about 繼承上之….
"""

from __future__ import annotations

import re

from twlocal.audit.fingerprint import plain

# A figure is no 圖書, 圖利, 圖騰 or 圖謀, and "as the figure" is not the end of 例如 or 諸如.
_FIGURE = r"圖(?!書|利|騰|謀|博|窮|文|畫|案|像化|資|例(?!.{0,4}所示))"
_POINTED = re.compile(
    rf"(?<![例諸譬假比])如(?:下|上|左|右|前|附|各|本|此|該)?(?:列|面|方|頁)?{_FIGURE}(?!表(?!.{{0,4}}示)|形化)"
    rf"|(?:^|[^\w]|[如見由從據依照考閱看在於為以察之])(?:下|上|左|右)(?:列|面|方)?{_FIGURE}"
    rf"|(?:^|[^\w]|[如見由從據依照考閱看示察在於])附{_FIGURE}|附圖(?:中|為|所|是|顯|[一二三四\d(A-D])"
    rf"|(?:^|[^\w]|[如見由從據依照考閱看])[本此]{_FIGURE}(?:所|為|中|顯|是|之|$)"
    rf"|(?<!意)見{_FIGURE}(?!解)|(?:^|[^\w]|可)[依據由從照]{_FIGURE}(?=[回判可示所得推,])"
    r"|下列?[一二三四兩各何]圖(?!書)|圖(?:中)?所示|(?:^|[如下附])圖示"
    r"|(?:^|[^\w]|[如見由從據依照考閱看在於為示與和及以])圖\(?(?:[一二三四五六七八九十](?![致張幅個份般些切次直統])|[A-D甲乙丙丁](?![A-Za-z])|\d)"
)
# Without a word that says "the figure below": what the first pass of the paper let through.
_SCAN = r"(?:心電圖|腦波圖|X光片?|超音波(?:圖|影像)?|電腦斷層|影像|照片|相片|圖片|切片|眼底圖|波形圖?|電路圖)"
_IMPLIED = re.compile(
    r"(?:^|[^\w]|[在從由於自依據如此本附下上見])圖[中內上](?!心|作業)|^圖(?:為|是|示)"
    r"|箭[頭號](?:所指|標示|所示|處|指[示處])(?![之的]?(?:行車)?方向)"
    r"|標示(?:為)?(?:星號|[*★☆▲△])|星號\(?[*]|(?<![*])[*★☆▲△]號?(?:處(?!理)|標示|所指)"
    rf"|(?:這|此|本|該)(?:張|幅)(?:{_SCAN}|圖|畫|海報|漫畫|地圖)|(?:這|此){_SCAN}(?:最|為|顯|呈|所|是|中|上|之)"
    rf"|(?<![例諸譬假比])如(?:附|下|上|左|右)?(?:列|面)?{_SCAN}(?:所示|中|上|[,，。？?:]|$)|附{_SCAN}"
    r"|(?:^|[^\w]|[如見由從據依照])(?:下列|附|上列|以下)(?:照片|相片|圖片|電路圖|波形圖|心電圖)"
)
_TABLE = re.compile(
    r"(?:如|見|參考|參照|根據|依據|依照|依|由|從|將)(?<!例如)(?<!諸如)[下上左右]表(?![示達現面決揚演明層皮彰情態白述])"
    r"|^[下附左右]表(?![示達現面決揚演明層皮彰情態白述])|(?<!以)[下上]表(?:所示|中|內|為|是|之(?!示))|[如見由從依]表[一二三四\d(]|[如見]附表"
)
_PASSAGE = re.compile(
    r"(?:根據|依據|依照|閱讀|參照|依|據|由|從)(?:上文|下文|本文(?!規定|但書)|前文|(?:這|此|本|該|上|下|前)[篇段則](?:文章|短文|文字|文|報導|新聞|引文)?"
    r"|(?:上述|下列|上列|以下)?(?:短文|文章))|^(?:上文|本文|文中|文章中|作者)|[，,。](?:上文|文中|本文(?:作者|主旨|旨在))"
)
_ATTACHED = re.compile(r"(?:如|見|參考|參照)附[件錄]")
_WITHIN = 60  # characters: a stem as long as this carries its passage itself
_CONTINUES = re.compile(
    r"^[(【\[]?(?:承接|承續|承|接|續|同|呈)(?:上|前)(?:[一二兩三]|開|述|列)?(?:題|例|案|,|，|、|:|$)"
    r"|^[(【\[]?承(?:上|前)(?:所?述|開)|^[(【\[]?[承接續同]第?\d{1,3}題"
    r"|(?<!繼)(?:承|接|續|如|依|據|同|由|呈)(?:上|前)一?題(?!目|解|庫)|(?:上|前)一題|[如同依據由]第\d{1,3}題(?!目)"
)
_PERSON = (
    r"(?:病[人患童]|患[者童]|個案|案例|病例|男[童士嬰]|女[童士嬰]|婦[女人]"
    r"|產婦|嬰兒|孩童|小孩|老人|孕婦|先生|女士|小姐)"
)
_VIGNETTE = re.compile(
    rf"^(?:則)?(?:此|該|這[位名個]|本|上述|前述)(?:名|位|個)?{_PERSON}|^(?:若|則)?(?:本|此|該|上述)(?:例|案|題)"
)


def figure(stem: str) -> str | None:
    """The words by which the stem points at a figure (如下圖, 附圖, 圖一 …): the deictic rule of section 3.3."""
    return _found(_POINTED, stem)


def figure_implied(stem: str) -> str | None:
    """Words that lean on a figure without naming where it is (圖中標示星號, 箭頭所指, 這張心電圖): section 3.4."""
    return _found(_IMPLIED, stem)


def table(stem: str) -> str | None:
    """The words by which the stem points at a table (如下表, 下表為)."""
    return _found(_TABLE, stem)


def attachment(stem: str) -> str | None:
    """The words by which the stem points at an attachment (如附件)."""
    return _found(_ATTACHED, stem)


def passage(stem: str) -> str | None:
    """The words by which a stem points at a passage that it does not carry itself.

    A stem of sixty characters or more that says 閱讀下文 has the passage in it.
    """
    return _found(_PASSAGE, stem) if len(plain(stem)) < _WITHIN else None


def continuation(stem: str) -> str | None:
    """The words by which the stem goes on from another item (承上題, 承第5題, 上一題)."""
    return _found(_CONTINUES, stem)


def vignette(stem: str) -> str | None:
    """The words by which a stem opens on a case that was told elsewhere (此病人, 上述個案)."""
    return _found(_VIGNETTE, stem)


def _found(pattern: re.Pattern[str], stem: str) -> str | None:
    text = plain(stem)
    found = pattern.search(text)
    return found[0] if found else None
