"""Main memory of a server: what it takes to load and run a model, beside the memory of the cards."""

import numpy as np

from gpudash.assumptions import Known
from gpudash.memory import weights_gb
from gpudash.sizing import Shapes
from gpudash.tables import sourced_values


def loaded_gb(known: Known) -> float:
    """The weights that pass through main memory when a copy of the model is loaded, in GB."""
    return float(weights_gb(known.model, known.weight_precision))


def least_host_gb(known: Known, shapes: Shapes) -> np.ndarray:
    """Main memory without which a server of each shape cannot run the model, in GB: [shapes].

    GPUs × memory of one worker + memory of the program + the part of the weights that is read at once, with the
    figures of data/sizing_parameters.yaml. 0 where samples are counted: images need little.
    """
    if known.counts_samples:
        return np.zeros(len(shapes))
    rules = sourced_values("sizing_parameters")
    part_gb = min(loaded_gb(known), rules["host_gb_of_file_part"])
    return shapes.gpus_per_server * rules["host_gb_per_gpu"] + rules["host_gb_of_program"] + part_gb
