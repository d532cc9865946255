"""Real Open MPI, real Slurm and a real training job run over hosts made of namespaces."""
import unittest

import openmpi
import slurm
from host import wait_until
from hosts import BUILD, Hosts
from needs import main, missing
from train_job import lenet_job, losses

# Every rank adds its number to a sum and says it, after its host and its number.
SUM = r"""
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char** argv) {
  int rank = 0, sum = 0;
  char host[256];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  gethostname(host, sizeof host);
  printf("%s %d %d\n", host, rank, sum);
  return MPI_Finalize();
}
"""


def compiled(hosts):
    host, program = hosts["h0"], hosts.shared / "sum"
    host.check(["mpicc", "-x", "c", "-", "-o", program], input=SUM)
    return program


@unittest.skipIf(missing(*openmpi.PROGRAMS), missing(*openmpi.PROGRAMS))
class OpenMpiTest(unittest.TestCase):
    def test_an_mpi_program_runs_over_three_hosts(self):
        with Hosts(count=3, docker0=True) as hosts:
            done = openmpi.mpirun(hosts, 6, [compiled(hosts)])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(sorted(done.stdout.splitlines()), [f"h{rank // 2} {rank} 15" for rank in range(6)])


@unittest.skipIf(missing(*slurm.PROGRAMS), missing(*slurm.PROGRAMS))
class SlurmTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.hosts = cls.enterClassContext(Hosts(count=3))
        cls.slurm = cls.enterClassContext(slurm.Slurm(cls.hosts, kill_wait=2))

    def test_srun_runs_on_three_nodes(self):
        done = self.slurm.run(["srun", "-N3", "hostname"])
        self.assertEqual(sorted(done.stdout.split()), ["h0", "h1", "h2"], done.stderr)

    def test_a_batch_script_has_its_allocation_and_its_exit_code(self):
        job = self.slurm.sbatch("#!/bin/sh\necho $SLURM_JOB_NODELIST $SLURM_TASKS_PER_NODE\nexit 3\n", "-N3", "-n6")
        ended = self.slurm.wait(job)
        self.assertEqual((ended["JobState"], ended["ExitCode"]), ("FAILED", "3:0"))
        self.assertRegex(self.slurm.output(job), r"h\[0-2\] \S+\n")

    @unittest.skipIf(missing(*openmpi.PROGRAMS), missing(*openmpi.PROGRAMS))
    def test_an_mpi_program_is_started_by_srun(self):
        done = self.slurm.run(["srun", "--mpi=pmix", "-N3", "-n3", compiled(self.hosts)], env=openmpi.ENVIRONMENT)
        self.assertEqual(sorted(done.stdout.splitlines()), [f"h{rank} {rank} 3" for rank in range(3)], done.stderr)

    def test_a_cancelled_job_that_ignores_term_is_killed(self):
        stubborn = "sh -c 'trap \"\" TERM; echo deaf; sleep 1000; sleep 1000'"
        job = self.slurm.sbatch(f"#!/bin/sh\ntrap '' TERM\nsrun {stubborn}\n", "-N3", "--ntasks-per-node=1")
        wait_until(lambda: self.slurm.output(job).count("deaf") == 3, "all three nodes ignore TERM")
        self.slurm.run(["scancel", str(job)])
        self.assertEqual(self.slurm.wait(job)["JobState"], "CANCELLED")
        wait_until(lambda: "sleep 1000" not in str(self.hosts.processes()), "its processes are killed")


@unittest.skipIf(missing(*slurm.PROGRAMS), missing(*slurm.PROGRAMS))
class SlurmWithAffinityTest(unittest.TestCase):
    def test_tasks_are_bound_to_cpus(self):
        with Hosts(count=3) as hosts, slurm.Slurm(hosts, task_plugin="task/affinity", cpus=1) as cluster:
            done = cluster.run(["srun", "-N3", "--cpu-bind=verbose,cores", "hostname"])
            self.assertEqual(sorted(done.stdout.split()), ["h0", "h1", "h2"], done.stderr)
            self.assertEqual(done.stderr.count("cpu-bind"), 3, done.stderr)


class LenetJobTest(unittest.TestCase):
    def test_the_job_trains_and_learns_the_same_on_every_host(self):
        with Hosts(count=2) as hosts:
            found = {}
            for host in hosts:
                lenet_job(host.path("job"))
                host.check([BUILD / "bin/lockstep", "launch", "-n", "2", "--runs", "runs", "job/job.json"],
                           env={"OMP_NUM_THREADS": "1"})
                found[host.name] = losses(host.path("runs/lenet/latest"))
            self.assertEqual(len(found["h0"]), 12)
            self.assertLess(found["h0"][-1], 0.95 * found["h0"][0])
            self.assertEqual(found["h1"], found["h0"])


main()
