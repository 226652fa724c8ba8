"""Options arrive: iterations are those of the table of expectations, and those of karst-solve."""

import os
import re
import subprocess

from tap import done_testing, group, np, ok, same, skip
import pykarst

COMMAND = os.path.join(os.environ["builddir"], "tools", "solve")
TABLE = os.environ.get("KARST_EXPECTED") or os.path.join(
    os.environ["srcdir"], "..", "shared", "expected_iterations.tsv"
)


def expected():
    if not os.path.exists(TABLE):
        skip("iterations are those of the table", f"no {TABLE}")
        return
    with open(TABLE, encoding="utf-8") as file:
        lines = [line.split() for line in file if line[0] != "#"]
    made = {}
    for row in (dict(zip(lines[0], line)) for line in lines[1:]):
        # Level 1 and two sizes of blocks are enough to see that options arrive.
        if row["matrix"] != "poisson3d:40x40x40" or row["level"] != "1" or row["block"] not in "12":
            continue
        A, _ = made.setdefault(row["matrix"], pykarst.gallery(row["matrix"]))
        # The table's gmres orthogonalises once.
        options = (
            {"restart": int(row["restart"]), "orthogonalise": "once"}
            if row["solver"] == "gmres"
            else {}
        )
        b = A @ np.ones(A.shape[0])
        precond = "paric" if row["solver"] == "cg" else "iluk"
        with pykarst.Solver(
            A,
            precond,
            int(row["block"]),
            solver=row["solver"],
            level=1,
            rtol=float(row["rtol"]),
            **options,
        ) as solver:
            solver.solve(b)
            near = {"gmres": 1, "cg": 2}.get(
                row["solver"], 2
            )  # the tolerances of test_iterations.c
            found = solver.result.iterations, int(row["iterations"])
            ok(
                abs(found[0] - found[1]) <= near,
                f"{row['solver']}, blocks of {row['block']}: {found} iterations",
            )


def as_the_command():
    for problem, options in (
        ("blackoil:8x8x6", {}),
        ("blackoil:8x8x6", {"precond": "cpr", "first__amg_cycle": "w", "second__level": 1}),
        (
            "blackoil:8x8x6",
            {"solver": "fgmres", "restart": 5, "precond": "two-stage", "first": "jacobi"},
        ),
        (
            "blackoil:8x8x6",
            {"solver": "gmres", "level": 2, "shift": 0.1, "modified": 0.5, "ordering": "rcm"},
        ),
        ("blackoil:8x8x6", {"precond": "jacobi", "scale": "block", "max_iterations": 20}),
        (
            "poisson3d:12x12x12",
            {"solver": "cg", "precond": "amg", "amg_smoother": "jacobi", "amg_sweeps": 2},
        ),
        ("poisson3d:12x12x12", {"precond": "lines", "line_direction": "z", "grid": "find"}),
        (
            "poisson3d:12x12x12",
            {"solver": "orthomin", "factor_precision": "float", "threads": 2, "block": 2},
        ),
    ):
        flags = [
            word
            for name, value in options.items()
            for word in ("--" + name.replace("__", ".").replace("_", "-"), str(value))
        ]
        run = subprocess.run([COMMAND, problem, "--json", *flags], stdout=subprocess.PIPE)
        theirs = re.search(r'"iterations": (\d+)', run.stdout.decode())
        A, b = pykarst.gallery(problem)
        with pykarst.Solver(A, **options) as solver:
            solver.solve(b, check=False)
            count = int(theirs.group(1)) if theirs else run.stdout
            same(
                solver.result.iterations, count, f"{problem} {' '.join(flags)}: {count} iterations"
            )


for checks in (expected, as_the_command):
    group(checks)
done_testing()
