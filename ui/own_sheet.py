"""The prices of an imported sheet, in the session of whoever imported them."""

from dataclasses import dataclass, field

from gpudash.catalogue import Catalogue, load_catalogue
from gpudash.catalogue_import import ImportReport
from ui.memo import Memo


@dataclass
class OwnSheet:
    """An imported sheet and what was worked out with its prices; both end with the session."""

    report: ImportReport
    memo: Memo = field(default_factory=lambda: Memo(answers=16, views=128, searches=8))
    _catalogues: dict[str | None, Catalogue] = field(default_factory=dict)

    def catalogue(self, snapshot: str | None) -> Catalogue:
        """A snapshot with the sheet's offers. Raises GpudashError."""
        if snapshot not in self._catalogues:
            self._catalogues[snapshot] = self.report.applied(load_catalogue(snapshot))
        return self._catalogues[snapshot]
