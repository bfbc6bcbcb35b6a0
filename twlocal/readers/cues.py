"""The words around a stated answer, as patterns: what announces it, links it, ends it, denies it or casts doubt on it.

For folded text (`folding.fold`). Every repeat is bounded. Patterns whose names end in `_BEFORE` are searched in the few
characters before a cue and are tied to its place by `\\Z`; the others are matched from a given place on.
"""

from __future__ import annotations

import re

from twlocal.readers.box import ORDINALS

CLOSERS = r"[*_`$\"'”’」』】》〉)\]}>~]"
_HTML = r"</?(?:b|strong|span|u|i|em|p)>"
_CAPITAL = r"(?<![A-Za-z0-9'’\-+=^_].)"  # behind a capital: it does not belong to a word, a name or a formula


def _english(words: str, *, whole: bool = True) -> str:
    """A sub-pattern for English words, in either case, standing by themselves (at least at their end)."""
    return rf"(?i:{'(?<![a-z])' if whole else ''}(?:{words})(?![a-z]))"


# --- Cues. Every alternative opens with a literal character, so that the search skips what cannot be one.
CUE = re.compile(
    r"答案(?:選項)?|解答|正解|正確的?選項|最(?:佳|適當|合適|恰當|適合|符合)的?選項|答(?<![回問應作解]答)(?=\s?:)"
    r"|本題|此題|這一?題|該題"
    r"|選(?<![候挑篩當單複多評遴甄競罷普推首入獲精]選)擇?(?!項|題|民|舉|任|手|區|定|取|用|罷|票)|擇(?<!選擇)"
    r"|(?:更正|修正|訂正)(?:後?[為成選是]|\s?:)|改[為成選]|重新作答(?=\s?:)|傾向於?(?:選擇?)?"
    r"|結論(?=\s?[:是為])|正確的?(?=應該?[是為]|[是為]\s?[(*「]{0,3}[A-Z])"
    r"|我(?:個人)?(?:認為|覺得|相信|猜測?)(?:應該|可能|應)?是"
)
ENGLISH_HINTS = ("ans", "option", "choice", "select", "pick", "choos", " with", " for", " it", " toward")
# For lower-cased text; that no letter stands before the match is for the caller to see.
ENGLISH_CUE = re.compile(
    r"answer(?![a-rt-z])|ans(?=\.?\s?:|\. )"
    r"|correct (?:option|choice|selection|pick)(?![a-z])|right (?:option|choice|selection|pick)(?![a-z])"
    r"|best (?:option|choice|selection|pick)(?![a-z])|final (?:option|choice|selection|pick)(?![a-z])"
    r"|my (?:option|choice|selection|pick)(?![a-z])"
    r"|choose(?![a-z])|choosing(?![a-z])|pick(?:ing)?(?![a-z])|select(?:ing)?(?![a-z])"
    r"|go(?:ing)? with(?![a-z])|opt for(?![a-z])|vote for(?![a-z])"
    r"|lean(?:ing)?(?: more)? towards?(?![a-z])"
    r"|correction(?=\s?:)|conclusion(?=\s?:)"
    r"|i(?: think| believe| guess| am confident| am sure|'m confident|'m sure)(?: that)?"
    r" it(?:'s| is| must be| should be| has to be)"
)
# B 才是正確答案, "B is the answer".
REVERSE = re.compile(
    rf"(?P<x>[A-Z]){_CAPITAL}(?:{CLOSERS}|\s){{0,6}}(?:選項|項)?\s{{0,2}}"
    r"(?:(?:才|就|即)?[是為]|才是|(?i:is))\s{0,2}(?:本題|此題|這題|唯一|最後|最終|我的|(?i:the|my))?\s{0,2}(?:的)?"
    r"(?:最?(?:正確|標準|最佳|最適當|適當|合適|佳)|(?i:correct|right|best|only correct|final))?\s{0,2}(?:的)?\s{0,2}"
    r"(?:答案|正解|解答|(?i:answer(?![a-z])|(?:(?<=correct )|(?<=right )|(?<=best ))(?:choice|option)(?![a-z])))"
)
# B 正確, "B is wrong".
VERDICT = re.compile(
    rf"(?P<x>[A-Z]){_CAPITAL}(?:{CLOSERS}|[\s:.|]){{0,6}}(?:選項|項)?\s{{0,2}}(?:的?(?:敘述|說法|描述|內容))?"
    r"(?:才|就|即|最|更|比?較|也|亦|完全|是|為|(?i:is|also|more|\s)){0,4}\s{0,2}"
    rf"(?:(?P<right>正確|對的|無誤|對(?=\s{{0,2}}(?:[。,，;；\n|]|\Z))|{_english('correct|right|true', whole=False)})"
    r"|(?P<wrong>不正確|錯誤|錯的|不對|有誤|錯(?=\s{0,2}(?:[。,，;；\n|]|\Z))|"
    rf"{_english('incorrect|wrong|false|not correct|not true|not right', whole=False)}))"
)

