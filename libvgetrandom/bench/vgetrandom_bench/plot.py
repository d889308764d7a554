# SPDX-License-Identifier: MIT OR Apache-2.0
"""The plot: time per call and speed against the size of requests."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

from vgetrandom_bench import paths
from vgetrandom_bench.cells import SIZES, Cell, size_text
from vgetrandom_bench.paths import SIMD
from vgetrandom_bench.results import Results

_STYLE: dict[str, Any] = {
    "svg.hashsalt": "vgetrandom",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "lines.linewidth": 1.4,
    "lines.markersize": 3.5,
}
_LINES: dict[str, tuple[str, str]] = {
    paths.SYSTEM_CALL: ("#222222", "o-"),
    paths.VDSO: ("#8a8a8a", "s-"),
    paths.LIBRARY: ("#1f6fb5", "D-"),
    paths.BATCH: ("#2a9d6f", "^-"),
    paths.CEILING: ("#2a9d6f", ":"),
    "OpenSSL": ("#b05fb0", "--"),
    "libsodium": ("#a8841c", "--"),
    "AWS-LC": ("#c23b4b", "--"),
    paths.GO_CHACHA8: ("#3fb8c9", "--"),
    paths.THREAD_RNG: ("#d9701a", "--"),
}
"""Colour and line style of each path; kernel and library have solid lines."""
_SINGLE = 1


def write_plot(results: Results, machine: str, file: Path) -> None:
    """Write the plot for one thread as SVG, with the machine in its title."""
    with matplotlib.style.context(["default", _STYLE]):
        figure = Figure(figsize=(9.6, 5.0))
        figure.set_layout_engine("constrained")
        time, speed = figure.subplots(1, 2)
        for name, (colour, line) in _LINES.items():
            path = _widest(results, name)
            if path is None:
                continue
            ns = [results.ns(path, Cell(size, _SINGLE)).median for size in SIZES]
            time.plot(SIZES, ns, line, color=colour, label=path)
            speed.plot(SIZES, _megabytes(ns), line, color=colour)
        _label(time, "ns per call (log); lower is better")
        _label(speed, "MB/s (log); higher is better")
        figure.suptitle(f"Random bytes by one thread: {machine}", fontsize=10)
        figure.legend(loc="outside lower center", ncols=5, frameon=False)
        figure.savefig(file, format="svg", metadata={"Date": None})


def _widest(results: Results, name: str) -> str | None:
    """Return the path itself, or its variant with the widest instructions."""
    simd = [paths.with_simd(name, one) for each in SIMD.values() for one in each]
    return next((one for one in (name, *simd) if one in results.measured), None)


def _megabytes(ns: Sequence[float]) -> list[float]:
    return [1000 * size / each for size, each in zip(SIZES, ns, strict=True)]


def _label(axes: Axes, what: str) -> None:
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(FixedLocator(SIZES))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: size_text(round(x))))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:,.10g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="x", rotation=60)
    axes.set_xlabel("bytes per call (log)")
    axes.set_title(what, loc="left", fontsize=9)
