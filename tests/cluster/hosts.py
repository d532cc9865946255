"""Hosts made of namespaces, for tests that need several.

    with Hosts(count=3) as hosts:
        done = hosts["h0"].run(["ssh", "h1", "hostname"], timeout=10)

Each has its own net, uts, ipc, pid and mount namespaces: nothing passes between two but over the network. It has a
real sshd, into which root of every other host may log in, and knows the others' names (`h1`, `h1-v6`), addresses
(10.77.0.I, fd77::I, I from 1) and host keys. The build and source trees are there, read-only.
Nothing is left when the context ends, however it does. Cost: 3 hosts in less than 1.5 s. What it needs: needs.py.
"""
import atexit
import contextlib
import dataclasses
import os
import pathlib
import signal
import threading
import typing

from host import Host
from site_folder import SiteFolder, remove_stale
from switch import Switch, configure, find_again, lose_packets_to

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("LOCKSTEP_BINARY_DIR", SOURCE / "build/release")).resolve()
NAME_SERVER = "10.77.0.253"


@dataclasses.dataclass(frozen=True)
class Wishes:
    """What else a set of hosts may have. By default none of it."""
    nics: typing.Mapping[str, str] = dataclasses.field(default_factory=dict)  # {"h1": "enp3s0"}; others have eth0
    docker0: bool = False          # a bridge with the address 172.17.0.1/16, the same on each
    down_nic: bool = False         # `down0`, without a link
    link_local_nic: bool = False   # `local0`, up, with no address but fe80::
    data_network: bool = False     # `data0`, 10.88.0.I, on a bridge of its own
    own_name_is_loopback: bool = False  # Debian's `127.0.1.1 NAME` before the true address
    private_tmp: bool = False      # else /tmp is the machine's
    shared_folder: bool = False    # the work folder is one for all, else each has its own, in memory
    shell: str = "/bin/bash"       # root's


