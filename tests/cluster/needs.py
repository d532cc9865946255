"""What cluster tests need of the machine, and how a file of them runs: skipped, with the reason, where that is missing."""
import os
import shutil
import subprocess
import sys
import unittest

PROGRAMS = ("unshare", "nsenter", "ip", "tc", "ssh", "ssh-keygen", "/usr/sbin/sshd")
SKIPPED = 77  # SKIP_RETURN_CODE in CMakeLists.txt


def missing(*programs):
    """Why hosts cannot be made here, or these programs not be run; empty where they can."""
    if os.geteuid() != 0:
        return "hosts are made of namespaces, which takes root"
    for program in (*PROGRAMS, *programs):
        if not shutil.which(program):
            return f"{program} is not installed"
    probe = subprocess.run(["unshare", "--net", "--uts", "--ipc", "--pid", "--mount", "--fork", "sh", "-c",
                            "mount -t tmpfs none /mnt && ip link add bridge type bridge"],
                           capture_output=True, text=True)
    return f"namespaces cannot be made: {probe.stderr.strip()}" if probe.returncode else ""


def main(*programs):
    """Runs the tests of the file that calls it; all of them need these programs."""
    reason = missing(*programs)
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
