"""One target under atheris, the coverage-guided fuzzer: `python -m fuzz.one TARGET [libFuzzer options] [folders]`."""

import sys

import atheris

with atheris.instrument_imports(include=["gpudash"]):
    from fuzz.targets import check


def main() -> None:
    target, *options = sys.argv[1:]
    atheris.Setup([sys.argv[0], *options], lambda content: check(target, content), internal_libfuzzer=True)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
