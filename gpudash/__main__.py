"""`python -m gpudash COMMAND`: the same answers as the pages, as JSON. What each command does is in commands.py."""

import json
import os
import sys
from argparse import ArgumentParser
from difflib import get_close_matches
from typing import Any

from gpudash import catalogue_commands, commands
from gpudash.errors import GpudashError
from gpudash.result import Message
from gpudash.text import LANGUAGES, Text

SCENARIO = "[file] --set --link"
OWN_PRICES = "--prices --answer --map"
# Command -> what it does and its arguments: [optional], --option, --required!, --switch?
COMMANDS = {
    "evaluate": (commands.evaluate, f"{SCENARIO} {OWN_PRICES} --full?"),
    "memory": (
        commands.memory,
        "--model --weights --kv --kv-layout --context-tokens --batch --gpu --gpus "
        "--method --optimizer --zero-stage --set",
    ),
    "speed": (
        commands.speed,
        "--model --gpu! --gpus --weights --kv --engine --batch --context-tokens --output-tokens --set",
    ),
    "mix": (commands.mix, "file"),
    "tiers": (commands.tiers, "file"),
    "score": (commands.score, "file"),
    "formula": (commands.formula, "--base! --reserved-discount! --burst! --region-premium! --utilisation! --stepped?"),
    "tree": (commands.tree, f"name {SCENARIO}"),
    "claims": (commands.claims, ""),
    "brief": (commands.brief, f"{SCENARIO} {OWN_PRICES} -o! --address --full?"),
    "link": (commands.link, SCENARIO),
    "open": (commands.open_link, "url"),
    "speed-batch": (commands.speed_batch, "file -o!"),
    "training-batch": (commands.training_batch, "file -o!"),
    "fit-batch": (commands.fit_batch, "file -o!"),
    "memory-batch": (commands.memory_batch, "file -o!"),
    "catalogue list": (catalogue_commands.list_snapshots, ""),
    "catalogue show": (catalogue_commands.show, "[snapshot]"),
    "catalogue check": (catalogue_commands.check, ""),
    "catalogue diff": (catalogue_commands.compare, "snapshot later"),
    "catalogue import": (catalogue_commands.import_sheet, "file --answer --map --add?"),
    "catalogue refresh": (catalogue_commands.refresh, "--summary"),
}
REPEATED = ("--set", "--answer", "--map")


class _Parser(ArgumentParser):
    """Complaints become our own errors: one sentence, exit code 2."""

    def error(self, message: str):
        raise GpudashError("cli.arguments", problem=message, command=self.prog)


def main(arguments: list[str] | None = None) -> int:
    """Answer one command; 0 answered, 1 faults found, 2 the user's mistake (one sentence on stderr)."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    text = Text("en")
    try:
        language, arguments = _language(arguments)
        text = Text(language)
        answer = _answer(arguments, text)
        _write(json_lines(answer) + "\n" if not isinstance(answer, str) else answer)
    except GpudashError as error:
        commands.say_aside(text.say(Message(error.code, tuple(error.values.items()))))
        return 2
    except KeyboardInterrupt:
        return 130
    return 1 if isinstance(answer, dict) and answer.get("faults") else 0


def json_lines(value: Any, indent: str = "") -> str:
    """JSON with one line per entry, and lists of plain values on one line; nothing rounded, NaN refused."""
    deeper = indent + "  "
    if isinstance(value, dict) and value:
        rows = [f"{deeper}{_json(name)}: {json_lines(item, deeper)}" for name, item in value.items()]
        return "{\n" + ",\n".join(rows) + f"\n{indent}}}"
    if isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
        return "[\n" + ",\n".join(deeper + json_lines(item, deeper) for item in value) + f"\n{indent}]"
    return _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _language(arguments: list[str]) -> tuple[str, list[str]]:
    """The language asked for, and the arguments without it: it may stand before or after the command."""
    parser = _Parser(prog="gpudash", add_help=False, allow_abbrev=False)
    parser.add_argument("--language", default="en")
    known, rest = parser.parse_known_args(arguments)
    if known.language not in LANGUAGES:
        raise GpudashError("cli.language", found=known.language, allowed=LANGUAGES)
    return known.language, rest


def _answer(arguments: list[str], text: Text) -> Any:
    if not arguments:
        raise GpudashError("cli.no_command", known=tuple(COMMANDS))
    words = 2 if arguments[0] == "catalogue" else 1
    name, rest = " ".join(arguments[:words]), arguments[words:]
    if arguments[:words][-1] in ("-h", "--help"):
        return _overview(text)
    if name not in COMMANDS:
        known = [command for command in COMMANDS if command.startswith("catalogue ") == (words == 2)]
        nearest = get_close_matches(name, known, n=1, cutoff=0.85) or known
        raise GpudashError("cli.unknown_command", found=name, nearest=tuple(nearest))
    run, declared = COMMANDS[name]
    parser = _parser(name, declared, text)
    if {"-h", "--help"} & set(rest):
        return parser.format_help()
    options, unknown = parser.parse_known_args(rest)
    if unknown:
        raise GpudashError("cli.unknown_arguments", found=unknown[0], command=parser.prog)
    return run(options, text)


def _parser(command: str, declared: str, text: Text) -> ArgumentParser:
    parser = _Parser(
        prog=f"python -m gpudash {command}", description=text(f"cli.{command}"), add_help=False, allow_abbrev=False
    )
    for argument in declared.split():
        name = argument.strip("[]!?")
        settings: dict[str, Any] = {"help": text(f"cli.{name}")}
        if name in REPEATED:
            settings |= {"action": "append", "metavar": "NAME=VALUE"}
        elif argument.endswith("?"):
            settings["action"] = "store_true"
        elif argument.endswith("!"):
            settings["required"] = True
        elif argument.startswith("["):
            settings["nargs"] = "?"
        parser.add_argument(name, **settings)
    return parser


def _overview(text: Text) -> str:
    rows = "".join(f"  {name:<17} {text(f'cli.{name}')}\n" for name in COMMANDS)
    return text("cli.overview") + "\n\n" + rows


def _write(content: str) -> None:
    """To stdout as UTF-8; a reader who stops early (`| head`) is no error."""
    if sys.stdout is None:
        raise GpudashError("cli.no_output")
    try:
        sys.stdout.reconfigure(encoding="utf-8")
        sys.stdout.write(content)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing left to flush at exit
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise GpudashError("cli.cannot_write", problem=error.strerror) from None


if __name__ == "__main__":
    sys.exit(main())
