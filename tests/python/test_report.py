"""A report is a mapping of what karst-solve reports, by the same names; so is the history."""

import collections.abc
import json
import os
import subprocess

from tap import done_testing, group, np, ok, raises, same, sp
import pykarst

COMMAND = os.path.join(os.environ["builddir"], "tools", "solve")
PROBLEM = "blackoil:6x6x4"


def command(*arguments):
    """The standard output of karst-solve."""
    run = subprocess.run(
        [COMMAND, PROBLEM, "--threads", "1", *arguments], stdout=subprocess.PIPE, check=True
    )
    return run.stdout.decode()


def mapping():
    A, b = pykarst.gallery(PROBLEM)
    ok(
        sp.issparse(A) and A.format == "bsr" and A.blocksize == (3, 3),
        "the gallery makes a BSR matrix",
    )
    with pykarst.Solver(A, "cpr") as solver:
        before = solver.report
        ok("iterations" not in before, "a report before a solve has no outcome")
        raises(
            ValueError,
            "nothing has been solved yet",
            lambda: solver.result,
            "nor is there a result",
        )
        ok("not solved yet" in repr(solver), "and the solver says so")
        solver.solve(b)
        report = solver.report
        ok(isinstance(report, collections.abc.Mapping), "a report is a mapping")
        same(len(report), len(dict(report)), "names are unique")
        same(
            (report["rows"], report["block_size"], report["precond"]),
            (432, 3, "cpr"),
            "it has what was chosen",
        )
        same(report["iterations"], solver.result.iterations, "and the outcome")
        same((report.units["time_solve"], report.units["memory"]), ("s", "bytes"), "and units")
        ok(set(report.units) <= set(report), "units have names of the report")
        ok(
            all(line.split()[0] in report for line in repr(report).splitlines()),
            "it prints a line for each name",
        )
        raises(KeyError, "nonsense", lambda: report["nonsense"], "other names are not there")
        ok("cpr" in repr(solver) and "432 rows" in repr(solver), "the solver says what was chosen")
        ok(solver.result.explanation in repr(solver), "and how the last solve ended")


def as_the_command():
    A, b = pykarst.gallery(PROBLEM)
    for options in ({}, {"precond": "cpr"}, {"solver": "gmres", "level": 1, "ordering": "rcm"}):
        flags = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        theirs = json.loads(command("--json", *flags))
        with pykarst.Solver(A, **options) as solver:
            solver.solve(b)
            ours = solver.report
            counts = {name for name in ours if name in theirs and not name.startswith("time")}
            # The command's say more, are texts, or are an option of the name.
            counts -= {"device", "memory", "reason", "block_row", "cpr_pressure"}
            ok(len(counts) > 12, f"{options}: the names are those of karst-solve --json")
            differ = {
                name: (ours[name], theirs[name]) for name in counts if ours[name] != theirs[name]
            }
            same(differ, {}, f"{options}: and the values")
            rows = [
                line.split()
                for line in command("--quiet", "--history", "-", *flags).splitlines()[1:]
            ]
            same(
                [float(norm) for _, norm in rows],
                list(solver.history),
                f"{options}: the history is the command's",
            )


def several():
    A, b = pykarst.gallery(PROBLEM)
    with pykarst.Solver(A) as solver:
        solver.solve(b)
        one = solver.history
        solver.solve(np.stack([b, b], axis=1))
        same(list(solver.history), 2 * list(one), "histories of columns follow each other")
        same(len(solver.results), 2, "each column has a result")


def configuration():
    config = pykarst.show_config(mode="dicts")
    same(config["version"], pykarst.__version__, "show_config tells the version")
    for name in ("library", "features", "index bits", "processors", "GPUs", "numpy", "scipy"):
        ok(name in config, f"and {name}")


for checks in (mapping, as_the_command, several, configuration):
    group(checks)
done_testing()
