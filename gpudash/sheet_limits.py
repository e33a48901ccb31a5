"""How large a price sheet from outside may be. Our choice: the largest list known to us has 60,000 rows and 25 MB."""

MEGABYTES = 60
UNPACKED_MEGABYTES = 250
ROWS = 250_000
COLUMNS = 100
CELLS = 8_000_000
CHARACTERS = 2_000
