"""`twlocal audit`, as it is called."""

from __future__ import annotations

import csv
import json

import pytest


@pytest.fixture
def rows(tmp_path):
    def write(name, *lines):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        with path.open("w", encoding="utf-8", newline="") as file:
            table = csv.writer(file)
            table.writerow(["question", "A", "B", "C", "D", "answer"])
            table.writerows(lines)
        return path

    return write


ONE = ("家戶垃圾由誰負責處理？", "內政部", "環境保護署", "清潔隊", "行政院", "A")
TURNED = ("家戶垃圾由誰負責處理？", "行政院", "清潔隊", "環境保護署", "內政部。", "D")
AGAINST_IT = ("家戶垃圾由誰負責處理？", "行政院", "清潔隊", "環境保護署", "內政部", "A")


def test_duplicates_and_agreement(twlocal, rows):
    done = twlocal("audit", rows("a.csv", ONE, TURNED))
    assert done.returncode == 0, done.stderr
    assert "2 in 1 group of the same question (1 with the options in another order)" in done.stdout
    assert "keys agree by the text of the answer in 100.0000% of the groups" in done.stdout
    assert "by the letter it would be 1" in done.stdout


def test_conflicts_go_to_a_table_and_come_back(twlocal, rows, tmp_path):
    source, table = rows("a.csv", ONE, AGAINST_IT), tmp_path / "verdicts.csv"
    assert "1 conflict;" in twlocal("audit", source, "--verdicts", table).stdout
    text = table.read_text(encoding="utf-8-sig")
    assert ',true,,,,"the same stem' in text
    table.write_text(text.replace(",true,,,", ",true,true,me,真的"), encoding="utf-8")
    done = twlocal("audit", source, "--verdicts", table, "--json")
    data = json.loads(done.stdout)
    assert data["verdicts"] == {"true": 1} and data["attributed_agreement"] == 0.0
    assert "真的" in table.read_text(encoding="utf-8-sig")
    table.write_text(text.replace(",true,,,", ",true,maybe,,"), encoding="utf-8")
    done = twlocal("audit", source, "--verdicts", table)
    assert (done.returncode, "verdicts.csv:2: 'maybe' is no verdict" in done.stderr) == (2, True)


def test_splits_and_contamination(twlocal, rows, tmp_path):
    rows("set/法律_test.csv", ONE)
    rows("set/法律_train.csv", TURNED)
    done = twlocal("audit", tmp_path / "set", "--against", rows("b.csv", ONE))
    assert "of 1 row of test, 1 also in train, 0 of them verbatim" in done.stdout
    assert "duplicate groups that span splits: 1" in done.stdout
    assert f"of 2 rows, 2 also in {tmp_path / 'b.csv'}, 1 of them verbatim" in done.stdout


def test_a_dataset_that_is_not_there(twlocal):
    done = twlocal("audit", "nowhere.csv")
    assert done.returncode == 2 and "no such file, folder or bench: nowhere.csv" in done.stderr