# --- From the cue to its letter: words of denial, verbs, hedges; then decoration and words like 選項.
NEGATION = re.compile(
    r"不可能|不應該?|不會|不能|並不|並非|絕非|絕不|不是|無法|不|非|"
    + _english("(?:is|was|are|would|could|should|ca)n't|not|cannot|never|neither")
)
VERB = re.compile(rf"[是為:=→⇒➡在]|選(?!項)擇?|屬於?|{_english('is|was|be|being|seems to be|appears to be')}")
LINK = re.compile(
    rf"(?:{NEGATION.pattern}|{VERB.pattern}|[\s*_\"'’”」』】〕\])#`~,，.]"
    r"|應該|應當|當然|當|其實|實際上?|實則|絕對|肯定|應|就|即|便|會|只能|只有|最有?可能|可能|很|一定|必定|必然|必|顯然|確實|仍然?|還"
    r"|似乎|看來|看起來|理應|乃|則|也|都|因此|了|的|出|我們?|認為|最終|最後"
    r"|"
    + _english(
        "clearly|therefore|thus|hence|definitely|actually|then|simply|indeed|likely|most|probably|surely|certainly"
        "|to|this|question|for|should|must|would|will|could|might|may|has|either|both"
    )
    + r"){0,16}"
)
DECORATION = re.compile(
    rf"(?:{_HTML}|[\s*_`$\"'“”‘’「」『』【《〈(\[{{<~>#:=\-–—✅✔☑👉]"
    r"|\\(?:text(?:bf|rm|sf|it)?|math(?:bf|rm|sf|it)|boldsymbol|bm|bf|rm)(?![A-Za-z])|\\[(\[,;! ]){0,24}"
)
PREFIX = re.compile(
    rf"(?:(?:第[一二三四1-4]個)?(?:選項|選)|選擇|{_english('(?:the )?(?:option|choice|letter|answer)')})?"
)
LETTER = re.compile(rf"[A-Za-z{ORDINALS}]")

