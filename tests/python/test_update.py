"""New values on the pattern of a solver: as a matrix, as values, or in place."""

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


def is_solved(solver, factor, name):
    """Checks that the system of factor A is solved: kept factors make x slower, not wrong."""
    ok(distance(factor * solver.solve(b), exact) < NEAR, name)


def matrices_and_values():
    for M, block, name in (
        (A, None, "CSR"),
        (A.tocsc(), None, "CSC"),
        (A.tobsr((2, 2)), None, "BSR"),
        (A, 3, "CSR in blocks"),
        (A.tobsr((2, 2)), 1, "BSR as scalars"),
        (A.astype(np.float32).astype(np.float64), None, "float32's values"),
    ):
        with pykarst.Solver(M, block=block, rtol=1e-10) as solver:
            M = M if M.format == "bsr" else M.copy()
            reference = np.linalg.solve(M.toarray(), b)
            scale = lambda x, factor: distance(factor * x, reference) < NEAR
            solver.update(2 * M)
            ok(scale(solver.solve(b), 2), f"{name}: update by a matrix")
            solver.update(3 * M.data)
            ok(scale(solver.solve(b), 3), f"{name}: update by values")
            solver.update(list((4 * M.data).reshape(-1)))
            ok(scale(solver.solve(b), 4), f"{name}: update by a list of values")
            solver.keep(1.1 * M)
            ok(scale(solver.solve(b), 1.1), f"{name}: keep by a matrix")
            solver.keep(1.2 * M.data)
            ok(scale(solver.solve(b), 1.2), f"{name}: keep by values")


def in_place():
    M = A.copy()
    with pykarst.Solver(M, rtol=1e-10) as solver:
        M.data *= 2
        solver.update()
        is_solved(solver, 2, "values changed in A.data")
        M.data *= 2
        solver.update(M)
        is_solved(solver, 4, "the same matrix, changed")
        M.data *= 1.1
        solver.keep()
        is_solved(solver, 4.4, "keep of values changed in A.data")
        solver.update(A)
        is_solved(solver, 1, "another matrix")
        solver.update()
        is_solved(solver, 4.4, "the values of A.data again")
    with pykarst.Solver(A.tocsc()) as solver:
        raises(ValueError, "pass A", solver.update, "CSC is not used in place")


def refused():
    other = A.copy()
    other.indices = A.indices[::-1].copy()
    fewer = A.copy()
    fewer.data[3] = 0
    fewer.eliminate_zeros()
    for kept in (A.copy(), A.tobsr((2, 2)), A.tocsc()):
        with pykarst.Solver(kept, rtol=1e-10) as solver:
            pattern = "A has another pattern or form than the matrix of the set-up"
            for M, name in (
                (other, "other columns"),
                (fewer, "fewer entries"),
                (A.tobsr((3, 3)), "blocks"),
            ):
                raises(ValueError, pattern, lambda M=M: solver.update(M), f"{kept.format}: {name}")
            raises(
                ValueError,
                "values has the shape (5,)",
                lambda: solver.update(A.data[:5]),
                "few values",
            )
            complex = kept * 1j
            raises(TypeError, "complex", lambda: solver.update(complex), "complex values")
            is_solved(solver, 1, f"{kept.format}: the solver still has the old values")


def failing():
    M = A.copy()
    with pykarst.Solver(M, rtol=1e-10) as solver:
        M.data[M.indptr[7] : M.indptr[8]] = 0
        solver.update()
        failed = raises(
            pykarst.NotConverged, "7", lambda: solver.solve(b), "a zero row is found by solve"
        )
        same(failed.result.block_row, 7, "with its number")
        solver.update(A)
        is_solved(solver, 1, "sound values repair the solver")
    with pykarst.Preconditioner(A) as preconditioner:
        preconditioner.update(2 * A)
        z = preconditioner @ b
        preconditioner.keep(A)
        ok(np.array_equal(z, preconditioner @ b), "a kept preconditioner stays")
        preconditioner.update(A)
        ok(np.array_equal(2 * z, preconditioner @ b), "an updated one does not")
        singular = "the pivot block of block row 7 is singular"
        raises(
            pykarst.NotFactored,
            singular,
            lambda: preconditioner.update(M),
            "a zero row is found by update",
        )


def after_a_failure():
    M = A.copy()
    with pykarst.Solver(M, rtol=1e-10) as solver:
        raises(ValueError, "values", lambda: solver.update(M.data[:-1]), "too few values")
        M.data *= 2
        solver.update()
        is_solved(solver, 2, "A changed in place after an update that failed")
        solver.update(3 * A.data)
        is_solved(solver, 3, "values of another array")
        solver.update()
        is_solved(solver, 2, "those of A again")


for checks in (matrices_and_values, in_place, refused, failing, after_a_failure):
    group(checks)
done_testing()
