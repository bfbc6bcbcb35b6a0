"""Paper titles to subjects: a table written by hand, the catalogue when it is there, and what holds for every title."""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twlocal.exam.subjects import Rules, SubjectRulesError, head, normalised

RULES = Rules.load()

# One title a line, with the subject it must get. Printed forms are mixed on purpose: brackets of both widths, ㈠ and
# （一）, the levels 概要 and 大意, lists of what is included.
TITLES = """
醫學（一）（包括生物化學、解剖學、胚胎及發育生物學、組織學、生理學等科目）  basic_medical_sciences
醫學㈡（包括微生物免疫學、寄生蟲學、藥理學、病理學）  basic_medical_sciences
醫學(ㄧ)（包括解剖學、組織學）  basic_medical_sciences
基礎醫學（包括解剖學、生理學與病理學）  basic_medical_sciences
解剖學與生理學  basic_medical_sciences
生理學與生物化學  basic_medical_sciences
醫學(三)（包括內科、家庭醫學科等科目及其相關臨床實例與醫學倫理）  internal_medicine
醫學（四）（包括小兒科、皮膚科、神經科、精神科等科目）  pediatrics_psychiatry
醫學㈤（包括外科、骨科、泌尿科等科目）  surgery
醫學(六)（包括麻醉科、眼科、耳鼻喉科、婦產科、復健科等科目）  obstetrics_specialties
法醫毒物學  forensic_medicine
牙醫學(五)（包括口腔外科學、牙科放射線學等科目）  dentistry
牙體技術學（三）(包括活動義齒技術學科目)  dental_technology
基本護理學（包括護理原理、護理技術）與護理行政  fundamental_nursing
內外科護理學概要  medical_surgical_nursing
產兒科護理學  maternity_pediatric_nursing
精神科與社區衛生護理學  psychiatric_community_nursing
助產學（一）（包括助產學緒論、產前護理）  midwifery
藥理學與藥物化學  pharmacology
藥學(一)(包括藥理學與藥物化學)  pharmacology
藥物分析與生藥學（包括中藥學）  pharmaceutical_analysis
藥劑學（包括生物藥劑學）  pharmaceutics
調劑學與臨床藥學  clinical_pharmacy
藥物治療學  clinical_pharmacy
藥事行政與法規  pharmacy_law
中醫基礎醫學（一）（包括中國醫學史、中醫基礎理論、內經、難經）  chinese_medicine_theory
中醫基礎醫學（二）（包括中醫方劑學、中醫藥物學）  chinese_materia_medica
中醫臨床醫學（二）（包括中醫內科學、中醫婦科學、中醫兒科學）  chinese_medicine_clinical
中醫臨床醫學㈣(包括針灸科學)  acupuncture
生物化學與臨床生化學  clinical_biochemistry
臨床血液學與血庫學  clinical_hematology
微生物學及臨床微生物學（包括細菌與黴菌）  clinical_microbiology
臨床血清免疫學與臨床病毒學  clinical_serology_virology
醫學分子檢驗學與臨床鏡檢學（包括寄生蟲學）  molecular_diagnostics_microscopy
臨床生理學與病理學  clinical_physiology_pathology
醫學物理學與輻射安全  radiation_physics
放射線器材學（包括磁振學與超音波學）  radiation_physics
放射線診斷原理與技術學  diagnostic_radiology
放射線治療原理與技術學  radiotherapy
核子醫學診療原理與技術學  nuclear_medicine
基礎呼吸治療學（包括呼吸治療倫理）  respiratory_care
心肺基礎醫學  respiratory_diseases
重症呼吸治療學  critical_care_respiratory
物理治療技術學（包括電療學、熱療學）  physical_therapy
神經疾病物理治療學  neurological_physical_therapy
骨科疾病物理治療學  orthopedic_physical_therapy
心肺疾病與小兒疾病物理治療學  cardiopulmonary_pediatric_physical_therapy
職能治療學概論（包括職能治療之歷史、哲學）  occupational_therapy
生理障礙職能治療學  physical_occupational_therapy
心理障礙職能治療學  mental_occupational_therapy
小兒職能治療學  pediatric_occupational_therapy
電生理聽力學  audiology
聽語溝通障礙學(包括專業倫理)  audiology
兒童語言障礙學  speech_language_pathology
神經性溝通障礙學  speech_language_pathology
驗光學概要  optometry
視覺光學  visual_optics
隱形眼鏡學與配鏡學  contact_lenses_dispensing
營養學  nutrition
膳食療養學  diet_therapy
公共衛生營養學  community_nutrition
團體膳食設計與管理  food_service_management
食品衛生與安全  food_safety
流行病學與生物統計學概要  epidemiology_biostatistics
環境與職業衛生  environmental_occupational_health
衛生行政與管理  health_administration
衛生法規及倫理  health_administration
臨床心理學總論(二)（包括心理衡鑑、心理治療）  clinical_psychology
臨床心理學特論（三）（包括精神官能症之心理衡鑑與心理治療）  clinical_psychology
心理健康與變態心理學  clinical_psychology
諮商與心理治療理論  counseling
團體諮商與心理治療  counseling
心理測驗與評量  psychological_assessment
心理學（包括諮商與輔導）概要  psychology
人類行為與社會環境  psychology
社會工作研究方法  social_work
社會政策與社會立法概要  social_policy
社政法規大意  social_policy
社會學大意  sociology
教育法規大意  education
獸醫病理學  veterinary_pathology
獸醫藥理學  veterinary_pharmacology
獸醫實驗診斷學  veterinary_diagnostics
獸醫普通疾病學  veterinary_medicine
獸醫公共衛生學  veterinary_public_health
農藥藥理與應用學  agriculture
法學知識（包括中華民國憲法、法學緒論）  constitution_jurisprudence
法學大意  constitution_jurisprudence
基礎能力測驗(作文、中華民國憲法及法學緒論)  constitution_jurisprudence
法學知識與英文（包括中華民國憲法、法學緒論、英文）  legal_knowledge_english
法學知識與英文(包括中華民國憲法、原住民族行政及法規、英文)  legal_knowledge_english
綜合法政知識與英文（包括中華民國憲法、法學緒論、兩岸關係、英文）  legal_knowledge_english
憲法與英文  constitution_english
中華民國憲法與消防警察專業英文  constitution_english
基礎能力測驗(作文、英文及中華民國憲法)  constitution_english
中華民國憲法大意  constitutional_law
行政法概要  administrative_law
民法（包括總則、物權、親屬與繼承編）  civil_law
民法物權編概要  civil_law
刑法（包括刑事特別法）  criminal_law
刑法概要  criminal_law
刑事訴訟法  procedural_law
民事訴訟法大意與刑事訴訟法大意  procedural_law
法院組織法大意（包括法庭席位布置規則、法庭旁聽規則）  procedural_law
綜合法學(一)(刑法、刑事訴訟法、法律倫理)  comprehensive_law
綜合法學（二）民法、民事訴訟法  comprehensive_law
公司法、證券交易法與商業會計法  commercial_law
國際公法  international_law
國際法(含國際公法與國際私法)(以英文命題及作答)  international_law
監獄行刑法概要  criminology_corrections
犯罪學概要  criminology_corrections
專利行政與救濟法規  intellectual_property
公民與英文  civics_english
行政學大意  public_administration
地方自治大意  political_science
人事行政大意  personnel_administration
公務員法（包括任用、服務、考績、懲戒、行政中立）大意  personnel_administration
國籍與戶政法規概要（包括國籍法、戶籍法、姓名條例）  household_registration
國際關係與近代外交史  international_relations
國際傳播  mass_communication
勞工行政與勞工法規大意  labor_affairs
警察法規(包括警察法、行政執行法、社會秩序維護法)  police_law
警察情境實務(包括警察法規、實務操作標準作業程序)  police_scenario
水上警察情境實務概要(包括海巡法規、實務操作標準作業程序)  police_scenario
警察學與警察勤務  police_science
偵查法學與犯罪偵查  criminal_investigation
刑案現場處理與刑事鑑識  criminal_investigation
消防與災害防救法規概要(包括消防法、災害防救法)  fire_law
火災學概要  fire_science
警報與避難系統消防安全設備概要  fire_science
入出國及移民法規（包括入出國及移民法、民法親屬編）  immigration_law
國境執法與刑事法(包括刑法與刑事訴訟法)  border_security
國土安全與移民政策（包括移民人權）  border_security
海巡法規（包括海岸巡防法國家安全法海洋污染防治法海關緝私條例  coast_guard_law
經濟學概要  economics
財政學大意  public_finance
中級會計學  accounting
成本會計與管理會計  cost_accounting
政府會計概要  government_accounting
審計學(包括政府審計)  auditing
會計審計法規(包括預算法、會計法、決算法與審計法)  accounting_audit_law
稅務法規（包括所得稅法、土地稅法）  tax_law
租稅各論  tax_law
統計學大意  statistics
企業管理大意  business_management
材料管理大意  business_management
保險學概要  insurance
保險法規概要  insurance_law
財產風險管理概要  insurance_practice
國文（作文、公文與測驗）  chinese
國文(包括公文格式用語)  chinese
外國文（英文兼試移民專業英文）  english
關務英文  professional_english
外國文(日文兼試移民專業英文)  japanese
外國語（韓語）  korean
外國文(含新聞書信撰寫與編譯)(德文)  german
法文（兼試基礎英文）  french
外國語（西班牙語）  spanish
外國語（越南語）  southeast_asian_languages
義大利文（兼試基礎英文﹞  other_foreign_languages
工程數學  engineering_mathematics
普通物理與普通化學  physics_chemistry
計算機大意  computer_science
電子學大意  electronics
電工機械大意  electrical_engineering
機械原理大意  mechanical_engineering
土木監工大意  civil_engineering
大地工程基礎學科(三)(鋼筋混凝土)  civil_engineering
土地法與土地相關稅法概要  land_law
土地行政大意  land_administration
不動產估價概要  real_estate
建築結構  building_structures
建築環境控制  building_environment
營建法規與實務  building_codes
航行安全與氣象概要  navigation
船舶操作與船上人員管理  ship_operations
輪機工程（包括推進裝置、輔機與輪機英文）  marine_engineering
運輸學大意  transportation
鐵路運輸學大意  railway_operations
鐵路養護作業大意  railway_engineering
通關實務概要  customs
觀光資源概要（包括世界歷史、世界地理、觀光資源維護）  tourism_resources
領隊實務（一）（包括領隊技巧、航空票務、急救常識）  tour_guiding
原住民族行政及法規  indigenous_affairs
臺灣原住民族史大意  indigenous_history
中文圖書分類編目大意  library_science
"""

