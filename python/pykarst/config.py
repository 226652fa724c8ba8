"""What this installation is made of."""

from __future__ import annotations

import sys
from typing import Any

from .library import INDEX, karst, path, text

__version__: str = text(karst.version())


def processors() -> int:
    """The processors that this process may use: a good number of threads for large systems."""
    return int(karst.processors())


def show_config(mode: str = "stdout") -> dict[str, Any] | None:
    """Prints what was built and what is there; with mode "dicts", returns it instead."""
    config: dict[str, Any] = {
        "version": __version__,
        "library": path,
        "features": text(karst.build_features()),
        "index bits": 8 * INDEX.itemsize,
        "processors": processors(),
        "GPUs": int(karst.device_count(b"cuda")),
        "python": sys.version.split()[0],
    }
    for name in ("numpy", "scipy", "cupy", "torch", "matplotlib"):
        config[name] = getattr(sys.modules.get(name), "__version__", "not imported")
    if mode == "dicts":
        return config
    for name, value in config.items():
        print(f"{name:12}{value}")
    return None
