"""`twlocal exam` as it is called, where no PDF is needed."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def titles(tmp_path):
    path = tmp_path / "titles.csv"
    path.write_text("subject_title,catalog_rows\n民法,5\n口試,2\n星際航行學,3\n", encoding="utf-8")
    return path


def test_subjects_of_a_catalogue(twlocal, titles):
    done = twlocal("exam", "subjects", "--titles", titles, "--keyed")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "papers: 10; one subject: 5 (50.00%)",
        "  excluded, practical: 2",
        "  no rule knows the title: 3 (30.00%)",
        "    3  星際航行學",
    ]


def test_subjects_listed_and_for_machines(twlocal, titles):
    done = twlocal("exam", "subjects", "--titles", titles, "--keyed", "--list")
    assert "5\tcivil_law\tlaw\t民法" in done.stdout and "3\t?\t\t星際航行學" in done.stdout
    data = json.loads(twlocal("exam", "subjects", "--titles", titles, "--keyed", "--json").stdout)
    assert (data["papers"], data["matched"]) == (10, 5)
    assert {row["title"]: row["subject"] for row in data["titles"]}["民法"] == "civil_law"


def test_a_folder_that_is_not_there(twlocal, tmp_path):
    done = twlocal("exam", "parse", "nowhere")
    assert done.returncode == 2 and "there is no folder nowhere" in done.stderr
    assert not (tmp_path / "exam.db").exists()


def test_a_folder_without_papers(twlocal, tmp_path):
    done = twlocal("exam", "parse", tmp_path)
    assert done.returncode == 2 and "ID__Q.pdf" in done.stderr


def test_help_names_the_stages(twlocal):
    done = twlocal("exam", "--help")
    assert done.returncode == 0
    for stage in ("fetch", "parse", "subjects", "build", "check", "audit", "withdraw"):
        assert f"\n  {stage} " in done.stdout
