"""A solver in a process: Ctrl-C, threads, fork, pickling, the end of its memory."""

import copy
import faulthandler
import gc
import os
import pickle
import resource
import signal
import sys
import threading
import time
import weakref

from tap import (
    distance,
    done_testing,
    group,
    note,
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
A, b = random_system(random, 60)
exact = np.linalg.solve(A.toarray(), b)
# A solve that goes on until it is ended: the line of 20000 unknowns takes a path of that length.
LONG = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(20000, 20000)).tocsr()
ENDLESS = {"solver": "richardson", "precond": "jacobi", "max_iterations": 10**9, "rtol": 1e-14}
PATIENCE = 60  # seconds until a test that hangs fails


class Alarm(Exception):
    """What a handler raises."""


def alarm(number, frame):
    raise Alarm(number)


def later(number):
    """Sends a signal to the main thread, which is in a solve by then."""
    main = threading.main_thread().ident
    threading.Timer(0.05, lambda: signal.pthread_kill(main, number)).start()


def signals():
    ones = np.ones(20000)
    # A program in the background of a shell ignores SIGINT.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with pykarst.Solver(LONG, **ENDLESS) as solver:
        later(signal.SIGINT)
        raises(KeyboardInterrupt, "", lambda: solver.solve(ones), "SIGINT ends a solve")
        same(solver.result.reason.name, "STOPPED", "at an iteration")
        ok(solver.result.iterations > 0, "after others")
        ok(
            signal.getsignal(signal.SIGINT) is signal.default_int_handler,
            "the handler is that from before",
        )
        x = solver.solve(ones, max_iterations=5, check=False)
        ok(np.isfinite(x).all() and solver.result == 5, "the solver serves again")
        before = signal.signal(signal.SIGALRM, alarm)
        later(signal.SIGALRM)
        raises(
            Alarm, "14", lambda: solver.solve(ones), "so does a handler that raises an exception"
        )
        seen = []
        signal.signal(signal.SIGALRM, lambda number, frame: seen.append(number))
        later(signal.SIGALRM)
        solver.solve(ones, callback=lambda *_: pykarst.Decision.STOP if seen else None, check=False)
        same(seen, [signal.SIGALRM], "another handler runs during a solve")
        signal.signal(signal.SIGALRM, before)
        before = signal.signal(signal.SIGCHLD, alarm)
        later(signal.SIGCHLD)
        number = str(int(signal.SIGCHLD))
        raises(Alarm, number, lambda: solver.solve(ones), "and that of any signal")
        signal.signal(signal.SIGCHLD, before)
        send = lambda *_: signal.raise_signal(signal.SIGINT) or time.sleep(PATIENCE)
        raises(
            KeyboardInterrupt,
            "",
            lambda: solver.solve(ones, callback=send),
            "SIGINT ends a callback",
        )
        inner = lambda *_: (later(signal.SIGINT), pykarst.solve(LONG, ones, **ENDLESS))
        raises(
            KeyboardInterrupt,
            "",
            lambda: solver.solve(ones, callback=inner),
            "and a solve in a callback",
        )
    with pykarst.Solver(
        LONG,
        M=lambda r: 0.3 * r,
        history=False,
        solver="richardson",
        max_iterations=10**9,
        rtol=1e-14,
    ) as solver:
        later(signal.SIGINT)
        raises(KeyboardInterrupt, "", lambda: solver.solve(ones), "and one that calls M only")


def threads():
    events = threading.Event(), threading.Event()
    met, solutions = [], {}

    def solve(mine, other):
        def meet(iteration, residual):
            events[mine].set()
            met.append(events[other].wait(PATIENCE))

        with pykarst.Solver(A, rtol=1e-10) as solver:
            solutions[mine] = solver.solve(b, callback=meet)

    run(lambda: solve(0, 1), lambda: solve(1, 0))
    ok(met and all(met), "two threads with two solvers meet in their iterations")
    ok(distance(solutions[0], exact) < 1e-8, "and have the solution")

    begun, ended, count = threading.Event(), threading.Event(), []
    with pykarst.Solver(LONG, history=False, **{**ENDLESS, "max_iterations": 1000}) as long:

        def one():
            begun.set()
            long.solve(np.ones(20000), check=False)
            ended.set()

        def other():
            begun.wait()
            while not ended.is_set():
                count.append(0)
                time.sleep(0.001)

        interval = sys.getswitchinterval()
        # No thread gives the lock up but in a call that releases it.
        sys.setswitchinterval(PATIENCE)
        try:
            run(one, other)
        finally:
            sys.setswitchinterval(interval)
        ok(count, "another thread runs while a solve without callbacks does")
    with pykarst.Solver(A, rtol=1e-10) as shared:
        found = []
        run(
            *[lambda k=k: found.extend((k, shared.solve(k * b)) for _ in range(20)) for k in (1, 2)]
        )
        ok(all(distance(x, k * exact) < 1e-8 for k, x in found), "a solver serves two threads")
        same(len(found), 40, "all of their systems")