# Subjects whose only titles are among the fifth that the catalogue in ../shared keeps back.
KEPT_BACK = {
    "pediatrics_psychiatry",
    "psychiatric_community_nursing",
    "chinese_medicine_theory",
    "clinical_hematology",
    "clinical_serology_virology",
    "cardiopulmonary_pediatric_physical_therapy",
    "physical_occupational_therapy",
    "mental_occupational_therapy",
    "veterinary_pharmacology",
}


def table() -> list[tuple[str, str]]:
    return [(title, slug) for title, slug in (line.split("  ") for line in TITLES.strip().splitlines())]


@dataclass(frozen=True)
class Row:
    title: str
    rows: int
    keyed: bool


@pytest.fixture(scope="module")
def catalogue(shared: Path) -> list[Row]:
    """The real titles; `keyed`: more documents than rows, so for some of its rows a key is published."""
    path = shared / "data" / "catalog" / "subject_titles.csv"
    with path.open(encoding="utf-8-sig", newline="") as file:
        return [
            Row(row["subject_title"], int(row["catalog_rows"]), int(row["pdf_documents"]) > int(row["catalog_rows"]))
            for row in csv.DictReader(file)
        ]


@pytest.mark.parametrize(("title", "slug"), table())
def test_a_title_gets_its_subject(title: str, slug: str) -> None:
    match = RULES.match(title, keyed=True)
    assert match.subject == slug, match
    assert match.exclusion is None and not match.unknown
    assert match.subjects == (slug,)


