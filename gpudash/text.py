"""Text(language): key → sentence, and the formats for money, numbers and dates."""

from datetime import date
from functools import cache, cached_property

from gpudash.result import Country, Message, Share, Software, Usd
from gpudash.tables import DATA, read_yaml

LANGUAGES = ("en", "zh")
_UNREADABLE = 1e15  # nobody reads sixteen digits; from here on as a power of ten
_LOCALES = {"en": "en_US", "zh": "zh_Hans_CN"}


@cache
def _topic(language: str, topic: str) -> dict[str, str]:
    path = DATA / "text" / language / f"{topic}.yaml"
    return read_yaml(path) if path.exists() else {}


class Text:
    """All sentences of one language; `text("tco.title", months=36)`.

    A key is `<topic>.<name>`; the topic is the file data/text/<language>/<topic>.yaml, the name may hold dots.
    Messages hold money in US dollars; it is said in `currency`, at `units_per_usd`.
    """

    def __init__(self, language: str, currency: str = "USD", units_per_usd: float = 1.0):
        if language not in LANGUAGES:
            raise ValueError(f"language {language!r}")
        self.language, self.currency, self.units_per_usd = language, currency, units_per_usd

    def __call__(self, key: str, /, **values) -> str:
        topic, _, name = key.partition(".")
        return _topic(self.language, topic)[name].format_map(values)

    def has(self, key: str) -> bool:
        """Whether there is such a sentence."""
        topic, _, name = key.partition(".")
        return name in _topic(self.language, topic)

    def say(self, message) -> str:
        """The sentence of a `Message` (code and values)."""
        return self(message.code, **{name: self.value(value) for name, value in message.values})

    def value(self, value) -> str:
        """A value of a message as it reads inside a sentence; a message is a part of the sentence around it."""
        if isinstance(value, Message):
            return self.say(value)
        if isinstance(value, Usd):
            return self.money(value * self.units_per_usd, self.currency)
        if isinstance(value, Share):
            return self.percent(value)
        if isinstance(value, Country):
            key = f"common.in_sentence.{value}"
            return self(key) if self.has(key) else self.country(value)
        if isinstance(value, Software):
            return self.software(value)
        if isinstance(value, bool):
            return self("common.yes" if value else "common.no")
        if isinstance(value, (int, float)):
            return self.number(value)
        if isinstance(value, date):
            return self.date(value.isoformat())
        if isinstance(value, (tuple, list)):
            return self("common.list_separator").join(self.value(item) for item in value)
        return str(value)

    def country(self, code: str) -> str:
        """The name of a country or group of countries by its code; an unknown code stays as it is."""
        key = f"common.country_group.{code}"
        if self.has(key):
            return self(key)
        from babel import Locale

        return Locale.parse(self.locale).territories.get(code, code)

    def software(self, name: str) -> str:
        """The name of an engine or framework as its makers write it; an unknown one stays as it is."""
        key = f"common.software.{name}"
        return self(key) if self.has(key) else name

    def joined(self, *sentences: str) -> str:
        """Whole sentences as one text."""
        return self("common.sentence_separator").join(sentences)

    @cached_property
    def locale(self) -> str:
        """The name under which Babel knows the language."""
        return _LOCALES[self.language]

    def number(self, value: float, digits: int | None = None) -> str:
        """A number with separators; without `digits`, about three significant figures, and whole from 100 on."""
        from babel.numbers import format_decimal

        size = abs(value)
        if size >= _UNREADABLE:
            return f"{value:.3g}"
        if digits is None:
            digits = 0 if size >= 100 or value == int(value) else 1 if size >= 10 else 2 if size >= 0.1 else 4
        pattern = "#,##0" + ("." + "#" * digits if digits else "")
        return format_decimal(value, format=pattern, locale=self.locale)

    def money(self, value: float, currency: str = "USD") -> str:
        """Money with its currency; no cents from 100 on (the amount is already in `currency`)."""
        from babel.numbers import format_currency

        if abs(value) >= _UNREADABLE:
            return f"{currency} {value:.3g}"
        pattern = "¤#,##0" if abs(value) >= 100 else "¤#,##0.00" if abs(value) >= 0.1 or value == 0 else "¤#,##0.0000"
        return format_currency(value, currency, format=pattern, locale=self.locale, currency_digits=False)

    def percent(self, fraction: float) -> str:
        """A fraction (0 to 1) as percent; one decimal below 10 %, two from 99 % on, where 99.95 % is not 100 %."""
        from babel.numbers import format_percent

        size = abs(fraction)
        pattern = "#,##0.#%" if size < 0.1 else "#,##0.##%" if 0.99 <= size < 1 else "#,##0%"
        return format_percent(fraction, format=pattern, locale=self.locale)

    def date(self, iso: str) -> str:
        """An ISO date, month or year, written out."""
        from babel.dates import format_date

        parts = [int(part) for part in iso.split("-")]
        pattern = {1: "y", 2: "MMMM y", 3: "d MMMM y"}[len(parts)] if self.language == "en" else None
        pattern = pattern or {1: "y年", 2: "y年M月", 3: "y年M月d日"}[len(parts)]
        return format_date(date(*[*parts, 1, 1][:3]), format=pattern, locale=self.locale)
