#!/usr/bin/env python3
"""Packs the program torture and the modules beside this file into a wheel for a system and a processor:

    wheel.py FOLDER VERSION GOOS/GOARCH TORTURE LICENCE...

Equal files give equal bytes: times are fixed. It needs nothing but Python, and prints the wheel's name.
"""

import base64
import hashlib
import os
import re
import sys
import zipfile

LINUX = "manylinux_2_17_{0}.manylinux2014_{0}.musllinux_1_1_{0}"  # torture is linked statically
TAGS = {
    "linux/amd64": LINUX.format("x86_64"),
    "linux/arm64": LINUX.format("aarch64"),
    "darwin/amd64": "macosx_12_0_x86_64",  # the oldest that Go supports
    "darwin/arm64": "macosx_12_0_arm64",
    "windows/amd64": "win_amd64",
    "windows/arm64": "win_arm64",
}

METADATA = """Metadata-Version: 2.1
Name: zktorture
Version: {}
Summary: A ZooKeeper for tests that fails on request, as a fixture of pytest, and workers for torture live
License: Apache-2.0
Project-URL: Source, https://github.com/zktorture/zktorture
Requires-Python: >=3.7
Classifier: Framework :: Pytest
"""


def version_of(text):
    """A version of Go's, such as v1.2.0-rc.1, as Python's packages have it."""
    match = re.fullmatch(r"v?(\d+\.\d+\.\d+)(?:-rc\.(\d+)|-(.+))?", text)
    if not match:
        return "0.0.0.dev0"
    number, candidate, other = match.groups()
    if candidate:
        return number + "rc" + candidate
    return number + (".dev0+" + re.sub(r"[^a-z0-9]+", ".", other.lower()) if other else "")


def main(folder, version, target, torture, *licences):
    version, tags = version_of(version), ["py3-none-" + tag for tag in TAGS[target].split(".")]
    name = "zktorture-%s-py3-none-%s.whl" % (version, TAGS[target])
    info = "zktorture-%s.dist-info/" % version
    program = "torture.exe" if target.startswith("windows/") else "torture"
    here = os.path.dirname(os.path.abspath(__file__))
    record = []
    with zipfile.ZipFile(os.path.join(folder, name), "w", zipfile.ZIP_DEFLATED) as wheel:

        def add(path, content, mode=0o644):
            entry = zipfile.ZipInfo(path)  # of 1980
            entry.compress_type, entry.create_system, entry.external_attr = zipfile.ZIP_DEFLATED, 3, (0o100000 | mode) << 16
            wheel.writestr(entry, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append("%s,sha256=%s,%d\n" % (path, digest, len(content)))

        def read(path):
            with open(path, "rb") as file:
                return file.read()

        for module in "zktorture.py", "zktorture_pytest.py":
            add(module, read(os.path.join(here, module)))
        add("zktorture-%s.data/scripts/%s" % (version, program), read(torture), 0o755)
        for licence in licences:
            add(info + os.path.basename(licence), read(licence))
        add(info + "METADATA", METADATA.format(version).encode())
        lines = ["Wheel-Version: 1.0", "Generator: zktorture", "Root-Is-Purelib: false", *("Tag: " + tag for tag in tags)]
        add(info + "WHEEL", ("\n".join(lines) + "\n").encode())
        add(info + "entry_points.txt", b"[pytest11]\nzktorture = zktorture_pytest\n")
        add(info + "RECORD", ("".join(record) + info + "RECORD,,\n").encode())
    print(name)


if __name__ == "__main__":
    main(*sys.argv[1:])
