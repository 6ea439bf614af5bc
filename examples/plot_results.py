"""Draws the charts that results ask for, with pandas and matplotlib.

usage: plot_results.py RESULT.json PICTURE.png

A chart names columns of its result: bars and lines have their heights in `y`, over `x`, apart for each value of the
first column of `series`.
"""
import json
import sys

import matplotlib

matplotlib.use("Agg")  # needs no screen
import matplotlib.pyplot as plot  # noqa: E402
import pandas  # noqa: E402

DRAWN = {"bar": "bar", "line": "line"}


def results_in(file):
    with open(file) as opened:
        content = json.load(opened)
    return content.get("results", [content])


def drawable(results):
    """Pairs of a result and a chart of it that is drawn here."""
    return [(result, chart) for result in results for chart in result.get("charts", [])
            if chart["kind"] in DRAWN and chart.get("x") and result["rows"]]


def draw(result, chart, axes):
    table = pandas.json_normalize(result, "rows")
    series = chart.get("series") or []
    if series:
        table = table.pivot_table(index=chart["x"], columns=series[0], values=chart["y"][0], sort=False)
    else:
        table = table.set_index(chart["x"])[chart["y"]]
    table.plot(ax=axes, kind=DRAWN[chart["kind"]], logy=chart.get("log_y", False), title=chart["title"])
    axes.set_ylabel(chart.get("y_title") or chart["y"][0])


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: plot_results.py RESULT.json PICTURE.png")
    charts = drawable(results_in(sys.argv[1]))
    if not charts:
        sys.exit(f"{sys.argv[1]}: has no bars and no lines")
    figure, all_axes = plot.subplots(len(charts), squeeze=False, figsize=(8, 4 * len(charts)))
    for (result, chart), axes in zip(charts, all_axes[:, 0]):
        draw(result, chart, axes)
    figure.tight_layout()
    figure.savefig(sys.argv[2])
    print(f"{len(charts)} charts in {sys.argv[2]}")


main()
