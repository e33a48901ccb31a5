"""What pages need from the frame: `page = ui.begin("tco")`."""

from ui.blocks import begin

__all__ = ["begin"]
