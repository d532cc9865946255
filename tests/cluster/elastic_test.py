"""Jobs that go on with the hosts that are left (`lockstep launch --nnodes MIN:MAX`, `--max-restarts`)."""
import os
import signal
import time
import unittest

from host import wait_until
from hosts import BUILD, Hosts
from needs import main

# Says who it is in a file of the attempt, then waits for a file `go`; an attempt that is to fail does.
WORKER = """
echo "$(hostname) of $WORLD_SIZE" > "$1/attempt$TORCHELASTIC_RESTART_COUNT.rank$RANK.part"
mv "$1/attempt$TORCHELASTIC_RESTART_COUNT.rank$RANK.part" "$1/attempt$TORCHELASTIC_RESTART_COUNT.rank$RANK"
while ! [ -e "$1/go" ]; do
  if [ -e "$1/fail$TORCHELASTIC_RESTART_COUNT" ]; then exit 9; fi
  sleep 0.05
done
"""


class ElasticTest(unittest.TestCase):
    def setUp(self):
        self.hosts = self.enterContext(Hosts(count=4))

    def launch(self, *flags):
        command = [os.path.join(BUILD, "bin/lockstep"), "launch", "--no-tune", "--hosts", "h1,h2,h3", *flags, "--",
                   "/bin/sh", "-c", WORKER, "worker", self.hosts.shared]
        return self.enterContext(self.hosts["h0"].popen(command))

    def attempt(self, number, hosts, seconds=10):
        """Waits until the attempt runs on these hosts; all ranks know how many there are."""
        def said():
            texts = []
            for rank in range(len(hosts)):
                path = os.path.join(self.hosts.shared, f"attempt{number}.rank{rank}")
                if not os.path.exists(path):
                    return None
                with open(path, encoding="ascii") as file:
                    texts.append(file.read().strip())
            return texts
        wait_until(said, f"attempt {number} runs on {hosts}", seconds=seconds)
        self.assertEqual(said(), [f"{host} of {len(hosts)}" for host in hosts])

    def tell(self, name):
        with open(os.path.join(self.hosts.shared, name), "w", encoding="ascii"):
            pass

    def test_the_job_goes_on_within_five_seconds_of_the_loss_of_an_agent(self):
        job = self.launch("--nnodes", "2:3")
        self.attempt(0, ["h1", "h2", "h3"])
        began = time.monotonic()
        for process in self.hosts["h2"].processes():
            if "lockstep" in process.command:
                os.kill(process.pid, signal.SIGKILL)
        self.attempt(1, ["h1", "h3"])
        self.assertLess(time.monotonic() - began, 5)
        self.tell("go")
        self.assertEqual(job.wait(timeout=20), 0)

    def test_the_host_of_the_store_may_be_the_one_that_dies(self):
        job = self.launch("--nnodes", "2:3")
        self.attempt(0, ["h1", "h2", "h3"])
        self.hosts.kill_host("h1")
        self.attempt(1, ["h2", "h3"], seconds=15)
        self.tell("go")
        self.assertEqual(job.wait(timeout=20), 0)

    def test_a_silent_host_is_left_behind_and_its_old_workers_end(self):
        job = self.launch("--nnodes", "2:3")
        self.attempt(0, ["h1", "h2", "h3"])
        self.hosts.cut("h3")
        self.attempt(1, ["h1", "h2"], seconds=20)
        wait_until(lambda: not [process for process in self.hosts["h3"].processes() if "worker" in process.command],
                   "no worker of the old attempt is left on the host that was cut off", seconds=20)
        self.tell("go")
        self.assertEqual(job.wait(timeout=20), 0)

    def test_a_failure_uses_the_budget_and_the_last_ones_code_is_returned(self):
        job = self.launch("--max-restarts", "1")
        self.attempt(0, ["h1", "h2", "h3"])
        self.tell("fail0")
        self.attempt(1, ["h1", "h2", "h3"])
        self.tell("fail1")
        self.assertEqual(job.wait(timeout=20), 9)

    def test_fewer_hosts_than_needed_end_it_with_the_name_of_the_one_that_is_lost(self):
        job = self.launch("--max-restarts", "3", "--connect-timeout", "2")
        self.attempt(0, ["h1", "h2", "h3"])
        self.hosts.kill_host("h2")
        self.assertNotEqual(job.wait(timeout=30), 0)
        self.assertIn("host h2", job.stderr.read())


main()
