"""Open MPI over hosts of namespaces: mpirun on one, its daemons on the others by ssh."""
PROGRAMS = ("mpirun", "mpicc")
NETWORK = "10.77.0.0/24"
# What an MPI program needs here, started by mpirun or by srun: without the network's name it tries docker0 too.
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_plm_rsh_agent": "ssh",
    "OMPI_MCA_oob_tcp_if_include": NETWORK, "OMPI_MCA_btl_tcp_if_include": NETWORK,
    "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,vader,tcp",
}


def mpirun(hosts, ranks, program, *, launcher=None, options=(), env=None, timeout=60):
    """Runs `program` (a list) in that many ranks, shared evenly over the hosts in order, from the first host or
    `launcher`; as Host.run. A timeout is never left out: mpirun 4.1.4 hangs now and then on ranks that end at once.
    Ranks of different hosts talk by TCP. `env` reaches mpirun, and the ranks where `options` have `-x NAME`."""
    each = -(-ranks // len(hosts.names))
    here = hosts[launcher or hosts.names[0]]
    here.path("mpi.hosts").write_text("".join(f"{name} slots={each}\n" for name in hosts.names))
    return here.run(["mpirun", "--hostfile", here.work / "mpi.hosts", "-np", ranks, *options, *program],
                    env={**ENVIRONMENT, **(env or {})}, timeout=timeout)
