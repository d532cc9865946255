"""A control group (v2) for each host, which it takes for the root: jobs of two hosts must not meet in one, nor leave any.

Where the machine has no such hierarchy, or one that may not be written, hosts see what there is.
"""
import os
import pathlib


def hierarchy():
    """Where it is mounted, writable; None where it is not."""
    mounts = [line.split() for line in pathlib.Path("/proc/mounts").read_text().splitlines()]
    places = [pathlib.Path(place) for _, place, kind, options, *_ in mounts
              if kind == "cgroup2" and "rw" in options.split(",")]
    return places[0] if places else None


def make_group(name):
    """Its folder, or None."""
    place = hierarchy()
    if place:
        try:
            (place / name).mkdir()
            return place / name
        except OSError:  # a container's own rule
            pass
    return None


def remove_group(group):
    """With those in it. REQUIRES: no process is left in them."""
    for folder, _, _ in os.walk(group, topdown=False):
        os.rmdir(folder)
