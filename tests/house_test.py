"""Who may include whom, as docs/architecture.md says it; and no file named for nothing in particular."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROOMS = ("topology", "engine", "collectives", "runtime", "launcher")
# A room (or part of one) and the parts of other rooms whose headers it may include.
ALLOWED = {
    "launcher/command": ROOMS,
    "launcher": ("launcher", "topology", "collectives/rendezvous"),
    "runtime": ("runtime", "engine", "collectives", "topology"),
    "collectives/rendezvous": ("collectives/rendezvous", "engine/device/visibility.h"),
    "collectives": ("collectives", "engine/device", "engine/dtype.h"),
    "engine": ("engine",),
    "topology": ("topology",),
}
# Headers that the build makes.
MADE = {"engine/interface_id.h"}
NAMELESS = re.compile(r"(^|_)(util|utils|helper|helpers|common|misc|base|manager)(_|\.|$)")


def rule_of(path):
    return max((part for part in ALLOWED if path.is_relative_to(part)), key=len)


def faults():
    checked = 0
    for room in ROOMS:
        for file in sorted((ROOT / room).rglob("*")):
            path = file.relative_to(ROOT)
            if NAMELESS.search(path.name):
                yield f"{path}: a name that says nothing"
            if file.suffix not in (".h", ".cc"):
                continue
            checked += 1
            allowed = ALLOWED[rule_of(path)]
            for included in re.findall(r'^#include "([^"]+)"', file.read_text(), re.M):
                if included not in MADE and not (ROOT / included).is_file():
                    yield f"{path}: includes {included}, which is not written from the root"
                elif not any(pathlib.PurePath(included).is_relative_to(part) for part in allowed):
                    yield f"{path}: may not include {included}"
    if checked < 50:
        yield f"only {checked} files were found under {ROOT}"


found = list(faults())
print("\n".join(found) or "the house is in order")
sys.exit(bool(found))
