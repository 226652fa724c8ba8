"""library.py declares functions of karst.h with their arguments, and structs with their fields."""

import ctypes
import os
import re

from tap import done_testing, group, note, ok, raises, same
from pykarst import errors, library, result

with open(os.path.join(os.environ["srcdir"], "include", "karst.h.in"), encoding="utf-8") as file:
    HEADER = re.sub(r"/\*.*?\*/|^#.*?$", "", file.read(), flags=re.S | re.M)
NUMBERS = {
    "double": ctypes.c_double,
    "int": ctypes.c_int,
    "bool": ctypes.c_int,
    "int64_t": ctypes.c_int64,
    "size_t": ctypes.c_size_t,
    "karst_index": library.c_index,
    "void": None,
}


def words(declaration):
    """The type of a declaration, "int *" of "const int *count", without its name."""
    declaration = re.sub(r"\bconst\b|\bstruct\b", "", declaration)
    name = re.search(r"(\w+)\s*(\[.*\])?$", declaration)
    plain = (
        declaration
        if name is None or declaration.split() == [name.group(1)]
        else declaration[: name.start()]
    )
    return "".join(plain.split()) + ("*" if name and name.group(2) else "")


def is_kind(found, type):
    """Whether ctypes passes a C type as it is: numbers by their kind, all else as pointers."""
    if type in NUMBERS:
        return found is NUMBERS[type]
    if type.startswith("karst_") and "*" not in type:  # enumerations, and pointers to functions
        return found is ctypes.c_int or issubclass(found, ctypes._CFuncPtr)
    return found in (ctypes.c_char_p, ctypes.c_void_p) or issubclass(
        found, (ctypes._Pointer, ctypes._CFuncPtr)
    )


def functions():
    declared = {}
    for returned, name, arguments in re.findall(
        r"KARST_EXPORT\s+([\w\s*]+?)\bkarst_(\w+)\(([^;]*)\);", HEADER
    ):
        arguments = re.sub(r"\w+\s*\(\*(\w+)\)\([^()]*\)", r"karst_function \1", arguments)
        declared[name] = words(returned + " x"), [
            words(a) for a in arguments.split(",") if a.strip() != "void"
        ]
    ok(len(declared) > 100, "karst.h declares functions")
    used = vars(library.karst)
    same(sorted(set(used) - set(declared)), [], "pykarst uses functions of karst.h only")
    wrong = []
    for name, function in used.items():
        returned, arguments = declared[name]
        found = [function.restype, *function.argtypes]
        expected = [returned, *arguments]
        if len(found) != len(expected) or not all(map(is_kind, found, expected)):
            wrong.append(f"{name}: {expected}, not {found}")
    same(wrong, [], "they return and take what karst.h says")
    note(f"{len(used)} functions of {len(declared)}")


def structs():
    for structure, name in (
        (library.Result, "karst_result"),
        (library.Info, "karst_solver_info"),
        (library.Value, "karst_value"),
        (library.OptionInfo, "karst_option_info"),
        (library.Method, "karst_precond_method"),
    ):
        body = re.search(rf"typedef struct {name} {{(.*?)}} {name};", HEADER, re.S).group(1)
        body = re.sub(r"(\w+)\s*\(\*(\w+)\)\([^()]*\)", r"karst_function \2", body)
        fields = [
            re.search(r"(\w+)\s*(\[.*\])?$", line.strip())
            for line in body.split(";")
            if line.strip()
        ]
        same(
            [field[0] for field in structure._fields_],
            [f.group(1) for f in fields],
            f"the fields of {name}",
        )
        types = [words(line.strip()) for line in body.split(";") if line.strip()]
        pairs = zip(structure._fields_, types)
        wrong = [
            field
            for (field, kind), type in pairs
            if not is_kind(kind, type) and not issubclass(kind, ctypes.Array)
        ]
        same(wrong, [], "and their types")


def enumerations():
    def values(name, prefix):
        body = re.search(rf"typedef enum {name} {{(.*?)}}", HEADER, re.S).group(1)
        return {
            key: int(value) for key, value in re.findall(rf"KARST_{prefix}(\w+) = (-?\d+)", body)
        }

    same(
        {r.name: int(r) for r in result.Reason},
        values("karst_reason", ""),
        "Reason is karst_reason",
    )
    same(
        {d.name: int(d) for d in result.Decision},
        values("karst_decision", ""),
        "Decision is karst_decision",
    )
    statuses = values("karst_status", "ERROR_").values()
    same(sorted(set(errors.BY_STATUS) - set(statuses)), [], "exceptions belong to a karst_status")


def absent():
    raises(ImportError, "KARST_LIBRARY", lambda: library._open("none.so"), "no library")
    call = lambda: library._declared("nonsense", None, ())
    raises(ImportError, "it lacks karst_nonsense", call, "another library")


for checks in (functions, structs, enumerations, absent):
    group(checks)
done_testing()