def test_the_table_is_large_and_names_every_subject() -> None:
    titles = table()
    assert len(titles) >= 120
    assert len({title for title, _ in titles}) == len(titles)
    assert {slug for _, slug in titles} == {subject.slug for subject in RULES.subjects}


def test_there_are_148_subjects_in_19_fields() -> None:
    assert len({subject.slug for subject in RULES.subjects}) == len(RULES.subjects) == 148
    assert len({subject.zh for subject in RULES.subjects}) == 148
    assert len(RULES.fields) == len(set(RULES.fields.values())) == 19
    assert {subject.field for subject in RULES.subjects} == set(RULES.fields)


@pytest.mark.parametrize(
    ("title", "exclusion"),
    [
        ("國文（作文）", "essay_only"),
        ("英文（包括作文、翻譯與應用文）", "essay_only"),
        ("外國文（日文；包括作文、翻譯與應用文）", "essay_only"),
        ("行政法研究", "essay_only"),
        ("水產資源學特論", "essay_only"),
        ("大氣動力學（包括中尺度動力）", "essay_only"),
        ("景觀工程", "essay_only"),
        ("體能測驗", "practical"),
        ("外語口試(選試英語)", "practical"),
        ("民法與刑法", "combined"),
        ("行政法與刑事訴訟法", "combined"),
        ("行政法、諮商心理及其相關法規", "combined"),
        ("刑事法與消防法規（包括刑法、刑事訴訟法、消防法、災害防救法）", "combined"),
        ("刑事訴訟法與入出國及移民法規", "combined"),
        ("基礎法學（民法、刑法及行政法）", "combined"),
    ],
)
def test_a_title_is_excluded_by_name(title: str, exclusion: str) -> None:
    match = RULES.match(title)
    assert match.exclusion == exclusion
    assert match.subject is None and match.field is None and not match.unknown
    assert RULES.exclusions[exclusion]


