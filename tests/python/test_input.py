"""Input of any kind is solved rightly or refused by an exception: nothing crashes."""

import warnings
from decimal import Decimal
from types import SimpleNamespace

from tap import (
    distance,
    done_testing,
    group,
    np,
    ok,
    raises,
    random_numbers,
    random_system,
    same,
    sp,
)
import pykarst

random = random_numbers()
N = 60
A, b = random_system(random, N)
exact = np.linalg.solve(A.toarray(), b)
NEAR = 1e-8  # rtol is 1e-10, and the condition number below 10
warnings.simplefilter("ignore", sp.SparseEfficiencyWarning)


def solves(M, rhs, name, **options):
    x, _ = pykarst.solve(M, rhs, rtol=1e-10, **options)
    ok(distance(x.reshape(-1), exact) < NEAR, f"{name} is solved")


def changed(form, change):
    """The arrays of A in a form, changed: SciPy itself would crash on some of them."""
    M = A.tobsr((2, 2)) if form == "bsr" else A.asformat(form)
    arrays = {name: getattr(M, name).copy() for name in ("indptr", "indices", "data")}
    M = SimpleNamespace(**arrays, shape=M.shape, format=form)
    change(M)
    return M


def patterns():
    def put(name, i, value):
        return lambda M: getattr(M, name).__setitem__(i, value)

    def cut(name):
        return lambda M: setattr(M, name, getattr(M, name)[:-1])

    cases = {
        "a negative index": (put("indices", 3, -1), pykarst.MatrixError, "has the index -1"),
        "a large index": (
            put("indices", 3, 2**31 - 1),
            pykarst.MatrixError,
            "has the index 2147483647",
        ),
        "a first row that starts late": (
            put("indptr", 0, 1),
            pykarst.MatrixError,
            "A.indptr has to ascend",
        ),
        "a row of negative length": (
            put("indptr", 5, 0),
            pykarst.MatrixError,
            "A.indptr has to ascend",
        ),
        "a row behind the entries": (
            put("indptr", 5, 2**31 - 1),
            pykarst.MatrixError,
            "A.indptr has to ascend",
        ),
        "too few indices": (cut("indices"), ValueError, "A.data has the shape"),
        "too few values": (cut("data"), ValueError, "A.data has the shape"),
        "too few rows": (cut("indptr"), ValueError, "A.indptr has"),
        "fractions as indices": (
            lambda M: setattr(M, "indices", M.indices * 1.0),
            TypeError,
            "A.indices has the type",
        ),
        "another format": (
            lambda M: setattr(M, "format", "gcxs"),
            TypeError,
            "A has the format gcxs",
        ),
        "another shape": (lambda M: setattr(M, "shape", (30, 30)), ValueError, "A.indptr has"),
        "a shape of three": (
            lambda M: setattr(M, "shape", (60, 60, 1)),
            ValueError,
            "has to be square",
        ),
    }
    for form in ("csr", "csc", "bsr"):
        for block in (None, 2):
            for name, (change, kind, sentence) in cases.items():
                call = lambda: pykarst.solve(changed(form, change), b, block=block)
                raises(kind, sentence, call, f"{form} in blocks of {block}: {name}")
    wide = lambda M: setattr(M, "indices", M.indices.astype(np.int64) + 2**32)
    raises(
        pykarst.MatrixError,
        "4294967",
        lambda: pykarst.solve(changed("csr", wide), b),
        "indices beyond 32 bits",
    )
    narrow, unsigned = (lambda index, to=to: index.astype(to) for to in (np.int8, np.uint32))
    for convert, name in ((narrow, "bytes"), (unsigned, "numbers without sign"), (list, "a list")):
        other = lambda M: setattr(M, "indices", convert(M.indices))
        solves(changed("csr", other), b, f"CSR with {name} as indices")


def memory_of_values():
    for M in (A.copy(), A.tocsc(), A.tobsr((2, 2))):
        M.data.flags.writeable = M.indices.flags.writeable = M.indptr.flags.writeable = False
        solves(M, b, f"read-only {M.format}")
    M = A.copy()
    M.data = np.repeat(A.data, 2)[::2]
    solves(M, b, "CSR of every second element")
    B = A.tobsr((2, 2))
    B.data = np.asfortranarray(B.data)
    solves(B, b, "BSR in Fortran's order")
    M = A.copy()
    with pykarst.Solver(M, rtol=1e-10) as solver:
        M.data = 2 * M.data
        solver.update()
        ok(
            distance(2 * solver.solve(b), exact) < NEAR,
            "update() sees an array that has replaced A.data",
        )
        M.data = 2 * M.data
        solver.update()
        ok(distance(4 * solver.solve(b), exact) < NEAR, "and the next one")
        M.indices = M.indices[::-1].copy()
        raises(ValueError, "another pattern", solver.update, "and a pattern that has changed")
    buffer = np.concatenate([A.data, [0.0]])
    M = A.copy()
    M.data = buffer[:-1]
    with pykarst.Solver(M, rtol=1e-10) as solver:
        buffer[1:] = 2 * A.data
        solver.update(buffer[1:])
        ok(distance(2 * solver.solve(b), exact) < NEAR, "new values may overlap those in use")


