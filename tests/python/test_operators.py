"""Functions and LinearOperators serve as operator and preconditioner, and ours serves SciPy."""

from tap import distance, done_testing, group, np, ok, raises, random_numbers, random_system, same
from scipy.sparse.linalg import LinearOperator, aslinearoperator, bicgstab, gmres, spilu
import pykarst

random = random_numbers()
N = 60
A, b = random_system(random, N)
exact = np.linalg.solve(A.toarray(), b)
diagonal = A.diagonal()
NEAR = 1e-8  # rtol is 1e-10, and the condition number below 10


class Product:
    """The least that can be an operator."""

    def __matmul__(self, x):
        return A @ x


def operators():
    for operator, name in (
        (aslinearoperator(A), "a LinearOperator"),
        (lambda x: A @ x, "a function"),
        (lambda x: list(A @ x), "a function that returns a list"),
        (lambda x: (A @ x)[:, None], "one that returns a column"),
        (lambda x: (A @ x).astype(np.float32), "one of single precision"),
    ):
        x, info = pykarst.solve(operator, b, rtol=1e-5)
        ok(distance(x, exact) < 1e-3, f"{name} as A")
    for operator, name in (
        (lambda x: 2 * (A @ x), "a function"),
        (aslinearoperator(2 * A), "a LinearOperator"),
        (2 * A, "a matrix"),
    ):
        x, info = pykarst.solve(A, b, rtol=1e-10, operator=operator)
        ok(distance(2 * x, exact) < NEAR, f"{name} beside A, for the preconditioner")
    x, info = pykarst.solve(A, b, rtol=1e-10, operator=Product(), precond="jacobi")
    ok(distance(x, exact) < NEAR, "an object with @")


def preconditioners():
    with pykarst.Preconditioner(A) as ours:
        for M, name in (
            (lambda r: r / diagonal, "a function"),
            (LinearOperator(A.shape, lambda r: r / diagonal), "a LinearOperator"),
            (spilu(A.tocsc()).solve, "SciPy's incomplete factors"),
            (ours, "a Preconditioner"),
        ):
            x, info = pykarst.solve(A, b, rtol=1e-10, M=M)
            ok(distance(x, exact) < NEAR, f"M: {name}")
        library = pykarst.solve(A, b, rtol=1e-10)[1]
        same(
            info.iterations,
            library.iterations,
            "M of the default method takes the iterations of that",
        )
        x, info = pykarst.solve(aslinearoperator(A), b, rtol=1e-10, M=ours)
        ok(distance(x, exact) < NEAR, "A and M are operators")
        seen = []
        with pykarst.Solver(A, M=lambda r: seen.append(r.shape) or r / diagonal) as solver:
            solver.update(2 * A)
            ok(distance(2 * solver.solve(b), exact) < 1e-6, "a solver with M takes new values")
        same(set(seen), {(N,)}, "M gets vectors")


def in_scipy():
    with pykarst.Preconditioner(A, level=1) as M:
        for method in (gmres, bicgstab):
            count = []
            x, info = method(
                A,
                b,
                M=M,
                atol=0,
                callback=count.append,
                **({"callback_type": "pr_norm"} if method is gmres else {}),
            )
            ok(
                info == 0 and distance(x, exact) < 1e-3,
                f"scipy's {method.__name__} with a Preconditioner",
            )
            plain = []
            method(
                A,
                b,
                atol=0,
                callback=plain.append,
                **({"callback_type": "pr_norm"} if method is gmres else {}),
            )
            ok(len(count) < len(plain), f"takes fewer iterations of {method.__name__}")
        ok(
            np.array_equal(M @ b, M.apply(b)) and np.array_equal(M(b), M.matvec(b)),
            "@, apply, () and matvec are one",
        )
        ok(np.array_equal((M @ np.stack([b, b], axis=1))[:, 1], M @ b), "@ of columns")
        same((M.shape, M.dtype), ((N, N), np.float64), "it has a shape and a type")


def exceptions():
    class Own(Exception):
        pass

    own = Own("from below")

    def fails(*_):
        raise own

    calls = {
        "A": lambda: pykarst.solve(fails, b),
        "operator": lambda: pykarst.solve(A, b, operator=fails),
        "M": lambda: pykarst.solve(A, b, M=fails),
        "callback": lambda: pykarst.solve(A, b, callback=fails),
    }
    for name, call in calls.items():
        same(
            raises(Own, "from below", call, f"an exception of {name} comes back"),
            own,
            "it is the same",
        )
    raises(
        KeyboardInterrupt, "", lambda: pykarst.solve(A, b, M=interrupt), "so does KeyboardInterrupt"
    )
    with pykarst.Solver(A, rtol=1e-10, operator=lambda x: A @ x if good else fails()) as solver:
        good = False
        raises(Own, "from below", lambda: solver.solve(b), "an operator that fails once")
        good = True
        ok(distance(solver.solve(b), exact) < NEAR, "serves again afterwards")
    for made, kind, sentence in (
        (lambda x: x[:3], ValueError, "(3,)"),
        (lambda x: None, ValueError, "()"),
        (lambda x: x * 1j, TypeError, "complex"),
        (lambda x: list("text" * 15), TypeError, "<U1"),
        (lambda x: [None] * N, TypeError, "object"),
        (lambda x: x[:, None] * x, ValueError, "(60, 60)"),
    ):
        for name in ("operator", "M"):
            call = lambda: pykarst.solve(A, b, **{name: made})
            raises(kind, sentence, call, f"{name} may not return {sentence}")

    def in_place(r):
        kept.append(r)
        r /= diagonal
        return r

    kept = []
    x, info = pykarst.solve(A, b, rtol=1e-10, M=in_place)
    ok(distance(x, exact) < NEAR, "M may work in place")
    expected = [M.copy() for M in kept]
    pykarst.solve(A, 3 * b, M=lambda r: r / diagonal)
    ok(all(map(np.array_equal, kept, expected)), "and keep what it got")


def interrupt(_):
    raise KeyboardInterrupt


for checks in (operators, preconditioners, in_scipy, exceptions):
    group(checks)
done_testing()