def test_a_paper_that_examines_two_subjects_is_combined_and_names_both() -> None:
    match = RULES.match("經濟學概論與財政學概論")
    assert match.exclusion == "combined" and match.subject is None
    assert match.subjects == ("economics", "public_finance")
    assert RULES.match("產兒科、精神科與社區衛生護理學概要").subjects == (
        "maternity_pediatric_nursing",
        "psychiatric_community_nursing",
    )


@pytest.mark.parametrize("title", ["", "（）", "試題", "占星學大意", "Tarot reading", "世界地理大意"])
def test_what_no_rule_knows_is_unknown_and_not_forced(title: str) -> None:
    match = RULES.match(title)
    assert match.unknown and match.title == title
    assert (match.subject, match.exclusion, match.rule, match.field, match.subjects) == (None, None, None, None, ())


def test_an_answer_key_refutes_essay_only() -> None:
    assert RULES.match("海洋生態學").exclusion == "essay_only"
    assert RULES.match("海洋生態學", keyed=True).unknown
    # Every 大意 paper has options: no list of essay disciplines takes it, with or without a key.
    assert RULES.match("海洋生態學大意").unknown
    # The other exclusions are about the paper itself and stay.
    assert RULES.match("民法與刑法", keyed=True).exclusion == "combined"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("刑事訴訟法", "刑法"),
        ("行政法", "行政學"),
        ("民法", "民事訴訟法"),
        ("會計學", "成本會計與管理會計"),
        ("會計學", "政府會計"),
        ("會計學大意", "會計審計法規大意"),
        ("審計學", "會計審計法規"),
        ("獸醫藥理學", "藥理學"),
        ("獸醫公共衛生學", "公共衛生營養學"),
        ("營養學", "公共衛生營養學"),
        ("運輸學大意", "鐵路運輸學大意"),
        ("內外科護理學", "基本護理學"),
        ("心理學", "臨床心理學總論"),
        ("微生物學與免疫學", "微生物學與臨床微生物學"),
        ("聽語溝通障礙學", "神經性溝通障礙學"),
        ("外國文(英文)", "外國文(日文兼試基礎英文)"),
        ("法學知識", "法學知識與英文"),
        ("監獄行刑法", "刑法"),
        ("保險學", "保險法規"),
        ("輪機工程（包括輪機英文）", "輪機英文"),
    ],
)
def test_titles_that_contain_each_other_stay_apart(one: str, other: str) -> None:
    first, second = RULES.match(one).subject, RULES.match(other).subject
    assert first and second and first != second


