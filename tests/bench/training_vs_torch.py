"""LeNet, batch 64 a worker, 2 workers x 1 thread: Lockstep beside torch's DistributedDataParallel (gloo).

    tests/bench/training_vs_torch.py --lockstep build/release/bin/lockstep --peer ../shared/peers/train.py \
        --torch /usr/bin/python3 --torch ~/torch/bin/python

Both sides train the same network on batches that lie in memory, each process pinned to one core. Every round runs
each side once; images a second come from the median step.
"""
import argparse
import os
import pathlib
import re
import socket
import subprocess

import interleaved

BATCH = 64
WORKERS = 2


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def torch_side(python, peer, steps):
    def run():
        port = str(free_port())
        processes = []
        for rank in range(WORKERS):
            environment = dict(
                os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT=port, WORLD_SIZE=str(WORKERS), RANK=str(rank),
                LOCAL_RANK=str(rank), OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo",
            )
            command = [python, str(peer), "lenet", "fp32", "1", str(steps)]
            processes.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True))
        output = processes[0].communicate()[0]
        if any(p.wait() != 0 for p in processes):
            raise SystemExit(f"{python} {peer} failed:\n{output}")
        return float(re.search(r"([0-9.]+) img/s", output).group(1))

    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lockstep", default="build/release/bin/lockstep")
    parser.add_argument("--peer", type=pathlib.Path, required=True, help="the torch program, train.py")
    parser.add_argument("--torch", action="append", required=True, help="a python that has torch; may be repeated")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=200)
    options = parser.parse_args()

    version = subprocess.run([options.lockstep, "--version"], capture_output=True, text=True, check=True)
    print(version.stdout.strip())
    sides = {}
    for python in options.torch:
        code = "import torch; print('torch', torch.__version__)"
        name = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
        sides[name] = torch_side(python, options.peer, options.steps)
    job = interleaved.synthetic({"kind": "lenet", "classes": 10}, BATCH * WORKERS, 20 * options.steps)
    sides["lockstep"] = lambda: (
        BATCH * WORKERS * 1e3 / interleaved.lockstep_job(options.lockstep, job, WORKERS)["step_ms"]["median"])

    found = interleaved.rounds(sides, options.rounds)
    for name, rates in found.items():
        lower, median, upper = interleaved.quartiles(rates)
        print(f"{name}: {median:,.0f} images/s (quartiles {lower:,.0f} to {upper:,.0f})")
    for name, rates in found.items():
        if name != "lockstep":
            print(interleaved.ratio_line(f"lockstep / {name}", found["lockstep"], rates))


if __name__ == "__main__":
    main()
