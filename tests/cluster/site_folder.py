"""The folder of one set of hosts: keys, configurations and names that they share, and the places of what is private.

    site/   read by all hosts: hosts.NAME, passwd, shadow, resolv.conf, ssh/ (of users), keys/ (of hosts)
    home/   root's home; each host mounts its own
    work/   where programs run; each host mounts its own, unless it is shared
    shared/ written by all
    stash/  used while a host makes its file systems
"""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from control_group import hierarchy, remove_group

PLACE = pathlib.Path("/var/tmp")
PREFIX = "lockstep-cluster"


def birth(pid):
    """When a process began, in the kernel's ticks; None where there is none. Tells a pid from its next use."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    state, *rest = stat[stat.rindex(")") + 2:].split()
    return None if state in "ZX" else rest[18]


def remove_stale():
    """Removes the folders and control groups whose creators are dead; processes and networks died with them."""
    for place, remove in ((PLACE, lambda folder: shutil.rmtree(folder, ignore_errors=True)), (hierarchy(), remove_group)):
        for folder in place.glob(f"{PREFIX}.*") if place else ():
            name = re.fullmatch(PREFIX + r"\.(\d+)\.(\d+)\..*", folder.name)
            if name and birth(name[1]) != name[2]:
                remove(folder)


class SiteFolder:
    def __init__(self, trees):
        pid = os.getpid()
        self.root = pathlib.Path(tempfile.mkdtemp(prefix=f"{PREFIX}.{pid}.{birth(pid)}.", dir=PLACE))
        os.chmod(self.root, 0o755)
        self.site, self.home, self.work, self.shared = (self.root / part for part in ("site", "home", "work", "shared"))
        places = [self.home, self.work, self.shared, self.site / "ssh", self.site / "keys", self.root / "stash/cgroup"]
        for place in places + [self.root / f"stash/{index}" for index in range(len(trees))]:
            place.mkdir(parents=True)

    def remove(self):
        shutil.rmtree(self.root)

    def write(self, file, content, mode=0o644):
        path = self.site / file
        path.write_text(content)
        path.chmod(mode)
        return path

    def write_users(self, shell):
        users = pathlib.Path("/etc/passwd").read_text().splitlines()
        root = f"root:x:0:0:root:{self.home}:{shell}"
        self.write("passwd", "\n".join(root if user.startswith("root:") else user for user in users) + "\n")
        # sshd without PAM turns away an account whose password is locked ("!").
        self.write("shadow", "root:*:19000:0:99999:7:::\n", 0o600)

    def write_names(self, addresses, own_line):
        """/etc/hosts of every host, given {name: (IPv4, IPv6)}. `own_line`: with Debian's `127.0.1.1 NAME` before it."""
        known = "".join(f"{v4} {name}\n{v6} {name}-v6\n" for name, (v4, v6) in addresses.items())
        for name in addresses:
            own = f"127.0.1.1 {name}\n" if own_line else ""
            self.write(f"hosts.{name}", f"127.0.0.1 localhost\n::1 localhost\n{own}{known}")
        self.write("resolv.conf", "# no name server: only /etc/hosts knows names\nnameserver 127.0.0.1\n")

    def make_keys(self, addresses):
        """A key for each host and one for root, who may log in everywhere and knows the hosts' keys."""
        keys = {name: self.site / "keys" / name for name in addresses}
        user = self.site / "ssh/id_ed25519"
        made = [subprocess.Popen(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", key.name, "-f", key])
                for key in [*keys.values(), user]]
        if any(process.wait() != 0 for process in made):
            raise RuntimeError("ssh-keygen failed")
        known = []
        for name, (v4, v6) in addresses.items():
            public = pathlib.Path(f"{keys[name]}.pub").read_text()
            known.append(f"{name},{name}-v6,{v4},{v6} {public}")
        self.write("ssh/known_hosts", "".join(known))
        self.write("ssh/config", "Host *\n  StrictHostKeyChecking yes\n  LogLevel ERROR\n", 0o600)