def test_the_kept_title_is_the_printed_one() -> None:
    printed = "醫學㈢（包括內科）　"
    assert RULES.match(printed).title == printed
    assert normalised(printed) == "醫學三(包括內科)"


@pytest.mark.parametrize(
    ("title", "outside"),
    [
        ("醫學（三）（包括內科、家庭醫學科）", "醫學三"),
        ("醫學(3)", "醫學三"),
        ("中醫臨床醫學（一）（包括傷寒論（學）、溫病學）", "中醫臨床醫學一"),
        ("行 政 法 概要", "行政法"),
        ("海巡法規概要（包括國家安全法、臺灣地區與大陸", "海巡法規"),
        ("法文）", "法文"),
        ("岩石力學【含水土保持工程】", "岩石力學"),
        ("台灣原住民族史大意", "臺灣原住民族史"),
        ("民法（包括總則）大意", "民法"),
    ],
)
def test_the_head_of_a_title(title: str, outside: str) -> None:
    assert head(title) == outside


_WIDE = {"(": "(（﹙", ")": ")）﹚"}
_BLANKS = " \u3000\u00a0"
_PARTS = dict(zip("一二三四五六", "㈠㈡㈢㈣㈤㈥", strict=True))


@st.composite
def _printings(draw: st.DrawFn) -> tuple[str, str]:
    """A title of the table and another printing of it: widths of brackets, ㈠ for （一）, blanks between characters."""
    title, slug = draw(st.sampled_from(table()))
    if draw(st.booleans()):
        title = re.sub("[（(]([一二三四五六])[）)]", lambda part: _PARTS[part[1]], title)
    printed = []
    for character in title:
        plain = {"（": "(", "）": ")"}.get(character, character)
        printed.append(draw(st.sampled_from(_WIDE.get(plain, character))))
        if draw(st.integers(0, 9)) == 0:
            printed.append(draw(st.sampled_from(_BLANKS)))
    return "".join(printed), slug


@given(_printings())
def test_widths_and_blanks_never_change_the_match(case: tuple[str, str]) -> None:
    printed, slug = case
    assert RULES.match(printed, keyed=True).subject == slug


_LETTERS = "法學行政民刑憲與及、（）()㈠一二概要大意研究英文國護理會計 \u3000"


@given(st.text(alphabet=_LETTERS, max_size=40), st.booleans())
def test_every_text_has_exactly_one_outcome(title: str, keyed: bool) -> None:
    match = RULES.match(title, keyed=keyed)
    assert [match.subject is not None, match.exclusion is not None, match.unknown].count(True) == 1
    assert (match.field is None) == (match.subject is None)
    assert (match.rule is None) == match.unknown
    assert match == RULES.match(title, keyed=keyed)


def test_97_percent_of_the_catalogue_with_options_is_known(catalogue: list[Row]) -> None:
    keyed = [row for row in catalogue if row.keyed]
    known = [row for row in keyed if not RULES.match(row.title, keyed=True).unknown]
    subjects = [row for row in keyed if RULES.match(row.title, keyed=True).subject]
    assert len(known) / len(keyed) >= 0.97
    assert sum(row.rows for row in known) / sum(row.rows for row in keyed) >= 0.97
    # An exclusion is an outcome, but a rule that excludes everything would be none.
    assert len(subjects) / len(keyed) >= 0.95
    assert sum(row.rows for row in subjects) / sum(row.rows for row in keyed) >= 0.97


