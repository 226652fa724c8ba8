#!/usr/bin/env python3
"""auto.py RESULTS [LIMIT]: how good auto is, from the results of compare with the plan auto.json.

Prints a Markdown table: for each system the best fixed choice, that of auto, and auto's time over the best one's, for
set-up and solve of the first values and for update and solve of later ones (the median of compare's repeat), then the
number of systems where that is at most LIMIT (1.3). A choice that has not converged has no time.
"""
import json
import sys

CHOICE = ("precond", "level", "ordering")
SET_UP = ("order", "symbolic", "factor", "transfer", "solve")


def read(path):
    """The lines of a results file; a last one that was cut off is left out, and a later one replaces its forerunner."""
    lines = {}
    with open(path, encoding="utf-8") as file:
        for text in file:
            if text.endswith("\n"):
                line = json.loads(text)
                lines[line["key"]] = line
    return lines.values()


def split(case):
    """A case as what tells its system and the place, and its choice."""
    options = case.get("options") or {}
    rest = {name: value for name, value in options.items() if name not in CHOICE}
    system = {name: value for name, value in case.items() if name != "options"}
    choice = " ".join([options.get("precond", "iluk")] + [f"{n} {options[n]}" for n in CHOICE[1:] if n in options])
    return json.dumps([system, rest], sort_keys=True), choice


def describe(case):
    """The words for a system: its matrix, and what else was given."""
    options = case.get("options") or {}
    words = [case["matrix"].rsplit("/", 1)[-1]] + [f"block {case['block']}" for _ in [0] if case.get("block")]
    return " ".join(words + [str(options[name]) for name in ("solver",) if name in options] + [case.get("device", "")])


def times(line):
    """Seconds of set-up and solve, and of update and solve; None each where there are none."""
    solve = line.get("solve") or {}
    if line["outcome"] != "converged" or "times" not in solve:
        return None, None
    first = sum(solve["times"].get(name) or 0 for name in SET_UP)
    again = solve.get("repeat")
    return first, again["factor"] + again["solve"] if again else None


def compare(auto, fixed, which):
    """The best fixed choice, its time, and auto's time over it; None where no fixed choice has one."""
    known = [(times[which], choice) for choice, times in fixed.items() if times[which]]
    if not known:
        return None
    best, choice = min(known)
    return choice, best, auto[which] / best if auto[which] else float("inf")


def main(path, limit):
    systems = {}
    for line in read(path):
        system, choice = split(line["case"])
        entry = systems.setdefault(system, {"name": describe(line["case"]), "fixed": {}, "auto": None, "chosen": ""})
        if choice == "auto":
            entry["auto"] = times(line)
            entry["chosen"] = (line.get("solve") or {}).get("auto_choice", line["outcome"])
        else:
            entry["fixed"][choice] = times(line)
    count, good = [0, 0], [0, 0]
    print("| system | best set-up and solve | ms | auto | best update and solve | ms | auto | auto's choice at the end |")
    print("|---|---|--:|--:|---|--:|--:|---|")
    for entry in systems.values():
        if not entry["auto"]:
            continue
        cells = []
        for which in (0, 1):
            found = compare(entry["auto"], entry["fixed"], which)
            if not found:
                cells.append("none | | ")
                continue
            count[which] += 1
            good[which] += found[2] <= limit
            cells.append(f"{found[0]} | {1e3 * found[1]:.2f} | {found[2]:.2f}")
        print(f"| {entry['name']} | {cells[0]} | {cells[1]} | {entry['chosen']} |")
    for which, what in enumerate(("set-up and solve", "update and solve")):
        print(f"\n{what}: auto is within {limit:g} times of the best fixed choice on {good[which]} of {count[which]} "
              "systems that one of them solves.")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: auto.py RESULTS [LIMIT]")
    main(sys.argv[1], float(sys.argv[2]) if len(sys.argv) == 3 else 1.3)
