"""The pictures of a report: the convergence of the last solve, and the pattern of the matrix.

A large pattern is rasterised here, so that a picture has at most CELLS by CELLS pixels however
large the matrix is: each is the share of its possible blocks that are stored.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Sequence

import numpy as np

CELLS = 400  # along each side of a raster
BORDERS = 60  # most block rows whose blocks have borders
LEGEND = 10  # most right-hand sides with a name each

Ints = Any  # an ndarray of integers


class Pattern(NamedTuple):
    """The block rows of a matrix."""

    start: Ints  # [block rows + 1]
    column: Ints  # [blocks]
    block: int


class Curve(NamedTuple):
    """The convergence for one right-hand side; norms have its unit."""

    history: Any  # [iterations + 1] as the method iterates with them
    target: float | None  # max(rtol |b|, atol); None: it has another norm, or is not known
    residual: float  # |b - A x| at the end
    iterations: int


def pyplot() -> Any:
    """matplotlib.pyplot, which only a picture needs."""
    try:
        import matplotlib.pyplot
    except ImportError as error:
        raise ImportError(
            f"Report.plot draws with matplotlib ({error}): pip install pykarst[plot]"
        ) from None
    return matplotlib.pyplot


def draw(
    curves: Sequence[Curve], pattern: Pattern | None, title: str, axes: Sequence[Any] | None
) -> Any:
    """Draws both pictures, and returns the figure."""
    plt = pyplot()
    if axes is None:
        axes = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")[1]
    if len(axes) != 2 or all(ax is None for ax in axes):
        raise ValueError("axes has to be a pair, for the convergence and the pattern, or None")
    if axes[0] is not None:
        convergence(axes[0], curves, title)
    if axes[1] is not None:
        spy(axes[1], pattern)
    return next(ax for ax in axes if ax is not None).figure


def convergence(ax: Any, curves: Sequence[Curve], title: str) -> None:
    """Draws residual norms by iteration."""
    ax.set_title(title)
    ax.set_xlabel("iteration")
    ax.set_ylabel("residual norm")
    if not any(len(curve.history) for curve in curves):
        _say(ax, "no solve has recorded its residual norms")
        return
    for number, curve in enumerate(curves):
        several = len(curves) > 1
        label = f"column {number}" if several else "of the iteration"
        (line,) = ax.semilogy(curve.history, ".-", label=label)
        ax.semilogy(
            curve.iterations,
            curve.residual,
            "o",
            color=line.get_color(),
            fillstyle="none",
            label=None if several else "computed from x",
        )
        if curve.target:
            ax.axhline(
                curve.target,
                color=line.get_color() if several else "black",
                linestyle="--",
                linewidth=1,
                label=None if several else "target",
            )
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.grid(alpha=0.3)
    if len(curves) <= LEGEND:
        ax.legend()


def spy(ax: Any, pattern: Pattern | None) -> None:
    """Draws the blocks of a matrix, the first row on top."""
    ax.set_xlabel("block column")
    ax.set_ylabel("block row")
    if pattern is None:
        _say(ax, "an operator has no pattern")
        return
    rows, blocks = len(pattern.start) - 1, len(pattern.column)
    size = "" if pattern.block == 1 else f" of {pattern.block} by {pattern.block}"
    ax.set_title(f"{rows} block rows, {blocks} blocks{size}")
    share, wide = raster(pattern, CELLS)
    cells = len(share)
    edges = np.minimum(np.arange(cells + 1) * wide, rows) - 0.5
    shown = np.ma.masked_equal(share, 0)
    borders = {"edgecolors": "white", "linewidth": 0.5} if rows <= BORDERS else {}
    colours: dict[str, Any] = {"cmap": "Blues", "vmin": -0.5, "vmax": 1}
    if wide > 1:
        from matplotlib.colors import LogNorm

        least, most = (shown.min(), shown.max()) if blocks else (0.1, 1)
        # Blue begins below the least share, so that a single block can be seen.
        colours = {"cmap": "Blues", "norm": LogNorm(least / 10, most)}
    image = ax.pcolormesh(edges, edges, shown, rasterized=True, **colours, **borders)
    if wide > 1:
        ax.figure.colorbar(
            image, ax=ax, label=f"share of blocks in {wide} by {wide} that are stored"
        )
    ax.set_aspect("equal")
    ax.invert_yaxis()
    for axis in (ax.xaxis, ax.yaxis):
        axis.get_major_locator().set_params(integer=True, nbins=6)


def raster(pattern: Pattern, most: int) -> tuple[Any, int]:
    """The share of stored blocks in cells of wide by wide, at most this many along each side."""
    rows = len(pattern.start) - 1
    wide = max(1, -(-rows // most))
    cells = max(1, -(-rows // wide))
    row = np.repeat(np.arange(rows) // wide, np.diff(pattern.start))
    count = np.bincount(row * cells + pattern.column // wide, minlength=cells * cells)
    side = np.diff(np.minimum(np.arange(cells + 1) * wide, max(rows, 1)))
    return count.reshape(cells, cells) / np.outer(side, side), wide


def _say(ax: Any, sentence: str) -> None:
    ax.text(0.5, 0.5, sentence, ha="center", va="center", transform=ax.transAxes)