class Hosts:
    def __init__(self, count=3, names=None, **wishes):
        self.names = list(names or (f"h{index}" for index in range(count)))
        self._wishes = Wishes(**wishes)
        self._hosts = {}
        self._undo = contextlib.ExitStack()

    def __getitem__(self, name):
        return self._hosts[name]

    def __iter__(self):
        return iter(self._hosts.values())

    def address(self, name):
        return f"10.77.0.{self.names.index(name) + 1}"

    def address6(self, name):
        return f"fd77::{self.names.index(name) + 1:x}"

    def nic(self, name):
        return self._wishes.nics.get(name, "eth0")

    @property
    def work(self):
        """The folder where programs start: the same path on each host."""
        return self._folder.work

    @property
    def shared(self):
        """A folder that all hosts and this process share, whatever is wished."""
        return self._folder.shared

    def __enter__(self):
        remove_stale()
        # unittest leaves contexts open when it is interrupted.
        atexit.register(self._undo.close)
        try:
            self._make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self._undo.close()
        atexit.unregister(self._undo.close)

    def _make(self):
        # TERM unwinds as an interrupt does; unittest takes a SystemExit for one more failed test.
        in_charge = threading.current_thread() is threading.main_thread()
        if in_charge and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, signal.default_int_handler)
            self._undo.callback(signal.signal, signal.SIGTERM, signal.SIG_DFL)
        trees = [str(SOURCE)] if BUILD.is_relative_to(SOURCE) else [str(SOURCE), str(BUILD)]
        self._folder = SiteFolder(trees)
        self._undo.callback(self._folder.remove)
        self._switch = self._undo.enter_context(Switch(("bridge", "data", "local")))
        addresses = {name: (self.address(name), self.address6(name)) for name in self.names}
        self._folder.write_users(self._wishes.shell)
        self._folder.write_names(addresses, self._wishes.own_name_is_loopback)
        self._folder.make_keys(addresses)
        plan = {"read_only": trees, "private_tmp": self._wishes.private_tmp,
                "shared_folder": self._wishes.shared_folder}
        for name in self.names:
            self._hosts[name] = Host(name, self._folder, plan)
            self._undo.callback(self._hosts[name].stop)
        self._boot(self.names)

    def _boot(self, names):
        for name in names:
            self[name].start()
        for name in names:
            self[name].wait_ready()
            self._connect(name)
        for name in names:
            self[name].sshd()

    def _cables(self, name):
        """(port, device, bridge) of each. What misleads comes first: a choice of the first device must be wrong."""
        wishes, number = self._wishes, self.names.index(name) + 1
        cables = [(wishes.down_nic, f"down{number}", "down0", None),
                  (wishes.link_local_nic, f"local{number}", "local0", "local"),
                  (True, f"port{number}", self.nic(name), "bridge"),
                  (wishes.data_network, f"data{number}", "data0", "data")]
        return [tuple(cable) for wished, *cable in cables if wished]

    def _connect(self, name):
        wishes, pid, nic = self._wishes, self[name].pid, self.nic(name)
        lines = ["link set lo up"]
        if wishes.docker0:
            lines += ["link add docker0 type bridge", "addr add 172.17.0.1/16 dev docker0", "link set docker0 up"]
        configure(pid, lines)
        self._switch.plug(self._cables(name), pid)
        lines = [f"addr add {self.address(name)}/24 dev {nic}", f"addr add {self.address6(name)}/64 dev {nic} nodad"]
        if wishes.data_network:
            lines.append(f"addr add 10.88.0.{self.names.index(name) + 1}/24 dev data0")
        for network, (_, device, bridge) in enumerate(self._cables(name)):
            # Its own: what others remember of a host that was killed holds for the one that is revived.
            lines.append(f"link set {device} address 02:00:00:00:{network:02x}:{self.names.index(name) + 1:02x}")
            if bridge:
                lines.append(f"link set {device} up")
        configure(pid, lines)

    def _ports(self, name):
        return [port for port, _, bridge in self._cables(name) if bridge]

    def cut(self, name):
        """Its cables are dead: frames vanish both ways, nobody is told (no RST, no FIN)."""
        self._switch.set_ports(self._ports(name), "down")

    def mend(self, name):
        self._switch.set_ports(self._ports(name), "up")

    def cut_between(self, one, other):
        """These two do not hear each other any more; all others hear both. Of the cluster network."""
        for here, there in ((one, other), (other, one)):
            lose_packets_to(self[here].pid, self.nic(here), [self.address(there), self.address6(there)])

    def mend_between(self, one, other):
        for here, there in ((one, other), (other, one)):
            find_again(self[here].pid, self.nic(here), [self.address(there), self.address6(there)])

    def limit(self, name, mbit, latency_ms=50):
        """Its cable carries `mbit` Mbit/s each way; a frame that would wait longer than `latency_ms` is dropped."""
        self._switch.limit(f"port{self.names.index(name) + 1}", self[name].pid, self.nic(name),
                           ("rate", f"{mbit}mbit", "latency", f"{latency_ms}ms"))

    def kill_host(self, name):
        """As when its power fails: its cables are dead, then all its processes and what it had in memory."""
        self._switch.unplug(self._cables(name))
        self[name].stop()

    def revive(self, name):
        """A killed host comes back, empty, with its name, addresses and keys."""
        self._boot([name])

    def processes(self, tag=None):
        """{name: Host.processes(tag)} of the hosts that live and have any."""
        found = {host.name: host.processes(tag) for host in self if host.living}
        return {name: processes for name, processes in found.items() if processes}

    def black_hole_dns(self):
        """Names that /etc/hosts does not know are asked of a server that never answers."""
        self._folder.write("resolv.conf", f"nameserver {NAME_SERVER}\n")
        for host in self:
            if host.living:
                lose_packets_to(host.pid, self.nic(host.name), [NAME_SERVER])