def sizes():
    for M in (sp.csr_matrix((0, 0)), np.zeros((0, 0))):
        x, info = pykarst.solve(M, np.zeros(0))
        same((x.shape, info), ((0,), 0), "a system without unknowns")
    x, _ = pykarst.solve(sp.csr_matrix([[2.0]]), [3.0])
    same(list(x), [1.5], "a system of one unknown")
    raises(
        pykarst.MatrixError,
        "no diagonal",
        lambda: pykarst.solve(sp.csr_matrix((N, N)), b),
        "a zero matrix",
    )
    dense = A.toarray()
    dense[3] += 0.01
    x, _ = pykarst.solve(sp.csr_matrix(dense), b, rtol=1e-10)
    ok(distance(x, np.linalg.solve(dense, b)) < NEAR, "a dense row")


def kinds():
    for M, name in (
        (np.matrix(A.toarray()), "np.matrix"),
        (A.toarray().tolist(), "a list of lists"),
    ):
        solves(M, b, f"A, {name},")
    for rhs, name in (
        (np.matrix(b).T, "np.matrix"),
        (memoryview(b), "a memoryview"),
        (np.ma.masked_less(b, -9), "a masked array without masked elements"),
    ):
        solves(A, rhs, f"b, {name},")
    for M, sentence in (
        ("poisson", "has to be a sparse matrix"),
        (None, "has to be a sparse matrix"),
        ({}, "not one of real numbers"),
        (A.toarray().astype(object), "not one of real numbers"),
        ([["a"]], "not one of real numbers"),
    ):
        raises(TypeError, sentence, lambda: pykarst.solve(M, b), f"A of {type(M).__name__}")
    raises(TypeError, "pass x0", lambda: pykarst.solve(A, b, b), "x0 in the place of precond")
    raises(
        TypeError, "A is a function", lambda: pykarst.Solver(lambda x: x), "a function has no shape"
    )
    raises(TypeError, "b is of the type", lambda: pykarst.solve(lambda x: x, 3), "nor has a number")
    for rhs in (b.astype("M8[s]"), np.zeros(N, "V8"), b.astype(object)):
        raises(TypeError, "b has the type", lambda: pykarst.solve(A, rhs), f"b of {rhs.dtype}")
    for given in (
        {"b": np.ma.masked_less(b, 0)},
        {"x0": np.ma.masked_less(b, 0)},
        {"A": np.ma.masked_less(A.toarray(), 1)},
    ):
        call = lambda: pykarst.solve(**{"A": A, "b": b, **given})
        raises(TypeError, "masked", call, f"masked elements of {list(given)[0]}")
    raises(
        pykarst.NotConverged, "start", lambda: pykarst.solve(A, b, x0=b * np.nan), "a start of NaN"
    )


def arguments():
    for name, values in (
        ("threads", ("2", 2.5, True, [2])),
        ("device", (3, b"cpu")),
        ("grid", ("x", 60, (1, 2, 3, 4), (60.5, 1))),
        ("M", (3, "x", [1])),
        ("operator", (3,)),
        ("callback", (3, "x")),
    ):
        for value in values:
            raises(TypeError, "", lambda: pykarst.solve(A, b, **{name: value}), f"{name}={value!r}")
    for value in (2**40, -(2**40)):
        raises(
            OverflowError, "threads", lambda: pykarst.Solver(A, threads=value), f"threads={value}"
        )
    for M in (np.eye(10), b, sp.identity(10)):
        raises(
            ValueError,
            "M has the shape",
            lambda: pykarst.solve(A, b, M=M),
            f"M of the shape {M.shape}",
        )
    for grid in ((2, 3), (-6, -10)):
        raises(pykarst.OptionError, "grid", lambda: pykarst.solve(A, b, grid=grid), f"grid={grid}")
    for value in ("gmres\0", "cg\0x"):
        raises(ValueError, "byte 0", lambda: pykarst.solve(A, b, solver=value), f"{value!r}")
    with pykarst.Solver(A) as solver:
        for name in ("rtol", "atol", "max_iterations"):
            for value in ("1", True, 1j):
                raises(
                    TypeError,
                    name,
                    lambda: solver.solve(b, **{name: value}),
                    f"{name}={value!r} in a solve",
                )
        raises(
            OverflowError,
            "max_iterations",
            lambda: solver.solve(b, max_iterations=2**40),
            "many iterations",
        )
        for value in (-1.0, np.nan, np.inf):
            raises(
                pykarst.OptionError,
                "rtol",
                lambda: solver.solve(b, rtol=value),
                f"rtol={value} in a solve",
            )
        solver.solve(b, rtol=np.array(1e-3), atol=Decimal("1e-9"))
        ok(
            1e-9 < solver.result.relative_residual <= 1e-3,
            "tolerances may be of any type of numbers",
        )
        found = raises(
            pykarst.NotConverged,
            "0 iterations",
            lambda: solver.solve(b, max_iterations=0),
            "no iteration",
        )
        same(found and found.result, 1, "is no success")
    for value in (True, 1, "stop", np.ones(2)):
        call = lambda: pykarst.solve(A, b, callback=lambda *_: value)
        raises(TypeError, "a callback has to return", call, f"a callback that returns {value!r}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        options = {
            "level": np.int64(1),
            "rtol": np.float32(1e-6),
            "max_iterations": np.int32(50),
            "modified": np.float64(0),
        }
        with pykarst.Solver(
            A, block=np.int64(2), threads=np.int8(2), solver=None, **options
        ) as solver:
            ok(distance(solver.solve(b), exact) < 1e-4, "options may be numbers of NumPy, and None")


for checks in (patterns, memory_of_values, sizes, kinds, arguments):
    group(checks)
done_testing()
