"""What is wrong is refused with one sentence, by the exception that a Python user expects."""

import warnings

from tap import done_testing, group, np, ok, raises, random_numbers, random_system, same, sp
import pykarst

random = random_numbers()
N = 60
A, b = random_system(random, N)


def matrices():
    wrong = [
        (A[:10], ValueError, "A has the shape (10, 60), and has to be square"),
        (A * 1j, TypeError, "A is complex (complex128), and Karst solves real systems only"),
        (A.toarray() * 1j, TypeError, "A is complex"),
        (A.toarray()[:10], ValueError, "A has the shape (10, 60)"),
        (b, ValueError, "A has the shape (60,)"),
    ]
    for M, kind, sentence in wrong:
        raises(kind, sentence, lambda: pykarst.solve(M, b), sentence)
    for block in (7, 0, -1, 2.5, "2", True):
        kind = ValueError if type(block) is int else TypeError
        raises(
            kind, f"block={block!r}", lambda: pykarst.solve(A, b, block=block), f"block={block!r}"
        )


def vectors():
    for name, wrong, sentence in (
        ("b", b[:10], "b has the shape (10,), and A has (60, 60)"),
        ("b", b[None], "b has the shape (1, 60)"),
        ("b", np.ones((60, 0)), "b has the shape (60, 0)"),
        ("b", np.ones((60, 1, 1)), "b has the shape (60, 1, 1)"),
        ("b", 1.0, "b has the shape ()"),
        ("x0", b[:10], "x0 has the shape (10,), and b has (60,)"),
        ("x0", b[:, None], "x0 has the shape (60, 1), and b has (60,)"),
    ):
        given = {"b": b, name: wrong}
        raises(ValueError, sentence, lambda: pykarst.solve(A, **given), sentence)
    for name, wrong, sentence in (
        ("b", b * 1j, "b is complex"),
        ("x0", b * 1j, "x0 is complex"),
        ("b", list("text" * 15), "b has the type <U1"),
        ("x0", [None] * N, "x0 has the type object"),
        ("b", sp.csr_matrix(b[:, None]), "b is sparse"),
    ):
        given = {"b": b, name: wrong}
        raises(TypeError, sentence, lambda: pykarst.solve(A, **given), sentence)


def options():
    for given, sentence in (
        ({"levl": 1}, "option 'levl' is unknown: did you mean level?"),
        ({"maxiter": 1}, "did you mean max_iterations?"),
        ({"treads": 1}, "did you mean threads?"),
        ({"level": "x"}, 'level "x" is not a whole number'),
        ({"level": -1}, "-1"),
        ({"precond": "ilu"}, 'precond "ilu" is unknown'),
        ({"solver": "minres"}, 'solver "minres" is unknown'),
        ({"rtol": -1.0}, "-1"),
    ):
        found = raises(
            pykarst.OptionError, sentence, lambda: pykarst.Solver(A, **given), f"{given}"
        )
        ok(isinstance(found, (ValueError, RuntimeError)), "is a ValueError too")
    raises(pykarst.DeviceError, "", lambda: pykarst.Solver(A, device="cuda:99"), "no such GPU")
    raises(
        pykarst.OptionError,
        'device "gpu" is unknown',
        lambda: pykarst.Solver(A, device="gpu"),
        "no such device",
    )
    raises(ValueError, "M", lambda: pykarst.Solver(A, "iluk", M=lambda r: r), "two preconditioners")
    for threads in (0, -1):
        raises(
            pykarst.OptionError,
            f"{threads} threads",
            lambda: pykarst.Solver(A, threads=threads),
            f"{threads} threads",
        )
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        pykarst.solve(A, b, precond="jacobi", level=2, max_iterations=None)
        same(
            [w.category for w in warned],
            [pykarst.KarstWarning],
            "an option without effect is a warning",
        )
        ok("level=2 has no effect" in str(warned[0].message), "which names it")
        same(warned[0].filename, __file__, "and the line of the caller of solve")
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        pykarst.Preconditioner(A, rtol=0.1, level=1)
        ok(
            ["rtol=0.1" in str(one.message) for one in warned] == [True],
            "a preconditioner alone does not read rtol",
        )
        same(warned[0].filename, __file__, "and the line of the caller of Preconditioner")
    raises(
        pykarst.OptionError,
        '"poisson9d"',
        lambda: pykarst.gallery("poisson9d:3"),
        "an unknown problem",
    )
    raises(OSError, "none.mtx", lambda: pykarst.read("none.mtx"), "no such file")


def patterns():
    index = A.indices.copy()
    for change, sentence in ((lambda: N, "60"), (lambda: -1, "-1")):
        index[3] = change()
        M = A.copy()
        M.indices = index
        raises(pykarst.MatrixError, sentence, lambda: pykarst.solve(M, b), f"a column {change()}")
    hollow = A.copy()
    hollow.setdiag(0)
    hollow.eliminate_zeros()
    found = raises(pykarst.MatrixError, "diagonal", lambda: pykarst.solve(hollow, b), "no diagonal")
    ok("0" in str(found), "the sentence gives the row")


def outcomes():
    M = A.copy()
    M.data[M.indptr[7] : M.indptr[8]] = 0
    found = raises(
        pykarst.NotConverged, "block row 7 is singular", lambda: pykarst.solve(M, b), "a zero row"
    )
    same(found.result.reason.name, "SINGULAR_BLOCK", "its reason")
    same(found.x.shape, b.shape, "the exception has x")
    M = A.copy()
    M.data[M.indptr[11]] = np.nan
    for values, row in ((M, 11), (sp.bsr_matrix(M.toarray(), blocksize=(2, 2)), 5)):
        found = raises(
            pykarst.NotConverged, f"block row {row}", lambda: pykarst.solve(values, b), "a NaN in A"
        )
        same(
            (found.result.reason.name, found.result.block_row),
            ("NOT_FINITE", row),
            "its reason and row",
        )
    bad = b.copy()
    for value in (np.nan, np.inf):
        bad[13] = value
        found = raises(pykarst.NotConverged, "", lambda: pykarst.solve(A, bad), f"{value} in b")
        same(found.result.reason.name, "NOT_FINITE", "its reason")
    found = raises(
        pykarst.NotConverged,
        "after 1 iteration",
        lambda: pykarst.solve(A, b, rtol=1e-14, max_iterations=1),
        "an iteration",
    )
    ok(np.linalg.norm(b - A @ found.x) < np.linalg.norm(b), "its x is better than 0")
    x, info = pykarst.solve(A, b, rtol=1e-14, max_iterations=1, check=False)
    ok(
        np.array_equal(x, found.x) and info == 1 and not info.converged,
        "check=False returns the same",
    )
    found = raises(
        pykarst.NotConverged,
        "",
        lambda: pykarst.solve(A, np.stack([b, bad], axis=1)),
        "the second column",
    )
    ok(not np.isnan(found.x[:, 0]).any(), "the first column of its x is a solution")


for checks in (matrices, vectors, options, patterns, outcomes):
    group(checks)
done_testing()