# --- Behind the letter.
AFTER = re.compile(rf"(?:{CLOSERS}|\\[)\]]|{_HTML}){{0,12}}")
# It goes on as a word, a formula or a term: no option.
WORD = re.compile(
    r"[A-Za-z0-9^'’=+%°ⅠⅡα-ω′]|_[A-Za-z0-9{]|\\(?![)\]n])|\.[A-Za-z0-9](?![a-z])"
    r"|[-‐–/:](?=[A-Za-z0-9])(?![A-Z](?![A-Za-z0-9]))"
    r"|\s?(?:-{1,2}>|=>|[→⇒⟶]\s?[A-Z])|<(?![/|a-z])|\s?:\s?[A-Z]\s?(?:\Z|[=:.。,，\n])"
)
TERM = re.compile(r"\s?(?:型|級|群|肝|細胞|類|組|點|圖|股|片|餐|君|某|公司|國|市|縣|段|區|柱|井|案|廠|車|班)")
# The statement ends there, or goes on in a way that leaves the letter an option.
ENDS = re.compile(r"\s{0,8}(?:\Z|[\n.。,，;；:!…、]|(?:<\||</s>))|\s{0,8}(?:-{1,3}|–|—)(?![A-Za-z0-9])")
GOES_ON = re.compile(
    r"\s{0,4}(?:選項|項|這|正確|才|而|因|最|是|為|無誤|故|所以|其|並|即|此|不|也|比|較|吧|了|喔|啦|啊|呀|莫屬|符合"
    r"|的(?:原因|理由|選項|敘述|說法|內容|描述)|\((?!-?[\d.]{1,8},\s?-?[\d.]{1,8}\))|「|“|<|\\|[\u2600-\u27bf\U0001f300-\U0001faff])"
    r"|\s{1,4}"
    + _english(
        "because|since|as|is|and|but|due|which|where|not|rather|instead|with|based|given|according|for|in|from|by|on"
        "|option|choice|so|here|over",
        whole=False,
    )
)
# The stricter end that 答案 X or "answer X" without a verb needs: else X is only spoken about.
STOPS = re.compile(
    r"\s{0,8}(?:\Z|[\n.。;；!]|<\||</s>|[,，]?\s?"
    rf"(?:因|故|而非|而不是|{_english('because|since|not|rather than', whole=False)}))"
    r"|\s{0,4}(?:選項)?\s{0,2}(?:才?[是為]|才|(?i:is))?\s{0,2}(?:最)?(?:正確|對的|無誤|(?i:correct|right))"
)
QUESTION = re.compile(r"\s{0,4}的?(?:選項|答案|敘述|answer)?\s{0,2}(?:嗎|呢|\?|吧\?)")
REJECTED = re.compile(
    r"\s{0,4}(?:選項)?(?:並|都|也)?"
    r"(?:(?:是|為)?(?:錯誤?的|錯誤(?!的?選項|的?敘述|者)|不對|不正確|有誤|不可能|不成立)"
    r"|(?i:(?:is|was) (?:not|wrong|incorrect|false|too)|isn't|can't be|cannot be))"
    r"|\s{0,4}[,，.。…—;]{0,3}\s{0,4}(?:不對(?!的)|錯了|等等|且慢|不不|(?i:wait|no,|hmm|hold on|actually,? no))"
    # 答案是 A，但這是錯的; 答案是 A 的說法有誤; "the answer is A but this is wrong".
    r"|\s{0,4}[,，.。;；]?\s{0,4}(?:但|不過|可是|然而)?(?:[這此那]個?|的)(?:說法|想法|看法|答案|推論|結論|選擇)?"
    r"(?:其實|顯然|應該|並|也){0,2}是?(?:錯誤?的|錯了|不對|不正確|有誤|不成立)"
    r"|\s{0,4}[,，.。;；]?\s{0,4}(?i:(?:but|however,?|though)\s(?:this|that|it)(?: is|'s| was)"
    r"\s(?:wrong|incorrect|false|not (?:right|correct|true)))"
)
# Right behind a choice: what would come of it (選 A：錯誤).
COMES_WRONG = re.compile(
    r"\s{0,4}[:,，]\s{0,2}(?:是|為|就)?(?:錯誤?(?:的|了)?|不對|不正確|有誤|(?i:wrong|incorrect))\s{0,2}(?:\Z|[。.,，;；\n])"
)
# Behind a statement, at the beginning of a clause: it is taken back. 不對 and 應為 are said of other options too, so
# they count with a stop behind them, or with a letter right behind the statement.
TAKEN_BACK = re.compile(
    r"(?<=[.。,，;；!?…—\n])\s{0,2}(?:"
    r"(?P<weak>(?:但|而)?(?:其實|實際上?)?(?:正確的?)?應該?[是為])"
    r"|[哦噢喔啊]不|不(?=\s?[,，.。!…])|(?:不對|錯了|等一?下)(?=\s?[,，.。!…])|等等(?=\s?[,，.。!…])|且慢|抱歉|對不起"
    r"|我?[算弄搞說看寫答]錯|(?:更正|訂正)(?!後的)"
    rf"|{_english('sorry|oops|wait|hold on|i meant|no(?=[,.!…]| wait)|my mistake|actually|correction|scratch that')})"
)
# What may stand between that and the letter meant.
INSTEAD = re.compile(
    r"(?:[\s,，.。:!…*_(「\"'-]|我?[算弄搞說看寫答]錯了?|正確的?|答案|選項?|應該|應當|應|才|其實|[是為]|更正|訂正|後"
    rf"|{_english('i meant|no|wait|sorry|my bad|the|correct|answer|option|that|is|was|wrong|it|should|be|must|s|to')})"
    r"{0,24}(?P<x>[A-Z])(?![A-Za-z0-9])"
)
LONE_LETTER = re.compile(r"(?<![A-Za-z0-9'’_^])[A-Z](?![A-Za-z0-9'’_^])")
IF_AFTER = re.compile(
    r"\s{0,2}的話|\s{0,2}(?:選項|項)?\s{0,2}(?:以外|之外|除外)"
    rf"|\s{{0,2}}[,，]?\s{{0,2}}(?:如果|若|{_english('if|only if|unless', whole=False)})"
)
# A second letter.
SEVERAL = re.compile(
    r"(?P<comma>\s{0,4}[,，;；])?\s{0,4}(?:\(\s?(?=[或也亦]|(?i:or|and|maybe|perhaps|possibly)(?![a-z])))?"
    rf"(?:(?P<hard>(?:及/)?或者?(?:許|可能)?|也(?:許|有?可能|可以?)|亦(?:可能?|有可能)|還是|抑或|/|~|至|到"
    rf"|{_english('or(?: maybe| possibly| perhaps)?|and(?:/or| maybe| possibly| perhaps)', whole=False)}"
    rf"|{_english('to|maybe|perhaps', whole=False)})"
    rf"|(?P<soft>[、&+\-]|和|與|及|以及|跟|還有|加上|連同|{_english('and', whole=False)}))?"
    r"\s{0,4}(?:答案)?[是為選]?(?:選項|(?i:option|choice))?[\s(*_\[「\"]{0,6}"
    rf"(?P<y>[A-Z{ORDINALS}])(?![A-Za-z0-9'’])(?P<rest>{CLOSERS}{{0,6}}\s?)"
)
# The same in lower case, where the first one is in it too ("a, b, and c").
SEVERAL_SMALL = re.compile(
    r"\s{0,2}[,，、/&]?\s{0,2}(?:(?<=[\s,，、/&])(?:and|or|和|或)\s{0,2})?(?<=[\s,，、/&和或(])\(?[a-z](?![a-z0-9'’])"
)
# 選 A 或選 C, "choose A or choose C": read from the second one.
OR_BEFORE = re.compile(
    r"[A-Z]\s{0,2}[,，]?\s{0,2}(?:或者?|或是|還是|抑或|也可以?|亦可以?|(?i:or))\s{0,2}(?i:(?:the|i(?:'d| would)?)\s)?\Z"
)
MORE = re.compile(
    r"(?:\s{0,2}(?:[、,，/和與及]|(?i:and|or))\s{0,2}[(*]{0,3}[A-Z](?![A-Za-z0-9])" + CLOSERS + r"{0,4}){0,6}\s?"
)
PREDICATE = re.compile(r"[\u3400-\u9fff:]|(?i:isn't|[a-z]{2,}(?![a-z]))")
# 答案不是 A 也不是 B，而是 C.
NOR = re.compile(
    rf"\s{{0,4}}[,，、]?\s{{0,4}}(?:也不是|亦非|也非|亦不是|或|和|與|、|(?i:nor|or))\s{{0,4}}[(*]{{0,3}}"
    rf"(?P<y>[A-Z])(?![A-Za-z0-9]){CLOSERS}{{0,4}}"
)
BUT_RATHER = re.compile(
    r"\s{0,4}[,，;；、。.]?\s{0,4}"
    r"(?:而應?該?是|而應為|而為|應該?是|應為|而選|而應選|改選|(?:只能|只會|一定|其實|就)?是"
    r"|(?i:but(?: rather)?(?: it)?(?: is|'s)?|rather|instead|it(?: is|'s)))"
)

