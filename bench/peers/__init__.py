"""Other packages beside this one, asked the same questions: `make bench-peers`.

Every process computes on one thread: more of them would wait for each other on the processor time that is measured.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy is imported
