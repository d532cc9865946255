"""What it takes to start workers, beside mpirun, interleaved.

    tests/bench/launch_start.py --build build/release [--mpi-program a.out]

64 workers of /bin/true: runs of mpirun that do not end within 10 s are counted as hangs and left out of its median. Workers
that meet: ours join the store, set and get a value and pass a barrier; MPI's are a program of MPI_Init, MPI_Barrier and
MPI_Finalize, where one is given. Needs openmpi-bin.
"""
import argparse
import os
import pathlib
import subprocess
import tempfile
import time

import interleaved

LIMIT_S = 10


def seconds(command, environment):
    """None where it does not end."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        process = subprocess.Popen(command, env=environment, cwd=folder, start_new_session=True,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            errors = process.communicate(timeout=LIMIT_S)[1]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.communicate()
            return None
        if process.returncode != 0:
            raise SystemExit(f"{' '.join(command)} failed:\n{errors}")
        return time.monotonic() - began


def compare(title, ours, theirs, count):
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="1")
    found = interleaved.rounds({"lockstep": lambda: seconds(ours, environment),
                                "mpirun": lambda: seconds(theirs, environment)}, count)
    print(title)
    medians = {}
    for name, times in found.items():
        ended = [t for t in times if t is not None]
        lower, medians[name], upper = interleaved.quartiles(ended) if ended else (float("nan"),) * 3
        print(f"  {name}: median {medians[name]:.3f} s (quartiles {lower:.3f} to {upper:.3f}), "
              f"{len(times) - len(ended)} of {len(times)} runs did not end within {LIMIT_S} s")
    print(f"  ratio of the medians: {medians['lockstep'] / medians['mpirun']:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--mpi-program", type=pathlib.Path)
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    build = options.build.resolve()
    launch = [str(build / "bin/lockstep"), "launch", "--no-tune", "-n", str(options.workers), "--"]
    mpirun = ["mpirun", "--oversubscribe", "-n", str(options.workers)]
    compare(f"{options.workers} workers of /bin/true", [*launch, "/bin/true"], [*mpirun, "/bin/true"], options.rounds)
    if options.mpi_program:
        compare(f"{options.workers} workers that meet", [*launch, str(build / "tests/launcher/launcher_store_worker")],
                [*mpirun, str(options.mpi_program.resolve())], options.rounds)


if __name__ == "__main__":
    main()
