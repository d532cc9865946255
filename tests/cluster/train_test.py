"""A job file trained on several hosts: the same losses as one worker's, summed over the network alone."""
import os
import unittest

from hosts import BUILD, Hosts
from needs import main
from train_job import lenet_job, losses

LOCKSTEP = os.path.join(BUILD, "bin/lockstep")


class TrainTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.hosts = cls.enterClassContext(Hosts(count=3, docker0=True, shared_folder=True))
        cls.job = lenet_job(os.path.join(cls.hosts.shared, "job"), checkpoint=None)
        cls.alone = cls.train("-n", "1")

    @classmethod
    def train(cls, *flags):
        done = cls.hosts["h0"].run([LOCKSTEP, "launch", *flags, "job.json"], cwd=os.path.join(cls.hosts.shared, "job"),
                                   env={"OMP_NUM_THREADS": "1"}, timeout=120)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        return losses(os.path.join(cls.hosts.shared, "job/runs/lenet/latest"))

    def equal(self, found):
        self.assertEqual(len(found), 12)
        for ours, alone in zip(found, self.alone):
            self.assertAlmostEqual(ours, alone, delta=1e-4)

    def test_three_hosts_train_as_one_worker_does(self):
        self.equal(self.train("--hosts", "h0,h1,h2"))

    def test_uneven_hosts_train_as_one_worker_does(self):
        self.equal(self.train("--hosts", "h0:2,h1:1,h2:1"))

    def test_the_same_hosts_give_the_same_bits(self):
        self.assertEqual(self.train("--hosts", "h1:2,h2:1"), self.train("--hosts", "h1:2,h2:1"))


main()
