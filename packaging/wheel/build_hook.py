"""Adds to the wheel of pykarst what wheel.mk makes: libkarst, two commands and licences.

"make wheel" names the folder with them in KARST_STAGE. Otherwise, as in "pip install .", they are made here: in the
build of this folder if configure has run in it, else in build-pip/, with the options in KARST_CONFIGURE.
"""

import os
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


def run(folder, *command):
    """Runs a command in a folder, or ends with a sentence."""
    try:
        subprocess.run(command, cwd=folder, check=True, stdout=sys.stderr)
    except (OSError, subprocess.CalledProcessError):
        sys.exit(
            f"pykarst: {shlex.join(map(str, command))} failed, see above. To build from source, pykarst needs a C "
            "compiler and GNU make, and from a checkout Autotools and pkg-config; INSTALL.md names the packages."
        )


def make_stage(top):
    """Compiles what the wheel needs, and returns its folder."""
    build = top
    if not (top / "config.status").exists():
        build = top / "build-pip"
        build.mkdir(exist_ok=True)
        if not (top / "configure").exists():
            run(top, "./bootstrap", "--no-install")
        run(build, top / "configure", "--quiet", *shlex.split(os.environ.get("KARST_CONFIGURE", "")))
    jobs = [] if "MAKEFLAGS" in os.environ else [f"-j{len(os.sched_getaffinity(0))}"]
    run(build, "make", *jobs, "-f", top / "packaging/wheel/wheel.mk", "stage")
    return build / "build-wheel/stage"


class Hook(BuildHookInterface):
    """What hatchling calls."""

    def initialize(self, version, build_data):
        if version == "editable":
            sys.exit("pykarst: an editable installation has no libkarst: set PYTHONPATH to python/, and KARST_LIBRARY")
        stage = Path(os.environ.get("KARST_STAGE") or make_stage(Path(self.root)))
        licenses = f"pykarst-{self.metadata.version}.dist-info/licenses"
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["force_include"].update({stage / "pykarst": "pykarst", stage / "licenses": licenses})
