"""Every form of a sparse matrix gives the solution of numpy.linalg.solve, and CSR is not copied."""

import warnings
from types import SimpleNamespace

from tap import distance, done_testing, group, np, ok, random_numbers, random_system, same, sp
import pykarst

random = random_numbers()
N = 60  # divisible by 2, 3 and 4
A, b = random_system(random, N)
exact = np.linalg.solve(A.toarray(), b)
NEAR = 1e-8  # rtol is 1e-10, and the condition number below 10


def solves(M, name, solution=exact, **options):
    """Checks a solution, and returns the warnings of the solve."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        x, _ = pykarst.solve(M, b, rtol=1e-10, **options)
    ok(distance(x, solution) < NEAR, f"{name}: x solves the system")
    return [(w.category, str(w.message)) for w in warned]


def every_format():
    for form in ("csr", "csc", "bsr", "coo", "dia", "lil", "dok"):
        kinds = [(A.asformat(form), f"{form}_matrix")]
        if hasattr(sp, "csr_array"):
            kinds.append((getattr(sp, f"{form}_array")(A), f"{form}_array"))
        for M, name in kinds:
            warned = solves(M, name)
            if form in ("csr", "csc", "bsr"):
                same(warned, [], f"{name}: no warning")
                continue
            text = (
                f"A is converted from {form.upper()} to CSR: pass a CSR or BSR array to save this"
            )
            same(
                warned, [(sp.SparseEfficiencyWarning, text)], f"{name}: a warning of the conversion"
            )
    warned = solves(A.toarray(), "a dense array")
    same(len(warned), 1, "a dense array: a warning of the conversion")
    plain = SimpleNamespace(indptr=A.indptr, indices=A.indices, data=A.data)
    same(solves(plain, "an object with indptr, indices and data"), [], "such an object: no warning")


def blocks():
    for block in (2, 3, 4):
        B = A.tobsr((block, block))
        with pykarst.Solver(B) as solver:
            same(solver.report["block_size"], block, f"the blocks of BSR are taken, {block}")
        solves(B, f"blocks of {block}")
        solves(A, f"CSR in blocks of {block}", block=block)
        solves(A.tocsc(), f"CSC in blocks of {block}", block=block)
        solves(B, f"blocks of {block} as scalars", block=1)
        solves(B, f"blocks of {block} in blocks of 12", block=12)
        solves(B, f"blocks of {block} in those of {7 - block}", block={2: 5, 3: 4, 4: 3}[block])
    solves(A.tobsr((2, 3)), "blocks of 2 by 3")


def types():
    for type in ("f4", ">f8", "i4", "u2", "i1"):
        M = A.copy()
        if (
            "f" not in type
        ):  # a row has fewer than 24 entries, whose roundings add up to less than 12
            M.data = np.round(np.abs(6 * M.data)) + 12 * (M.data > 1)
        M.data = M.data.astype(type)
        exact_of = np.linalg.solve(M.toarray().astype(float), b)
        solves(M, f"values of type {type}", exact_of)
    for type in (np.int32, np.int64):
        for make in (sp.csr_matrix, sp.csc_matrix, sp.bsr_matrix):
            M = make(A) if make is not sp.bsr_matrix else A.tobsr((2, 2))
            M.indices, M.indptr = M.indices.astype(type), M.indptr.astype(type)
            solves(M, f"{M.format} with indices of {np.dtype(type)}")


def disorder():
    order = np.concatenate([random.permutation(np.arange(*A.indptr[i : i + 2])) for i in range(N)])
    U = sp.csr_matrix((A.data[order], A.indices[order], A.indptr), shape=A.shape)
    kept = U.indices.copy()
    for block in (1, 2):
        solves(U, f"unsorted rows, blocks of {block}", block=block)
    ok(np.array_equal(U.indices, kept), "unsorted rows: A is not sorted in place")
    C = sp.csc_matrix((U.data, U.indices, U.indptr), shape=U.shape)
    solves(C, "unsorted columns of CSC", np.linalg.solve(A.toarray().T, b))
    part = random.uniform(0.1, 0.9, A.nnz)
    twice = np.repeat(np.arange(A.nnz), 2)
    data = np.stack([part * A.data, (1 - part) * A.data], axis=1).reshape(-1)
    D = sp.csr_matrix((data, A.indices[twice], 2 * A.indptr), shape=A.shape)
    for block in (1, 3):
        solves(D, f"duplicates, blocks of {block}", block=block)
    same(D.nnz, 2 * A.nnz, "duplicates: A keeps them")
    B = A.tobsr((2, 2))
    rows = [random.permutation(np.arange(*B.indptr[i : i + 2])) for i in range(N // 2)]
    order = np.concatenate(rows)
    solves(
        sp.bsr_matrix((B.data[order], B.indices[order], B.indptr), shape=B.shape), "unsorted BSR"
    )
    double = np.repeat(np.arange(len(B.indices)), 2)
    halves = (B.data[double] / 2, B.indices[double], 2 * B.indptr)
    solves(sp.bsr_matrix(halves, shape=B.shape), "duplicate blocks of BSR")
    lying = U.copy()
    lying.has_sorted_indices = lying.has_canonical_format = True
    solves(lying, "unsorted rows that are said to be sorted")


def in_place():
    with pykarst.Solver(A) as solver:
        place = pykarst.library.karst.matrix_value(solver._matrix.handle)
        same(place, A.data.__array_interface__["data"][0], "the values of CSR are not copied")
    before = A.data.copy(), A.indices.copy(), A.indptr.copy()
    solves(A, "CSR again")
    after = A.data, A.indices, A.indptr
    ok(all(map(np.array_equal, before, after)), "a solve changes nothing of A")


for checks in (every_format, blocks, types, disorder, in_place):
    group(checks)
done_testing()
