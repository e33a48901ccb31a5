"""Which card runs which version of a framework, and why not: the published builds, each with its source."""

import re

import pytest

from gpudash import GpudashError, Scenario, evaluate, load_catalogue
from gpudash.ecosystem import FRAMEWORKS, builds, compatibility, versions
from gpudash.figures.ecosystem import cards
from gpudash.text import LANGUAGES, Text

CATALOGUE = load_catalogue()
HARDWARE = CATALOGUE.hardware


def answer(gpu: str, framework: str, version: str | None = None, cuda: str | None = None):
    return compatibility(HARDWARE, [HARDWARE.index(gpu)], framework, version, cuda)[0]


def reasons(**requirements) -> set[str]:
    """Why offers fall when these requirements are set, run without a serving engine that is choosier."""
    asked = Scenario.read({"workload": {"engine": "eager"}, "requirements": requirements})
    return {Text("en").say(reason) for reason in evaluate(asked, CATALOGUE).rejected.reasons}


@pytest.mark.parametrize(
    ("gpu", "version", "toolkits"),
    [
        ("V100-32GB", "2.9", ("12.6", "12.8")),  # the CUDA 13 build has no Volta any more
        ("V100-32GB", "2.11", ("12.6",)),  # nor has the CUDA 12.8 build
        ("V100-32GB", "2.14", ("12.6",)),
        ("T4", "2.9", ("12.6", "12.8", "13.0")),
        ("H100 SXM", "2.14", ("12.6", "13.0", "13.2")),
        ("L4", "2.9", ("12.6", "12.8", "13.0")),  # 8.9 runs the kernels of 8.6
        ("B200", "2.9", ("12.8", "13.0")),  # Blackwell only from CUDA 12.8 on
        ("RTX 5090", "2.7", ("12.8",)),
        ("B300", "2.9", ("12.8", "13.0")),  # 10.3 runs the kernels of 10.0
        ("P100", "2.9", ("12.6",)),
        ("MI300X", "2.9", ("6.4",)),
        ("MI355X", "2.10", ("7.1",)),
    ],
)
def test_pytorch_runs_on_a_card_with_the_builds_that_hold_its_kernels(gpu, version, toolkits):
    found = answer(gpu, "pytorch", version)
    assert found.runs
    assert found.toolkits == toolkits
    assert found.source


@pytest.mark.parametrize(
    ("gpu", "framework", "version", "cuda"),
    [
        ("V100-32GB", "pytorch", "2.9", "13.0"),
        ("V100-32GB", "pytorch", "2.11", "12.8"),
        ("B200", "pytorch", "2.5", None),  # before Blackwell
        ("B200", "pytorch", "2.9", "12.6"),
        ("MI355X", "pytorch", "2.9", None),  # gfx950 from ROCm 7 on
        ("MI300X", "pytorch", "2.9", "12.8"),  # no CUDA on AMD
        ("Gaudi2", "pytorch", "2.9", None),  # no public build listed
        ("TPU v5e", "pytorch", None, "12.4"),
        ("RTX 5090", "tensorflow", "2.19", None),
        ("H100 SXM", "pytorch", "1.12", None),
        ("V100-32GB", "any", None, "13.0"),
        ("B200", "any", None, "12.6"),
    ],
)
def test_a_card_without_kernels_is_refused_with_a_reason(gpu, framework, version, cuda):
    found = answer(gpu, framework, version, cuda)
    assert not found.runs
    assert found.toolkits == ()
    for language in LANGUAGES:
        sentence = Text(language).say(found.because)
        assert "{" not in sentence


@pytest.mark.parametrize("gpu", ["V100-32GB", "T4", "A10", "L4", "H100 SXM"])
def test_a_framework_without_a_list_of_its_own_runs_where_its_toolkit_does(gpu):
    assert answer(gpu, "onnx", "1.20").runs
    assert answer(gpu, "any", cuda="12.4").runs


def test_a_patch_release_is_its_minor_release_and_a_bare_toolkit_any_of_its_major():
    assert answer("V100-32GB", "pytorch", "2.9.1") == answer("V100-32GB", "pytorch", "2.9")
    assert answer("B200", "pytorch", "2.9", "12").toolkits == ("12.8",)


def test_the_reason_names_card_capability_and_source():
    sentence = Text("en").say(answer("V100-32GB", "pytorch", "2.9", "13.0").because)
    assert sentence.startswith("PyTorch 2.9 with CUDA 13.0 has no kernels for V100-32GB (compute capability 7.0)")
    assert "RELEASE.md" in sentence


@pytest.mark.parametrize(
    ("question", "says"),
    [
        (("pytorch", "9.9", None), "Listed versions"),
        (("pytorch", "2.9", "11.8"), "12.6, 12.8, 13.0"),
        (("any", None, "9.2"), "11.8"),
        (("any", None, "twelve"), "11.8"),
        (("any", "2.9", None), "PyTorch"),
    ],
)
def test_what_is_not_listed_is_answered_with_what_is(question, says):
    with pytest.raises(GpudashError) as error:
        compatibility(HARDWARE, [0], *question)
    assert says in str(error.value)


def test_the_version_is_a_gate_of_the_evaluation():
    with_cuda_13 = reasons(framework="pytorch", framework_version="2.9", cuda_version="13.0")
    assert any("has no kernels for V100-16GB (compute capability 7.0)" in reason for reason in with_cuda_13)
    assert "There is no CUDA on AMD accelerators." in with_cuda_13
    any_build = reasons(framework="pytorch", framework_version="2.9")
    assert not any("has no kernels for V100" in reason for reason in any_build)


def test_a_training_run_asks_about_pytorch_when_no_framework_is_named():
    wishes = {"workload": {"kind": "training"}, "requirements": {"framework_version": "2.5"}}
    result = evaluate(Scenario.read(wishes), CATALOGUE)
    assert "B200" not in result.recommendation.gpu
    assert any("PyTorch 2.5 has no kernels for B200" in Text("en").say(reason) for reason in result.rejected.reasons)


def test_every_build_names_its_source_and_date():
    for build in builds():
        assert build.source
        assert re.fullmatch(r"\d{4}(-\d{2}(-\d{2})?)?", build.as_of)
    assert {build.item for build in builds()} == {*FRAMEWORKS, "cuda"}
    assert versions("pytorch")[-1] == "2.14"


def test_the_table_of_cards_answers_for_the_version_asked_for_with_its_source():
    wishes = {"requirements": {"framework": "pytorch", "framework_version": "2.9"}}
    shown = cards(evaluate(Scenario.read(wishes), CATALOGUE), Text("en"))
    assert "PyTorch 2.9" in shown.title
    rows = {row[0]: row for row in zip(*(column.values for column in shown.columns))}
    assert rows["V100-32GB"][1:3] == ("yes", "12.6, 12.8")
    assert "RELEASE.md" in rows["V100-32GB"][4]
    assert rows["Gaudi2"][1] == "no"
