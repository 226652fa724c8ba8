"""pykarst.solve and Solver.solve take and return what SciPy's solvers do."""

from tap import distance, done_testing, group, np, ok, random_numbers, random_system, same
import pykarst

random = random_numbers()
A, b = random_system(random, 60)
exact = np.linalg.solve(A.toarray(), b)
NEAR = 1e-8  # rtol is 1e-10, and the condition number below 10


def pair():
    x, info = pykarst.solve(A, b)
    ok(distance(x, exact) < 1e-6, "solve returns x")
    ok(info == 0 and isinstance(info, int), "info is 0, as SciPy's")
    ok(info.converged and info.iterations > 0, "info has the iterations")
    relative = np.linalg.norm(b - A @ x) / np.linalg.norm(b)
    ok(abs(info.relative_residual - relative) < 1e-12, "its residual is that of x")
    ok(relative <= 1e-8, "rtol is 1e-8")
    same(info.reason, pykarst.Reason.CONVERGED_RTOL, "info has a reason")
    x, info = pykarst.solve(A, b, None, None, 1e-3)
    ok(1e-12 < np.linalg.norm(b - A @ x) / np.linalg.norm(b) <= 1e-3, "rtol is the fifth argument")


def shapes():
    columns = np.stack([b, 2 * b, 0 * b], axis=1)
    for name, given in (
        ("(n,)", b),
        ("(n, 1)", b[:, None]),
        ("(n, k)", columns),
        ("(n, k) by columns", np.asfortranarray(columns)),
        ("every second element", np.repeat(b, 2)[::2]),
        ("backwards", b[::-1]),
        ("float32", b.astype(np.float32)),
        ("integers", (100 * b).astype(np.int8)),
        ("big-endian", b.astype(">f8")),
        ("read-only", np.frombuffer(b.tobytes())),
    ):
        before = given.copy()
        with pykarst.Solver(A, rtol=1e-10) as solver:
            x = solver.solve(given)
        expected = np.linalg.solve(A.toarray(), given.astype(float))
        ok(x.shape == given.shape and x.dtype == np.float64, f"b, {name}: x has the shape of b")
        near = distance(x, expected) < NEAR
        ok(near and np.array_equal(before, given), f"b, {name}: x solves it, and b stays")
    x, _ = pykarst.solve(A, list(b), rtol=1e-10)
    ok(distance(x, exact) < NEAR, "b may be a list")


def columns():
    with pykarst.Solver(A, rtol=1e-10) as solver:
        both = solver.solve(np.stack([b, b], axis=1), np.stack([exact, 0 * b], axis=1))
        same([result.iterations == 0 for result in solver.results], [True, False], "x0 has columns")
        ok(
            distance(both[:, 0], exact) < NEAR and distance(both[:, 1], exact) < NEAR,
            "both are solved",
        )
        same(solver.result, solver.results[1], "the result is that of the slowest column")
        ok(np.array_equal(both[:, 1], solver.solve(b)), "a column has the bits of a vector")


def starts():
    start = exact.copy()
    x, info = pykarst.solve(A, b, rtol=1e-10, x0=start)
    same(info.iterations, 0, "a solve from the solution takes no iteration")
    ok(np.array_equal(start, exact) and not np.shares_memory(x, start), "x0 is not changed")
    x, info = pykarst.solve(A, b, rtol=1e-10, x0=b)
    ok(distance(x, exact) < NEAR, "b may be x0")
    x, info = pykarst.solve(A, 0 * b)
    ok(not x.any() and info == 0, "b = 0 has the solution 0")


def stops():
    seen = []
    with pykarst.Solver(A, rtol=1e-10) as solver:
        solver.solve(b, callback=lambda iteration, residual: seen.append((iteration, residual)))
        same(
            [residual for _, residual in seen],
            list(solver.history),
            "the callback sees the history",
        )
        same([k for k, _ in seen], list(range(solver.result.iterations + 1)), "and each iteration")
        solver.solve(b, callback=lambda k, _: pykarst.Decision.ACCEPT if k == 1 else None)
        same(solver.result.reason.name, "CONVERGED_MONITOR", "ACCEPT ends a solve with a solution")
        solver.solve(b, callback=lambda k, _: pykarst.Decision.STOP, check=False)
        same(solver.result.reason.name, "STOPPED", "STOP ends a solve")
        solver.solve(b, max_iterations=1, check=False)
        same((solver.result, solver.result.iterations), (1, 1), "info is the number of iterations")
        ok("iteration" in solver.result.explanation, "the explanation speaks of iterations")
        solver.solve(b, atol=0.1 * np.linalg.norm(b))
        same(solver.result.reason.name, "CONVERGED_ATOL", "atol ends a solve")
        solver.solve(b)
        ok(solver.result.relative_residual <= 1e-10, "tolerances are those of the solver again")
    with pykarst.Solver(A, history=False) as solver:
        seen.clear()
        solver.solve(b, callback=lambda iteration, residual: seen.append(iteration))
        count = len(seen)
        ok(count > 0, "a callback is called without a history")
        solver.solve(b)
        ok(len(seen) == count and len(solver.history) == 0, "but not in the next solve")


for checks in (pair, shapes, columns, starts, stops):
    group(checks)
done_testing()
