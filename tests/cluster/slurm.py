"""A real Slurm over hosts of namespaces: munged and slurmctld on the first, a slurmd on each.

    with Hosts(count=3) as hosts, Slurm(hosts) as slurm:
        done = slurm.run(["srun", "-N3", "hostname"])

Cost: 4 s until it takes jobs. Two such clusters run side by side, as their hosts do. Its logs are in `folder`.
"""
import os
import pathlib
import re
import subprocess
import tempfile

from host import wait_until

PROGRAMS = ("/usr/sbin/munged", "/usr/sbin/slurmctld", "/usr/sbin/slurmd", "srun", "sbatch", "scontrol")
ENDED = ("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT")

CONFIGURATION = """\
ClusterName=tests
SlurmctldHost={head}({head_address})
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin={task_plugin}
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
MessageTimeout=10
KillWait={kill_wait}
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class Slurm:
    def __init__(self, hosts, *, head=None, nodes=None, task_plugin="task/none", cpus=4, kill_wait=5):
        """`head`, the first host by default, has the controller; it may be a node too. `nodes`: all hosts by default.
        `cpus` are what each claims to have; with `task_plugin="task/affinity"` it must not be more than there are."""
        self._hosts = hosts
        self._head = hosts[head or hosts.names[0]]
        self._nodes = list(nodes or hosts.names)
        self._settings = {"task_plugin": task_plugin, "kill_wait": kill_wait}
        self._cpus = cpus

    def __enter__(self):
        self._made = tempfile.TemporaryDirectory(prefix="slurm.", dir=self._hosts.shared)
        self.folder = pathlib.Path(self._made.name)
        self.environment = {"SLURM_CONF": str(self.folder / "slurm.conf")}
        self._daemons = []
        try:
            self._configure()
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for daemon in self._daemons:
            daemon.kill()
            daemon.wait()
        for host in self._hosts:
            for process in host.processes() if host.living else []:
                if process.command.startswith("slurmstepd"):
                    os.kill(process.pid, 9)
        self._made.cleanup()

    def _configure(self):
        key = self.folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(1024))
        (self.folder / "state").mkdir()
        nodes = []
        for name in self._nodes:
            (self.folder / "spool" / name).mkdir(parents=True)
            nodes.append(f"NodeName={name} NodeAddr={self._hosts.address(name)} NodeHostname={name} CPUs={self._cpus} "
                         "RealMemory=1000")
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(
            folder=self.folder, head=self._head.name, head_address=self._hosts.address(self._head.name),
            nodes="\n".join(nodes), **self._settings))
        # /run is each host's own: the nodes' PMIx servers do not meet in it.
        (self.folder / "mpi.conf").write_text("PMIxCliTmpDirBase=/run/pmix\n")

    def _start(self):
        folder = self.folder
        self._daemon(self._head, ["/usr/sbin/munged", "--foreground", "--force", f"--socket={folder}/munge.socket",
                                  f"--key-file={folder}/munge.key", "--pid-file=/run/munged.pid",
                                  f"--log-file={folder}/munged.log", f"--seed-file={folder}/munge.seed"])
        wait_until((folder / "munge.socket").exists, "munged listens")
        self._daemon(self._head, ["/usr/sbin/slurmctld", "-D", "-i"])
        for name in self._nodes:
            self._hosts[name].check(["mkdir", "-p", "/run/pmix"])
            self._daemon(self._hosts[name], ["/usr/sbin/slurmd", "-D", "-N", name])
        try:
            wait_until(self._all_idle, "all nodes are idle", 20, every=0.05)
        except TimeoutError as late:
            late.add_note(self._words())
            raise

    def _daemon(self, host, args):
        self._daemons.append(host.popen(args, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def _all_idle(self):
        for daemon in self._daemons:
            if daemon.poll() is not None:
                raise RuntimeError(f"{daemon.args} ended with {daemon.returncode}:\n{self._words()}")
        states = self.run(["sinfo", "--noheader", "--Node", "--format=%T"]).stdout.split()
        return states == ["idle"] * len(self._nodes)

    def _words(self):
        return "\n".join(f"{log.name}: {log.read_text(errors='replace')[-2000:]}" for log in self.folder.glob("*.log"))

    def run(self, args, **kwargs):
        """A client's command (srun, scancel, ...) on the head; as Host.run."""
        kwargs["env"] = {**self.environment, **kwargs.get("env", {})}
        return self._head.run(args, **kwargs)

    def popen(self, args, **kwargs):
        kwargs["env"] = {**self.environment, **kwargs.get("env", {})}
        return self._head.popen(args, **kwargs)

    def sbatch(self, script, *options):
        """Submits a script, given as text; its job's number. What it writes comes from `output`."""
        done = self.run(["sbatch", "--parsable", f"--output={self.folder}/job.%j.out", *options], input=script)
        if done.returncode != 0:
            raise RuntimeError(f"sbatch ended with {done.returncode}: {done.stderr}")
        return int(done.stdout.split(";")[0])

    def job(self, number):
        """What `scontrol show job` tells of it: {"JobState": "RUNNING", "ExitCode": "0:0", ...}."""
        told = self.run(["scontrol", "--oneliner", "show", "job", str(number)]).stdout
        return dict(re.findall(r"(\S+?)=(\S*)", told))

    def wait(self, number, timeout=30):
        """Until the job has ended; `job` of it then."""
        wait_until(lambda: self.job(number)["JobState"] in ENDED, f"job {number} has ended", timeout, every=0.05)
        return self.job(number)

    def output(self, number):
        """What it has written so far; nothing where it has not begun."""
        file = self.folder / f"job.{number}.out"
        return file.read_text() if file.exists() else ""
