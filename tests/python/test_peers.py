"""examples/peers.py solves with Karst to its target, counts lines, and says why a way fails."""

import importlib.util
import os
import sys
import tempfile

from tap import done_testing, group, np, ok, same, sp
import pykarst

path = os.path.join(os.environ.get("srcdir", "."), "examples", "peers.py")
spec = importlib.util.spec_from_file_location("peers", path)
peers = importlib.util.module_from_spec(spec)
sys.modules["peers"] = peers
spec.loader.exec_module(peers)


def place(folder, A, b):
    sp.save_npz(os.path.join(folder, "A.npz"), A)
    np.save(os.path.join(folder, "b.npy"), b)


def ways():
    peers.TIMES = 1
    with tempfile.TemporaryDirectory() as folder:
        place(folder, *pykarst.gallery("blackoil:6x5x2"))
        for name in ("pykarst: the default, iluk", "pykarst: auto", "pykarst: cpr"):
            found = peers.solve(name, folder)
            ok(found["residual"] <= 1e-8 and found["iterations"] > 0, f"{name} reaches the target")
            ok(found["setup"] >= 0 and found["memory"] >= 0, "and is measured")
    same(peers.lines_of(peers.pykarst_auto), 3, "a way has lines of code")
    same(peers.lines_of(peers.scipy_spilu_gmres), 4, "without the ends of its steps")


def failures():
    hollow = sp.csr_matrix(np.array([[0.0, 1.0], [1.0, 1.0]]))
    hollow.eliminate_zeros()
    with tempfile.TemporaryDirectory() as folder:
        place(folder, hollow, np.ones(2))
        found = peers.solve("pykarst: the default, iluk", folder)
        ok("no diagonal entry" in str(found), "a way that fails gives its reason")


for checks in (ways, failures):
    group(checks)
done_testing()
