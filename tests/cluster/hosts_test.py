"""Hosts made of namespaces: what they share, what not, and that nothing is left of them."""
import os
import pathlib
import signal
import subprocess
import sys
import unittest

from control_group import hierarchy
from host import wait_until
from hosts import BUILD, SOURCE, Hosts
from needs import main
from site_folder import birth

BIND = """
import socket, sys
server = socket.socket(socket.AF_UNIX)
server.bind("\\0lockstep")
server.listen()
print(flush=True)
sys.stdin.read()
"""
CONNECT = "import socket; socket.socket(socket.AF_UNIX).connect('\\0lockstep')"
# Makes a host with a process and says where; then waits for what the test does to it, or fails.
MAKES_HOSTS = """
import signal, sys
from hosts import Hosts
def make(hosts):
    sleeper = hosts["h1"].popen(["setsid", "sleep", "1000"])
    print(hosts.work.parent, hosts["h0"].pid, hosts["h1"].pid, sleeper.inner, flush=True)
if sys.argv[1] == "never closes":
    make(Hosts(count=2).__enter__())
    sys.exit()
with Hosts(count=2) as hosts:
    make(hosts)
    if sys.argv[1] == "fails":
        raise RuntimeError("as told")
    signal.pause()
"""


class HostsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.hosts = cls.enterClassContext(Hosts(count=2, private_tmp=True))
        cls.h0, cls.h1 = cls.hosts

    def test_hosts_do_not_share_processes(self):
        every_command = ["sh", "-c", "cat /proc/[0-9]*/cmdline"]
        with self.h0.popen(["sleep", "1077"]) as sleeper:
            self.assertIn("sleep\0001077", self.h0.check(every_command))
            self.assertNotIn("sleep\0001077", self.h1.check(every_command))
            sleeper.kill()

    def test_hosts_do_not_share_memory_files_or_temporary_files(self):
        for place in ("/dev/shm", "/tmp", "/run", str(self.h0.home), str(self.h0.work)):
            with self.subTest(place):
                self.h0.check(["touch", f"{place}/of_h0"])
                self.assertTrue(self.h0.path(f"{place}/of_h0").exists())
                self.assertFalse(self.h1.path(f"{place}/of_h0").exists())
                self.assertFalse(os.path.exists(f"{place}/of_h0"))

    def test_hosts_do_not_share_abstract_sockets(self):
        with self.h0.popen(["python3", "-c", BIND], stdin=subprocess.PIPE) as server:
            self.assertEqual(server.stdout.readline(), "\n")
            self.assertEqual(self.h0.run(["python3", "-c", CONNECT]).returncode, 0)
            self.assertIn("ConnectionRefusedError", self.h1.run(["python3", "-c", CONNECT]).stderr)
            server.stdin.close()

    def test_hosts_do_not_share_system_v_memory(self):
        self.h0.check(["ipcmk", "--shmem", "4096"])
        self.assertIn("4096", self.h0.check(["ipcs", "--shmems"]))
        self.assertNotIn("4096", self.h1.check(["ipcs", "--shmems"]))

    @unittest.skipUnless(hierarchy(), "no control groups (v2) that may be written")
    def test_hosts_do_not_share_control_groups(self):
        for host in (self.h0, self.h1):
            host.check(["mkdir", hierarchy() / "job"])
            self.assertIn("0::/\n", host.check(["cat", "/proc/self/cgroup"]))
        end = f"echo 1 >{hierarchy()}/job/cgroup.kill"
        join = f"echo $$ >{hierarchy()}/job/cgroup.procs; echo; exec sleep 1000"
        with self.h0.popen(["sh", "-c", join]) as ended, self.h1.popen(["sh", "-c", join]) as spared:
            self.assertEqual(ended.stdout.readline() + spared.stdout.readline(), "\n\n")
            self.h0.check(["sh", "-c", end])
            self.assertEqual(ended.wait(10), -signal.SIGKILL)
            self.assertIsNone(spared.poll())
            spared.kill()

    def test_what_is_tested_is_there_and_read_only(self):
        for tree in (SOURCE, BUILD):
            self.assertEqual(os.listdir(self.h0.path(tree)), os.listdir(tree))
            self.assertIn("Read-only file system", self.h0.run(["touch", tree / "new"]).stderr)

    def test_shared_folder_is_one_for_all_hosts(self):
        with Hosts(count=2, shared_folder=True) as hosts:
            hosts["h0"].check(["sh", "-c", "hostname > file"])
            self.assertEqual(hosts["h1"].check(["cat", "file"]), "h0\n")

    def test_orphans_are_reaped(self):
        self.h0.check(["sh", "-c", "setsid sh -c 'sleep 0.05' & exit 0"])
        states = ["sh", "-c", "cat /proc/[0-9]*/stat"]
        wait_until(lambda: "(sleep)" not in self.h0.run(states).stdout, "the orphan has ended and is reaped")
        self.assertNotIn(") Z ", self.h0.run(states).stdout)

    def test_processes_are_found_by_a_tag_in_their_environment(self):
        with self.h0.popen(["sh", "-c", "setsid sleep 1000 & wait"], env={"LOCKSTEP_RUN_ID": "a"}) as tagged, \
                self.h0.popen(["sleep", "1000"], env={"LOCKSTEP_RUN_ID": "ab", "OTHER": "a"}) as other:
            wait_until(lambda: any(process.command.startswith("sleep") for process in self.h0.processes("a")),
                       "the tagged process's child has begun")
            wait_until(lambda: "sleep 1000" in str(self.h0.processes("ab")), "the other process has begun")
            found = self.hosts.processes("a")
            self.assertEqual(list(found), ["h0"])
            self.assertEqual(len(found["h0"]), 2, found)
            self.assertIn(tagged.inner, [process.pid for process in found["h0"]])
            self.assertEqual({process.pid for process in self.h0.processes("ab")}, {other.inner})
            for process in (*found["h0"], *self.h0.processes("ab")):
                os.kill(process.pid, signal.SIGKILL)

    def test_signals_reach_the_process_itself(self):
        listens = "trap 'echo heard; exit 7' USR1; echo; while :; do sleep 0.01; done"
        with self.h0.popen(["sh", "-c", listens]) as process:
            process.stdout.readline()
            process.send_signal(signal.SIGSTOP)
            process.send_signal(signal.SIGCONT)
            process.send_signal(signal.SIGUSR1)
            self.assertEqual(process.stdout.read(), "heard\n")
        self.assertEqual(process.returncode, 7)
        with self.h0.popen(["sleep", "1000"]) as process:
            process.kill()
        self.assertEqual(process.returncode, -signal.SIGKILL)

    def test_a_program_that_does_not_end_in_time_is_killed_and_what_it_wrote_is_told(self):
        with self.assertRaises(subprocess.TimeoutExpired) as late:
            self.h0.run(["sh", "-c", "echo began; exec sleep 1088"], timeout=0.3)
        self.assertIn("began", late.exception.__notes__[0])
        self.assertNotIn("1088", " ".join(found.command for found in self.h0.processes()))

    def test_ssh_leads_to_every_host_by_name_and_address_and_knows_its_key(self):
        for name in ("h1", "h1-v6", self.hosts.address("h1"), self.hosts.address6("h1")):
            self.assertEqual(self.h0.check(["ssh", name, "hostname"]), "h1\n")

    def test_ssh_refuses_a_host_with_another_key(self):
        with Hosts(count=2) as hosts:
            hosts["h1"].change_host_key()
            refused = hosts["h0"].run(["ssh", "h1", "hostname"])
            self.assertEqual(refused.returncode, 255)
            self.assertIn("Host key verification failed", refused.stderr)

    def test_sshd_takes_further_lines(self):
        self.h1.sshd("Banner /etc/hosts")
        self.assertIn("127.0.0.1 localhost", self.h0.run(["ssh", "-o", "LogLevel=INFO", "h1", "true"]).stderr)
        self.h1.sshd()
        self.assertNotIn("127.0.0.1", self.h0.run(["ssh", "-o", "LogLevel=INFO", "h1", "true"]).stderr)


