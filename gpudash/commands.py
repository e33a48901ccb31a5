"""What each command of `python -m gpudash` does: options in, plain JSON values out. Heavy modules load when needed."""

import math
import sys
from argparse import Namespace
from contextlib import suppress
from dataclasses import fields

from gpudash.documents import read_document, read_table, write_table
from gpudash.errors import GpudashError
from gpudash.scenario import Scenario
from gpudash.text import Text

# Options that are inputs of the Scenario under a shorter name; the Scenario checks them.
INPUTS = {
    "model": "workload.model",
    "weights": "workload.weight_precision",
    "kv": "workload.kv_precision",
    "kv_layout": "workload.kv_layout",
    "context_tokens": "workload.context_tokens",
    "output_tokens": "workload.output_tokens",
    "engine": "workload.engine",
    "method": "workload.training_method",
    "optimizer": "workload.optimizer",
    "zero_stage": "workload.zero_stage",
}
MOST_GPUS_OR_REQUESTS = 1_000_000  # our choice: far beyond any real server or batch
SCORE_KEYS = {"options", "criteria", "matrix", "method"}


def evaluate(options: Namespace, text: Text) -> dict:
    """The Result of a scenario."""
    from gpudash.result_json import result_json

    return result_json(_result(options, text), text)


def tree(options: Namespace, text: Text) -> dict:
    """The path of a scenario through one decision tree."""
    from gpudash.result_json import plain, step_json
    from gpudash.stages import missing_parts
    from gpudash.tree import load_tree

    load_tree(options.name)
    result = _result(options, text)
    path = result.path.get(options.name)
    if path is None:
        return {"tree": options.name, "faults": plain(missing_parts(result.warnings), text)}
    return {
        "tree": options.name,
        "steps": [step_json(step, text) for step in path.steps],
        "outcome": text.say(path.outcome),
    }


def memory(options: Namespace, text: Text) -> dict:
    """GPU memory of a model, served or trained."""
    from gpudash.assumptions import resolve_model
    from gpudash.catalogue import load_catalogue
    from gpudash.memory import memory as memory_of
    from gpudash.result_json import plain

    work = _scenario(options).workload
    usable_gb = None
    if options.gpu is not None:
        hardware = load_catalogue().hardware
        usable_gb = float(hardware.usable_gb[hardware.index(options.gpu)])
    training = {}
    if options.method is not None:
        training = {name: getattr(work, name) for name in ("optimizer", "zero_stage", "recomputation")}
    needed = memory_of(
        resolve_model(work),
        weights=work.weight_precision,
        kv=work.kv_precision,
        context_tokens=work.context_tokens if options.context_tokens or not training else work.sequence_tokens,
        batch_size=_count(options, "batch"),
        gpu_count=_count(options, "gpus"),
        usable_gb_per_gpu=usable_gb,
        kv_layout=work.kv_layout,
        method=options.method,
        state_gb=work.state_gb,
        buffer_gb=work.buffer_gb,
        **training,
    )
    return plain(needed, text)


def speed(options: Namespace, text: Text) -> dict:
    """Speed and bands of a model served on some GPUs."""
    from gpudash.assumptions import assume
    from gpudash.catalogue import load_catalogue
    from gpudash.result_json import plain
    from gpudash.speed_request import speed as speed_of

    known = assume(_scenario(options), load_catalogue())
    counts = {"gpu_count": _count(options, "gpus"), "batch_size": _count(options, "batch")}
    return plain(speed_of(known, options.gpu, **counts), text)


def speed_batch(options: Namespace, text: Text) -> dict:
    """A table of set-ups with the speed predicted for each."""
    from gpudash.speed_rows import predict_rows

    return _predict(options, text, predict_rows)


def training_batch(options: Namespace, text: Text) -> dict:
    """A table of training runs with the speed predicted for each."""
    from gpudash.training_rows import predict_training_rows

    return _predict(options, text, predict_training_rows)


def fit_batch(options: Namespace, text: Text) -> dict:
    """A table of set-ups with the verdict on whether each fits its GPUs."""
    from gpudash.memory_rows import fit_rows

    return _predict(options, text, fit_rows)


def memory_batch(options: Namespace, text: Text) -> dict:
    """A table of set-ups with the memory that would be measured of each."""
    from gpudash.memory_rows import memory_rows

    return _predict(options, text, memory_rows)


def mix(options: Namespace, text: Text) -> dict:
    """The cheapest purchase split of a demand and prices given as a file."""
    from gpudash.mix_request import mix as mix_of

    return mix_of(read_document(options.file))


def tiers(options: Namespace, text: Text) -> dict:
    """The cheapest tier of each data set of a file."""
    from gpudash.storage import tiers as tiers_of

    return tiers_of(read_document(options.file))


def score(options: Namespace, text: Text) -> dict:
    """The ranking of a table of options."""
    from gpudash.result_json import plain

    return plain(score_table(read_document(options.file), options.file), text)


def score_table(table, file: str):
    """The scores of a table of options, criteria and values, as a document holds it."""
    from gpudash.score_table import score as score_of

    if not isinstance(table, dict) or not SCORE_KEYS - {"method"} <= set(table) <= SCORE_KEYS:
        raise GpudashError("cli.score_keys", file=file, keys=", ".join(sorted(SCORE_KEYS)))
    return score_of(**table)


