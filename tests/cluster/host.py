"""One host: processes in it, its files, its sshd. hosts.py makes them."""
import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

from control_group import make_group, remove_group

INIT = pathlib.Path(__file__).with_name("host_init.py")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
STOPS = (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
LISTENS = "0A"  # in /proc/net/tcp

Found = collections.namedtuple("Found", "pid command")


def wait_until(happened, what, seconds=10, every=0.002):
    """Looks again and again. Raises where it does not happen in time."""
    deadline = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds} s: {what}")
        time.sleep(every)


class HostProcess(subprocess.Popen):
    """A process of a host. Signals reach itself, not the nsenter that waits for it, whose pid is `pid`."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        children = pathlib.Path(f"/proc/{self.pid}/task/{self.pid}/children")
        self.inner = None  # its pid, as it is outside the host
        while self.inner is None and self.poll() is None:
            time.sleep(0.0005)
            self.inner = next(map(int, children.read_text().split()), None)

    def __exit__(self, kind, *rest):
        if kind:  # else a failed test would wait for what it has not ended yet
            self.kill()
        super().__exit__(kind, *rest)

    def ended(self):
        """Whether it has; where it is stopped, it goes on."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGCONT)
        return self.returncode is not None

    def send_signal(self, sig):
        if self.poll() is not None or self.inner is None:
            return
        try:
            os.kill(self.inner, sig)
        except ProcessLookupError:
            return
        # nsenter stops itself when what it waits for stops, and would not see it go on or end.
        if sig not in STOPS:
            os.kill(self.pid, signal.SIGCONT)


