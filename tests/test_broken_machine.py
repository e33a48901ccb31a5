"""A machine that lacks something: the command line answers all the same, or says in one sentence what is wrong."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gpudash import load_catalogue
from gpudash.pdf import FONT_FILES, FONTS
from gpudash.tables import DATA

ROOT = DATA.parent
FULL = Path("/dev/full")
# Standard input of Python: a process that is short of something, then the command line with the arguments that follow.
SMALL_DISK = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))"
KILLED_BEFORE_THE_END = "import os, signal; os.fsync = lambda file: os.kill(os.getpid(), signal.SIGKILL)"
NO_TIME_ZONES = "import sys, zoneinfo; zoneinfo.reset_tzpath([]); sys.modules['tzdata'] = None"

posix = pytest.mark.skipif(os.name != "posix", reason="the fault is made with means that only POSIX systems have")


def command(*arguments: str, before: str = "", folder: Path = ROOT, **environment: str):
    """The command line in a process of its own, on a machine in which `before` was done."""
    script = f"import sys\n{before}\nfrom gpudash.__main__ import main\nsys.exit(main(sys.argv[1:]))"
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def refused_in_one_sentence(run) -> str:
    assert run.returncode == 2
    assert "Traceback" not in run.stderr
    assert len(run.stderr.splitlines()) == 1
    return run.stderr


@pytest.fixture
def copy(tmp_path) -> Path:
    """The program with data of its own that may be broken."""
    for name in ("gpudash", "data"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


@posix
@pytest.mark.parametrize("ending", ["pdf", "csv", "md", "json", "xlsx", "ics"])
def test_every_file_is_made_with_a_read_only_home_and_without_time_zones(tmp_path, ending):
    file = tmp_path / f"brief.{ending}"
    run = command("brief", "-o", str(file), before=NO_TIME_ZONES, HOME="/proc", TZ="Nowhere/City")
    assert run.returncode == 0, run.stderr
    assert file.stat().st_size == json.loads(run.stdout)["bytes"] > 0


@posix
def test_a_full_disk_is_told_in_one_sentence_and_the_earlier_file_stays(tmp_path):
    file = tmp_path / "brief.pdf"
    file.write_bytes(b"the brief of yesterday")
    said = refused_in_one_sentence(command("brief", "-o", str(file), before=SMALL_DISK))
    assert str(file) in said
    assert file.read_bytes() == b"the brief of yesterday"
    assert [path.name for path in tmp_path.iterdir()] == ["brief.pdf"]


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
def test_a_full_device_is_told_in_one_sentence(tmp_path):
    (tmp_path / "brief.md").symlink_to(FULL)
    said = refused_in_one_sentence(command("brief", "-o", str(tmp_path / "brief.md")))
    assert "No space left on device" in said


@posix
def test_a_brief_whose_making_is_killed_leaves_the_earlier_one_whole(tmp_path):
    file = tmp_path / "brief.pdf"
    file.write_bytes(b"the brief of yesterday")
    assert command("brief", "-o", str(file), before=KILLED_BEFORE_THE_END).returncode < 0
    assert file.read_bytes() == b"the brief of yesterday"


@posix
def test_a_written_file_keeps_its_rights_and_a_link_stays_a_link(tmp_path):
    file, link = tmp_path / "brief.md", tmp_path / "link.md"
    file.write_bytes(b"")
    file.chmod(0o640)
    link.symlink_to(file)
    assert command("brief", "-o", str(link)).returncode == 0
    assert link.is_symlink()
    assert file.stat().st_mode & 0o777 == 0o640
    assert file.stat().st_size > 0


@pytest.mark.parametrize("language, said", [("en", "spot.csv has changed"), ("zh", "spot.csv 与登记的校验值不符")])
def test_a_changed_snapshot_is_not_used_and_named(copy, language, said):
    with (copy / "data" / "prices" / load_catalogue().snapshot / "spot.csv").open("a", encoding="utf-8") as file:
        file.write("\n")
    assert said in refused_in_one_sentence(command("--language", language, "evaluate", folder=copy))


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe\x00", b"files: [", b"files: 3"], ids=["empty", "no text", "no YAML", "no list"]
)
def test_a_snapshot_whose_list_of_files_is_broken_is_named(copy, content):
    (copy / "data" / "prices" / load_catalogue().snapshot / "origin.yaml").write_bytes(content)
    assert "origin.yaml cannot be read" in refused_in_one_sentence(command("evaluate", folder=copy))


def test_a_missing_price_file_is_named(copy):
    (copy / "data" / "prices" / load_catalogue().snapshot / "offers.csv").unlink()
    assert "offers.csv is missing" in refused_in_one_sentence(command("evaluate", folder=copy))


def test_one_broken_snapshot_does_not_keep_another_from_being_read(copy):
    prices, good = copy / "data" / "prices", load_catalogue().snapshot
    shutil.copytree(prices / good, prices / "2099-01-01")
    (prices / "2099-01-01" / "offers.csv").write_text("", encoding="utf-8")
    refused_in_one_sentence(command("evaluate", folder=copy))
    run = command("evaluate", "--set", f"catalogue.snapshot={good}", folder=copy)
    assert run.returncode == 0
    assert json.loads(run.stdout)["recommendation"]["offer"]


@pytest.mark.parametrize("file", ["NotoSansSC-Bold.otf", "signs.txt"])
def test_a_pdf_without_its_fonts_is_refused_and_every_other_file_is_made(copy, file):
    (copy / "data" / "fonts" / file).unlink()
    assert file in refused_in_one_sentence(command("brief", "-o", "brief.pdf", folder=copy))
    assert not (copy / "brief.pdf").exists()
    assert command("brief", "-o", "brief.xlsx", folder=copy).returncode == 0


def test_the_fonts_that_the_pdf_asks_for_are_those_that_are_shipped():
    assert sorted(FONT_FILES) == sorted(path.name for path in FONTS.iterdir() if path.name != "OFL.txt")