def formula(options: Namespace, text: Text) -> dict:
    """The published dynamic cost formula."""
    from gpudash.formula import dynamic_cost

    return dynamic_cost(
        _number("--base", options.base),
        _number("--reserved-discount", options.reserved_discount),
        _number("--burst", options.burst),
        _number("--region-premium", options.region_premium),
        _number("--utilisation", options.utilisation),
        stepped=options.stepped,
    )


def claims(options: Namespace, text: Text) -> list[dict]:
    """The audit of the articles' claims."""
    from gpudash.claims import claims as claims_of
    from gpudash.result_json import plain

    return plain(claims_of(), text)


def brief(options: Namespace, text: Text) -> dict:
    """Writes the brief of a scenario as a file."""
    from gpudash.brief import Brief
    from gpudash.export_files import maker, write_brief
    from gpudash.figures.money import text_for

    maker(options.o)  # an unknown kind of file is refused before the work
    if options.address is not None and not options.address.startswith(("http://", "https://")):
        raise GpudashError("export_files.address", found=options.address[:80])
    result = _result(options, text)
    said = text_for(result.scenario, result.catalogue, text.language)
    size = write_brief(Brief(result, said, options.address or ""), options.o)
    return {"file": options.o, "bytes": size}


def link(options: Namespace, text: Text) -> dict:
    """The share link of a scenario."""
    from gpudash.share import url

    return {"link": url(_scenario(options))}


def open_link(options: Namespace, text: Text) -> dict:
    """The scenario of a link; what its answer would be with newer prices goes to stderr, beside the JSON."""
    from gpudash.catalogue import load_catalogue, snapshots
    from gpudash.evaluate import evaluate as result_of
    from gpudash.newer_prices import newer_prices
    from gpudash.share import scenario_of_url

    scenario = scenario_of_url(options.url)
    pinned = scenario.catalogue.snapshot
    if pinned is not None and pinned < snapshots()[-1]:
        with suppress(GpudashError):  # without an answer there is nothing to compare
            said = newer_prices(result_of(scenario, load_catalogue(pinned)))
            if said is not None:
                say_aside(text.say(said))
    return scenario.model_dump(mode="json")


def say_aside(sentence: str) -> None:
    """A sentence on stderr, without signs that would move the cursor or colour the screen."""
    print("".join(sign if sign.isprintable() else " " for sign in sentence), file=sys.stderr)


def _result(options: Namespace, text: Text):
    """The Result of the scenario asked for; --prices adds a user's own, --full asks what would change it, too."""
    from gpudash.catalogue import load_catalogue
    from gpudash.evaluate import evaluate as result_of

    scenario = _scenario(options)
    prices = load_catalogue(scenario.catalogue.snapshot)
    if vars(options).get("prices"):
        from gpudash.catalogue_commands import price_sheet

        imported = price_sheet(options.prices, options, prices)
        prices, scenario = imported.applied(prices), scenario.with_value("catalogue.own_sheet", imported.sheet)
        if left_out := imported.left_out():
            say_aside(text.say(left_out))
    result = result_of(scenario, prices)
    if vars(options).get("full"):
        from dataclasses import replace

        from gpudash.fleets import find_fleets
        from gpudash.flips import find_flips
        from gpudash.uncertainty import simulate

        result = replace(
            result,
            flips=find_flips(scenario, prices),
            fleets=find_fleets(scenario, prices),
            uncertainty=simulate(scenario, prices),
        )
    return result


def _scenario(options: Namespace) -> Scenario:
    """The scenario of a file or a link (else the defaults), changed by short options and then by `--set`."""
    from gpudash.share import from_text, scenario_of_url

    given = vars(options)
    file, address = given.get("file"), given.get("link")
    if file is not None and address is not None:
        raise GpudashError("cli.file_and_link")
    if address is not None:
        scenario = scenario_of_url(address)
    else:
        scenario = Scenario.read({} if file is None else read_document(file) or {})
    changes = {path: given[name] for name, path in INPUTS.items() if given.get(name) is not None}
    for setting in given.get("set") or ():
        path, equals, value = setting.partition("=")
        if not equals:
            raise GpudashError("cli.set_without_value", found=setting)
        changes[path.strip()] = from_text(path.strip(), value)
    return scenario.with_values(changes)


def _predict(options: Namespace, text: Text, predictor) -> dict:
    """The table of a CSV file with a prediction, or the reason for none, beside each row."""
    from gpudash.catalogue import load_catalogue

    columns = read_table(options.file)
    found = predictor(columns, load_catalogue().hardware)
    added = {field.name: _cells(getattr(found, field.name), text) for field in fields(found)}
    write_table(options.o, columns | added)
    first = next(iter(added.values()))
    return {"file": options.o, "rows": len(first), "predicted": sum(cell != "" for cell in first)}


def _cells(values, text: Text) -> list[str]:
    """Predictions and reasons as text: numbers with every digit, sentences, blank where there is none."""
    from gpudash.result_json import plain

    return ["" if value is None else str(value) for value in plain(values, text)]


def _number(option: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise GpudashError("cli.not_a_number", option=option, value=value)
    return number


def _count(options: Namespace, name: str) -> int:
    """A number of GPUs or of requests; 1 where it was not given."""
    value = getattr(options, name) or "1"
    if not value.isdecimal() or not 1 <= int(value) <= MOST_GPUS_OR_REQUESTS:
        raise GpudashError("cli.not_a_count", option=f"--{name}", value=value, limit=MOST_GPUS_OR_REQUESTS)
    return int(value)
