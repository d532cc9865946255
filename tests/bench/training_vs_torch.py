"""Training on 2 workers x 1 thread: Lockstep beside torch's DistributedDataParallel (gloo), run in turn.

    tests/bench/training_vs_torch.py gpt2 --precision bf16 --peer ../shared/peers/train.py \
        --torch /usr/bin/python3 --torch ~/torch/bin/python --compile ~/torch/bin/python

Both sides train the same network on data that is made up, each process pinned to one core. Every round runs each side
once; rates come from the median step, peaks from the kernel's account of rank 0. --compile runs the same program under
torch.compile as a side of its own.
"""
import argparse
import json
import os
import pathlib
import platform
import re
import socket
import subprocess

import interleaved
from workloads import WORKLOADS

WORKERS = 2


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Torch:
    """One run: items a second, milliseconds of a step and of communication, peak MB."""

    def __init__(self, python, options, compiled):
        self.python, self.options, self.compiled = python, options, compiled

    def __call__(self):
        port = str(free_port())
        steps = self.options.peer_steps or WORKLOADS[self.options.model].peer_steps
        processes = []
        for rank in range(WORKERS):
            environment = dict(
                os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT=port, WORLD_SIZE=str(WORKERS), RANK=str(rank),
                LOCAL_RANK=str(rank), OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo",
            )
            if self.compiled:
                environment["COMPILE"] = "1"
            command = [self.python, str(self.options.peer), self.options.model, self.options.precision, "1", str(steps)]
            processes.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True))
        output = processes[0].communicate()[0]
        if any(p.wait() != 0 for p in processes):
            raise SystemExit(f"{self.python} {self.options.peer} failed:\n{output}")
        step = float(re.search(r"step med ([0-9.]+) ms", output).group(1))
        communication = float(re.search(r"communication cost (-?[0-9.]+) ms", output).group(1))
        return {
            "rate": float(re.search(r"([0-9.]+) (?:img|tok)/s", output).group(1)), "step_ms": step,
            "communication": communication / step,
            "peak_MB": float(re.search(r"peak resident ([0-9.]+) MB", output).group(1)),
        }


class Lockstep:
    """One run with and one without reduction, for what communication costs."""

    def __init__(self, options):
        self.options = options
        self.workload = WORKLOADS[options.model]

    def run(self, synchronise):
        w = self.workload
        job = interleaved.synthetic(
            w.model, w.batch * WORKERS, self.options.steps or w.steps, optimizer=w.optimizer,
            precision=self.options.precision, parallel={"synchronise": synchronise})
        return interleaved.lockstep_job(self.options.lockstep, job, WORKERS)

    def __call__(self):
        summary = self.run(True)
        step = summary["step_ms"]["median"]
        figures = {
            "rate": self.workload.batch * WORKERS * self.workload.items * 1e3 / step, "step_ms": step,
            "peak_MB": summary["memory"]["peak_resident"] / 1e6,
            "share_of_ceiling": summary["throughput"]["share_of_ceiling"],
        }
        if self.options.communication:
            without = self.run(False)["step_ms"]["median"]
            figures["communication"] = (step - without) / step
        return figures


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=WORKLOADS)
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--lockstep", default="build/release/bin/lockstep")
    parser.add_argument("--peer", type=pathlib.Path, required=True, help="the torch program, train.py")
    parser.add_argument("--torch", action="append", default=[], help="a python that has torch; may be repeated")
    parser.add_argument("--compile", action="append", default=[], help="the same, under torch.compile")
    parser.add_argument("--communication", action="store_true", help="measure what communication costs on both sides")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, help="of one run of ours")
    parser.add_argument("--peer-steps", type=int, help="argument STEPS of the torch program")
    parser.add_argument("--json", type=pathlib.Path, help="where all figures are kept")
    return parser.parse_args()


def torch_name(python):
    code = "import torch; print('torch', torch.__version__)"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def main():
    options = parse()
    version = subprocess.run([options.lockstep, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    print(version, f"on {platform.machine()}, {os.cpu_count()} CPUs:", options.model, options.precision)
    sides = {torch_name(python): Torch(python, options, False) for python in options.torch}
    sides |= {torch_name(python) + " compiled": Torch(python, options, True) for python in options.compile}
    sides["lockstep"] = Lockstep(options)
    found = interleaved.rounds(sides, options.rounds)
    if options.json:
        record = {"version": version, "model": options.model, "precision": options.precision, "rounds": found}
        options.json.write_text(json.dumps(record, indent=1) + "\n")

    unit = WORKLOADS[options.model].unit
    for name, figures in found.items():
        values = {key: interleaved.quartiles([f[key] for f in figures]) for key in figures[0]}
        lower, median, upper = values["rate"]
        line = f"{name}: {median:,.1f} {unit} (quartiles {lower:,.1f} to {upper:,.1f}), peak {values['peak_MB'][1]:,.0f} MB"
        if "communication" in values:
            low, middle, high = values["communication"]
            line += f", communication {100 * middle:.1f} % of the step ({100 * low:.1f} to {100 * high:.1f})"
        if "share_of_ceiling" in values:
            line += f", {100 * values['share_of_ceiling'][1]:.0f} % of the matrix ceiling"
        print(line)
    rates = {name: [f["rate"] for f in figures] for name, figures in found.items()}
    for name in found:
        if name != "lockstep":
            print(interleaved.ratio_line(f"lockstep / {name}", rates["lockstep"], rates[name]))


if __name__ == "__main__":
    main()
