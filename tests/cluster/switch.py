"""The network between hosts: bridges in a namespace of their own, a cable from them to each host.

Nothing of it is in the machine's own network, so that runs side by side do not meet, and it is gone when its process is.
"""
import subprocess

LOST = "02:00:00:00:00:fe"  # a hardware address that nobody has


def run_in_network(pid, command, text=None):
    """Runs an `ip` or `tc` command in the network namespace of a process; `text` is its standard input."""
    done = subprocess.run(["nsenter", f"--net=/proc/{pid}/ns/net", *command], input=text, text=True,
                          capture_output=True, timeout=30)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr.strip()}\n{text or ''}")
    return done.stdout


def configure(pid, lines):
    if lines:
        run_in_network(pid, ["ip", "-batch", "-"], "\n".join(lines) + "\n")


class Switch:
    """REQUIRES: entered as a context; then every method may be called. Cost of a call: 3 ms."""

    def __init__(self, bridges=("bridge",)):
        self._bridges = bridges

    def __enter__(self):
        # It lives until its standard input ends: not longer than its creator.
        self._process = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec cat"], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, start_new_session=True)
        if self._process.stdout.readline() != b"\n":
            raise RuntimeError("no network namespace could be made")
        configure(self._process.pid, [line for bridge in self._bridges
                                      for line in (f"link add {bridge} type bridge", f"link set {bridge} up")])
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def plug(self, cables, pid):
        """Leads each of (port, device, bridge) from a port here to a new device of the host; a bridge of None leaves both
        ends down."""
        lines = []
        for port, device, bridge in cables:
            lines.append(f"link add {port} type veth peer name {device} netns {pid}")
            if bridge:
                lines += [f"link set {port} master {bridge}", f"link set {port} up"]
        configure(self._process.pid, lines)

    def unplug(self, cables):
        """The cables are gone, at both ends. Waits for the kernel, unlike the end of the host's namespace."""
        configure(self._process.pid, [f"link del {port}" for port, _, _ in cables])

    def set_ports(self, ports, state):
        """`up` or `down`: down, frames vanish in both directions, and nobody is told."""
        configure(self._process.pid, [f"link set {port} {state}" for port in ports])

    def limit(self, port, pid, device, speed):
        """Both directions of a cable; `speed` is tbf's rate and latency."""
        for process, name in ((self._process.pid, port), (pid, device)):
            run_in_network(process, ["tc", "qdisc", "replace", "dev", name, "root", "tbf", "burst", "128kb", *speed])


def lose_packets_to(pid, device, addresses):
    """What the host sends to these addresses goes to a hardware address that nobody has: it vanishes, unanswered."""
    configure(pid, [f"neigh replace {address} lladdr {LOST} dev {device} nud permanent" for address in addresses])


def find_again(pid, device, addresses):
    configure(pid, [f"neigh del {address} dev {device}" for address in addresses])