class Host:
    """REQUIRES: started; not stopped. Paths are the host's own unless said otherwise."""

    def __init__(self, name, folder, plan):
        self.name = name
        self.home, self.work = folder.home, folder.work
        self._folder = folder
        self._plan = dict(plan, name=name, root=str(folder.root))
        self._process = None
        self._group = None
        self._started = []
        self.pid = None  # of its first process, as it is outside

    def start(self):
        """Its first process; `wait_ready` before anything else. Both may be called for several hosts in turn."""
        self._group = make_group(f"{self._folder.root.name}.{self.name}")
        plan = dict(self._plan, group=self._group and str(self._group))
        self._process = subprocess.Popen(
            ["unshare", "--net", "--uts", "--ipc", "--pid", "--mount", "--fork", sys.executable, "-I", "-S", INIT,
             json.dumps(plan)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)

    def wait_ready(self):
        self.pid = int(self._process.stdout.readline() or 0)
        if self._process.stdout.readline() != "ready\n":
            raise RuntimeError(f"host {self.name} could not be made; its complaint is above")

    def stop(self):
        """Kills all of it at once; returns when nothing of it is left."""
        if self._process:
            self._process.stdin.close()
            # The kernel waits until what ran in the host is reaped, which an nsenter that has stopped would never do. Nor
            # may it be killed: its child would be left to the machine's first process.
            for process in self._started:
                wait_until(process.ended, f"{process.args} has ended with its host")
            self._process.wait()
            self._process.stdout.close()
            self._process = None
        if self._group:
            remove_group(self._group)
            self._group = None

    @property
    def living(self):
        return self._process is not None

    def path(self, path):
        """Where a path of the host, relative to its work folder, is seen from outside."""
        return pathlib.Path(f"/proc/{self.pid}/root/{self.work / path}")

    def popen(self, args, *, env=None, cwd=None, **streams):
        """Starts a program in `cwd` (the work folder), with a login's environment and `env`. Standard input is
        /dev/null, output and errors are pipes of text, unless `streams` says otherwise."""
        environment = {"PATH": PATH, "HOME": str(self.home), "USER": "root", "LOGNAME": "root", "LANG": "C.UTF-8"}
        pipes = dict(stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        enter = ["sh", "-c", 'echo 0 >"$0" && exec "$@"', self._group / "cgroup.procs"] if self._group else []
        self._started = [process for process in self._started if process.returncode is None]
        self._started.append(HostProcess(
            [*enter, "nsenter", *(["--cgroup"] if self._group else []), f"--target={self.pid}", "--net", "--uts", "--ipc", "--pid", "--mount",
             f"--wdns={cwd or self.work}", "--", *map(str, args)],
            env={**environment, **(env or {})}, start_new_session=True, **{**pipes, **streams}))
        return self._started[-1]

    def run(self, args, *, env=None, cwd=None, timeout=30, input=None):
        """Runs to the end; gives returncode (negative: a signal's), stdout and stderr. Raises TimeoutExpired, which tells
        what was written until then, after killing the process (not its descendants)."""
        stdin = subprocess.DEVNULL if input is None else subprocess.PIPE
        with self.popen(args, env=env, cwd=cwd, stdin=stdin) as process:
            try:
                out, err = process.communicate(input, timeout)
            except subprocess.TimeoutExpired as late:
                words = b"".join(part for part in (late.output, late.stderr) if part).decode(errors="replace")
                running = "\n".join(found.command for found in self.processes())
                late.add_note(f"on {self.name} it had written:\n{words}\nand there ran:\n{running}")
                process.kill()
                raise
        return subprocess.CompletedProcess(args, process.returncode, out, err)

    def check(self, args, **kwargs):
        """What `run` writes to standard output. Raises where the program fails, with what it says."""
        done = self.run(args, **kwargs)
        if done.returncode != 0:
            raise RuntimeError(f"{args} on {self.name} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def processes(self, tag=None):
        """The living processes that carry a variable LOCKSTEP_... with the value `tag`; without one, all but those that
        make the host: its first process and sshd's. Pids are those outside the host."""
        space = os.stat(f"/proc/{self.pid}/ns/pid").st_ino
        found = []
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                if int(entry) == self.pid or os.stat(f"/proc/{entry}/ns/pid").st_ino != space:
                    continue
                variables = pathlib.Path(f"/proc/{entry}/environ").read_bytes().split(b"\0")
                command = pathlib.Path(f"/proc/{entry}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
            except OSError:  # it has ended meanwhile
                continue
            carries = any(variable.startswith(b"LOCKSTEP_") and variable.partition(b"=")[2] == str(tag).encode()
                          for variable in variables)
            if command and (carries if tag else not command.startswith("sshd: ")):
                found.append(Found(int(entry), command))
        return found

    def sshd(self, *additions):
        """(Re)starts its sshd with further lines of configuration, which win over those that are here; sessions that
        are open stay."""
        self.run(["sh", "-c", "kill $(cat /run/sshd.pid) && while [ -e /run/sshd.pid ]; do sleep 0.01; done"])
        site = self._folder.site
        self._folder.write(f"sshd_config.{self.name}", "\n".join([
            *additions, f"HostKey {site}/keys/{self.name}", f"AuthorizedKeysFile {site}/ssh/id_ed25519.pub",
            "StrictModes no", "UsePAM no", "PermitRootLogin yes", "PasswordAuthentication no",
            "KbdInteractiveAuthentication no", "PidFile /run/sshd.pid"]) + "\n")
        self.check(["/usr/sbin/sshd", "-f", site / f"sshd_config.{self.name}", "-E", "/run/sshd.log"])
        wait_until(lambda: self.listens(22), f"sshd of {self.name} listens on port 22")

    def change_host_key(self):
        """Its sshd shows another key from now on than the one that the others know."""
        key = self.work / "another_host_key"
        self.check(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key])
        site_key = self._folder.site / "keys" / self.name
        site_key.write_text(self.path(key).read_text())
        self.sshd()

    def listens(self, port):
        """Whether something listens on a TCP port, of IPv4 or any address."""
        lines = [line.split() for kind in ("tcp", "tcp6")
                 for line in pathlib.Path(f"/proc/{self.pid}/net/{kind}").read_text().splitlines()[1:]]
        return any(fields[3] == LISTENS and int(fields[1].rpartition(":")[2], 16) == port for fields in lines)