# --- Before the cue.
NOT_CHOSEN_BEFORE = re.compile(
    r"(?:[不別勿未沒莫誤錯]|避免|沒有|(?i:not|n't|never|avoid|cannot|wrongly|mistakenly))\s{0,2}"
    r"(?:會|能|可以|可|應該|應|該|得|宜|要|再|能夠|去|是|(?i:to|be|have))?\s{0,2}\Z"
)
OTHERS_BEFORE = re.compile(
    r"(?:人|者|學生|考生|同學|[你您他她]們?"
    r"|(?i:people|students?|many|some|others|they|you(?: might| may| could)?|tempt\w{0,4} to))\s{0,2}"
    r"(?:會|可能|常|容易|都|就|(?i:would|might|may|often|will|could)){0,3}\s{0,2}\Z"
    # 我本來想選 A: not any more.
    r"|(?:本來|原本|起初|一開始|最初|差點|險些)(?:就|也)?(?:是|想|要|打算|會|考慮|以為)?[要去]?\s{0,2}\Z"
    r"|(?i:(?:at first|initially|originally|almost),?\s{1,2}(?:i\s{1,2})?(?:want(?:ed)? to\s|would\s)?)\Z"
)
WRONG_BEFORE = re.compile(
    r"(?:不|非|錯誤的?|不正確的?|不適當的?|不是"
    # Somebody else's answer, another question's, the one that many give.
    r"|(?:常見|普遍|熱門|典型|學生|考生|同學|網友|他人|別人|[他她]們?|多數人?)的?|(?:[上前下另]一|類似?|同類|相關)題目?的?"
    r"|(?i:wrong |incorrect |in|false |bad |other |an |every |each |your |possible |common |popular |frequent |one "
    r"|least [a-z]{1,12} |previous |similar |his |her |their |(?:[a-z]'s|s') ))\Z"
)
# 誰說答案是 A, "some people say the answer is A".
OTHERS_SAY_BEFORE = re.compile(
    r"(?:(?:誰|[別他她]人|有[些的]?人|大家|網友|網路上?)(?:都|常|會)?[說認以]為?|據說|傳聞|謠傳"
    r"|(?i:(?:people|students?|many|some|others|they|who)\s{1,2}(?:may |might |would |will |often )?"
    r"(?:says?|said|thinks?|thought|believes?|believed|claims?|claimed|picks?|picked|choo?ses?|chosen?|selects?)))"
    r"[,，]?\s{0,2}(?:that\s)?(?:the\s)?(?:正確的?|(?i:correct|right)\s)?\Z"
)
# "second_answer", "wrong_answer": a key of its own. These words before it leave it the answer.
OWN_KEY_BEFORE = re.compile(r"(?:\A|[^a-z])(?:final|correct|right|best|my|your|the|model|selected|predicted)[_-]\Z")
RESOLVED_BEFORE = re.compile(r"[應故該我可宜]\s?\Z")
SUPPOSED = re.compile(
    rf"若(?!干)|如果|假如|假設|假使|倘若?|要是|是否|以為|有人認為|{_english('if|suppose|assuming|unless|whether|had')}"
)
MUST = re.compile(r"必須|非選|一定要|只能|非得|(?i:had to|have to|must|forced)")
CONCLUDES = re.compile(rf"故|因此|所以|綜上|可知|應|(?i:therefore|thus|hence)|{_english('so')}")
# Another question than the one asked: what it would have for an answer says nothing here.
OTHER_QUESTION = re.compile(
    r"(?:若|如果|假如|假設|倘若?|要是)(?:是|把|將)?(?:本題|題目|題幹|此題|這題|問題)?(?:是|要)?[改換變問]"
    r"|(?i:(?<![a-z])(?:if|had) (?:the question|it|we)(?: had)?(?: been)? (?:asked|were|was asking))"
)
THEN = re.compile(r"則|就|那麼|(?i:then|would)")
SENTENCE_END = re.compile(r"[。!?\n;；]|\.\s")
# What may stand before a letter that opens its clause; "Hepatitis B is the answer" says nothing about an option B.
OWN_BEFORE = re.compile(
    r"(?:\A|[\n,，。.;；:!?、…—|]|選項|答案|[故即則是為知但而]|所以|因此|因而|認為|只有|只剩|唯有|判斷"
    r"|(?i:(?<![a-z])(?:option|choice|letter|answer|that|only|so|therefore|thus|hence|think|believe|then|clearly|but"
    r"|conclude)))[\s(*_「\"“\[【#$]{0,8}\Z"
)
DOUBT_BEFORE = re.compile(
    r"(?:不認為|不覺得|不能說|無法認定|(?:並非|並不是|不是)(?:只有|僅)?|以為|如果|若|是否|和|與|或|及|、|/|(?<![我們本])認為"
    r"|(?i:don't think|not think|doubt|whether|if|nor|or|and|neither|not|not true that|not the case that"
    r"|(?:people|students?|many|some|others|they) (?:think|believe|say|claim)s?(?: that)?))\s{0,2}"
    r"(?:選項|(?i:option|that|choice))?[\s(*「]{0,6}\Z"
)
# Behind an option that is called correct: it is no answer for all that.
BUT_NO_ANSWER = re.compile(
    r"[^。\n;；]{0,24}?(?:(?:不是|並非|而非|非|不為)(?:本題|此題|這題|題目|題幹)?的?(?:答案|所問|要求)"
    r"|(?i:(?:is|'s) not (?:the answer|what)|isn't (?:the answer|what)|not what))"
)
# What makes the first verdict of a text its last one as well.
ONLY = re.compile(r"只[有剩]|僅|唯|最|故|所以|因此|可知|(?i:only|so|thus|therefore|hence|most)")
ALSO = re.compile(r"[也亦]|(?i:also)")