def test_essay_only_is_true_of_the_catalogue(catalogue: list[Row]) -> None:
    """A title under which a key was published is (nearly) never called essay_only, even without being told."""
    keyed = [row for row in catalogue if row.keyed]
    wrong = [row.title for row in keyed if RULES.match(row.title).exclusion == "essay_only"]
    assert len(wrong) / len(keyed) < 0.01, wrong


def test_every_subject_and_exclusion_is_met_in_the_catalogue(catalogue: list[Row]) -> None:
    met = Counter(rule for row in catalogue if (rule := RULES.match(row.title).rule))
    subjects = {subject.slug for subject in RULES.subjects}
    never = {slug for slug in subjects if not met[f"{slug}.head"] + met[f"{slug}.first"]}
    assert never <= KEPT_BACK
    with_options = {RULES.match(row.title, keyed=True).subject for row in catalogue if row.keyed}
    assert subjects - with_options <= KEPT_BACK
    for rule in ("practical.before", "essay_only.before", "essay_only.after"):
        assert met[rule], rule
    for rule in ("combined.before", "combined.head", "combined.after"):
        assert met[rule], rule


def test_brackets_of_both_widths_agree_over_the_catalogue(catalogue: list[Row]) -> None:
    wide, narrow = str.maketrans("()", "（）"), str.maketrans("（）", "()")
    for row in catalogue:
        match = RULES.match(row.title)
        for printed in (row.title.translate(wide), row.title.translate(narrow)):
            other = RULES.match(printed)
            assert (other.subjects, other.exclusion, other.rule) == (match.subjects, match.exclusion, match.rule)


GOOD = """
[fields]
law = "法律"
[[exclusions]]
name = "practical"
step = "before"
reason = "no paper"
text = ['術科']
[subjects.civil_law]
zh = "民法"
field = "law"
head = ['^民法$']
"""


def test_rules_come_from_any_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(GOOD, encoding="utf-8")
    rules = Rules.load(path)
    assert rules.match("民法概要").rule == "civil_law.head"
    assert rules.match("刑法").unknown
    assert rules.exclusions == {"practical": "no paper", "combined": "the paper examines several subjects"}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[fields]", "[fields", "not valid TOML"),
        ('field = "law"', 'field = "lore"', "no field 'lore'"),
        ("subjects.civil_law", "subjects.Civil-Law", "snake_case"),
        ("['^民法$']", "['^民法(']", "no regular expression"),
        ("['^民法$']", "'^民法$'", "not a list"),
        ("['^民法$']", "[]", "not a list"),
        ("head = ['^民法$']", "", "no rule leads to it"),
        ("head = ['^民法$']", "heads = ['^民法$']", "unknown heads"),
        ('zh = "民法"', "zh = 1", "zh is missing"),
        ('step = "before"', 'step = "later"', "not 'before' or 'after'"),
        ("text = ['術科']", "", "nothing to look for"),
        ('reason = "no paper"', "", "reason is missing"),
        ("[subjects.civil_law]", "[subjects]\ncivil_law = 3\n[other]", "not a table"),
    ],
)
def test_rules_that_do_not_hold_together_are_refused(old: str, new: str, said: str) -> None:
    assert old in GOOD
    with pytest.raises(SubjectRulesError, match=re.escape(said)):
        Rules.parse(GOOD.replace(old, new))


def test_rules_without_subjects_and_missing_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SubjectRulesError, match="name no subject"):
        Rules.parse('[fields]\nlaw = "法律"\n')
    with pytest.raises(SubjectRulesError, match=r"nowhere\.toml"):
        Rules.load(tmp_path / "nowhere.toml")