class NothingIsLeft(unittest.TestCase):
    def setUp(self):
        self.devices = os.listdir("/sys/class/net")
        self.groups = hierarchy() or pathlib.Path("/nonexistent")

    def make_hosts(self, how):
        process = self.enterContext(subprocess.Popen(
            [sys.executable, "-B", "-c", MAKES_HOSTS, how], cwd=pathlib.Path(__file__).parent, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True))
        folder, *pids = process.stdout.readline().split()
        self.assertEqual(len(pids), 3, process.stderr.read() if not pids else "")
        return process, pathlib.Path(folder), pids

    def expect_nothing(self, folder, pids):
        self.assertEqual([pid for pid in pids if birth(pid)], [])
        self.assertEqual(os.listdir("/sys/class/net"), self.devices)
        self.assertFalse(folder.exists())
        self.assertEqual(list(self.groups.glob(f"{folder.name}.*")), [])

    def test_after_an_exception(self):
        process, folder, pids = self.make_hosts("fails")
        process.wait()
        self.assertIn("as told", process.stderr.read())
        self.expect_nothing(folder, pids)

    def test_of_a_host_with_a_stopped_process(self):
        with Hosts(count=1) as hosts:
            sleeper = hosts["h0"].popen(["sleep", "1000"], stdout=None, stderr=None)
            sleeper.send_signal(signal.SIGSTOP)
            folder, pids = hosts.work.parent, [hosts["h0"].pid, sleeper.inner]
        self.assertEqual(sleeper.returncode, -signal.SIGKILL)
        self.expect_nothing(folder, map(str, pids))

    def test_after_a_program_that_never_closed_them(self):
        process, folder, pids = self.make_hosts("never closes")
        process.wait()
        self.expect_nothing(folder, pids)

    def test_after_term_and_interrupt(self):
        for sig in (signal.SIGTERM, signal.SIGINT):
            process, folder, pids = self.make_hosts("waits")
            process.send_signal(sig)
            process.wait()
            self.expect_nothing(folder, pids)

    def test_after_kill_but_a_folder_which_the_next_run_removes(self):
        process, folder, pids = self.make_hosts("waits")
        process.kill()
        process.wait()
        wait_until(lambda: not any(birth(pid) for pid in pids), "the hosts' processes died with their creator")
        self.assertTrue(folder.exists())
        with Hosts(count=1):
            self.expect_nothing(folder, pids)


main()