def run(*functions):
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        if thread.is_alive():
            note("a thread hangs")
            os._exit(1)


def reentrance():
    with pykarst.Solver(A) as solver, pykarst.Solver(A) as second:
        found = []
        own = "a function that a solver calls cannot use this solver"
        for use in (
            lambda: solver.solve(b),
            lambda: solver.update(A),
            solver.close,
            lambda: solver.report,
        ):
            raises(
                RuntimeError,
                own,
                lambda: solver.solve(b, callback=lambda *_: use()),
                "a callback may not use its solver",
            )
        solver.solve(b, callback=lambda *_: found.append(second.solve(b)))
        ok(solver.result.converged and found, "but another one")


def fork_is_refused(solver, preconditioner):
    """In the child: calls of its parent's objects say so, and new ones work."""
    refused = "of process" in repr(solver)
    for call in (
        lambda: solver.solve(b),
        lambda: solver.update(A),
        lambda: preconditioner @ b,
    ):
        try:
            call()
            refused = False
        except RuntimeError as error:
            refused &= "make a new one in each process" in str(error)
    solver.close()
    return refused and distance(pykarst.solve(A, b, rtol=1e-10)[0], exact) < 1e-8


def forks():
    with pykarst.Solver(A, threads=2) as solver, pykarst.Preconditioner(A) as preconditioner:
        solver.solve(b)
        child = os.fork()
        if child == 0:
            code = False
            try:
                code = fork_is_refused(solver, preconditioner)
            finally:
                os._exit(0 if code else 1)
        same(os.waitpid(child, 0)[1], 0, "a forked child is refused, and makes a new solver")
        ok(solver.solve(b) is not None, "the parent goes on")


def copies():
    with pykarst.Solver(A) as solver, pykarst.Preconditioner(A) as preconditioner:
        for made in (solver, preconditioner):
            for act in (pickle.dumps, copy.copy, copy.deepcopy):
                raises(
                    TypeError,
                    "cannot be pickled or copied",
                    lambda: act(made),
                    f"{act.__name__} refuses",
                )
        solver.solve(b)
        again = pickle.loads(pickle.dumps(solver.result))
        same((again, vars(again)), (solver.result, vars(solver.result)), "a result can be pickled")
        report = pickle.loads(pickle.dumps(solver.report))
        same(
            (dict(report), report.units),
            (dict(solver.report), solver.report.units),
            "so can a report",
        )
        failed = raises(
            pykarst.NotConverged,
            "",
            lambda: solver.solve(b, max_iterations=1, rtol=1e-14),
            "a failure",
        )
        again = pickle.loads(pickle.dumps(failed))
        same(
            (str(again), again.result, list(again.x)),
            (str(failed), 1, list(failed.x)),
            "comes out of another process",
        )


def closing():
    solver = pykarst.Solver(A)
    solver.close()
    solver.close()
    ok("closed" in repr(solver), "a solver can be closed twice, and says that it is closed")
    for use in (
        lambda: solver.solve(b),
        solver.update,
        solver.keep,
        lambda: solver.report,
        solver.__enter__,
    ):
        raises(
            ValueError,
            "this solver or preconditioner is closed",
            use,
            "and cannot be used afterwards",
        )
    with pykarst.Preconditioner(A) as preconditioner:
        pass
    raises(
        ValueError,
        "closed",
        lambda: preconditioner @ b,
        "nor a preconditioner after its with statement",
    )


def memory():
    solver = pykarst.Solver(A, M=lambda r: r)
    solver.cycle = solver
    gone = weakref.ref(solver)
    del solver
    gc.collect()
    ok(gone() is None, "a solver in a cycle is collected")
    gc.disable()
    for make in (
        lambda: pykarst.Solver(A, M=lambda r: r),
        lambda: pykarst.Solver(A, operator=A),
        lambda: pykarst.Preconditioner(A),
    ):
        made = make()
        gone = weakref.ref(made._context)
        del made
        ok(gone() is None, "others give their memory back at once")
    gc.enable()

    def make(count):
        for _ in range(count):
            pykarst.solve(A, b)
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    files = os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd") else []
    before = make(300)
    grown = make(1700) - before  # KiB; a solver of this size has 50
    ok(grown < 4096, "2000 solvers leave no memory behind")
    if grown >= 4096:
        note(f"{grown} KiB")
    same(len(os.listdir("/proc/self/fd")) if files else 0, len(files), "nor open files")


faulthandler.dump_traceback_later(3 * PATIENCE, exit=True)
for checks in (signals, threads, reentrance, forks, copies, closing, memory):
    group(checks)
done_testing()
