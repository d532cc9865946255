"""The losses of 100 steps in bf16 beside those in fp32: the same job, the same samples, one worker.

    tests/bench/bf16_losses.py gpt2 --text tinyshakespeare.txt
    tests/bench/bf16_losses.py resnet50

gpt2 trains GPT-2 124M on the bytes of a text; resnet50 on images that are made up. Prints the means of every ten steps,
the largest difference of one step, and the difference of the means of all; fails where the last is above 1 %.
"""
import argparse
import pathlib
import statistics
import sys

import interleaved
from workloads import WORKLOADS

STEPS = 100
LIMIT = 0.01

_WARM = {"schedule": "cosine", "warmup_steps": 20}
OPTIMIZERS = {
    "gpt2": {"kind": "adamw", "learning_rate": {**_WARM, "peak": 1e-4, "final": 1e-5}, "betas": [0.9, 0.95],
             "weight_decay": 0.1, "clip_norm": 1.0},
    "resnet50": {"kind": "sgd", "learning_rate": {**_WARM, "peak": 1e-3, "final": 1e-4}, "momentum": 0.9,
                 "weight_decay": 1e-4},
}


def losses(options, precision):
    workload = WORKLOADS[options.model]
    job = interleaved.synthetic(workload.model, workload.batch, STEPS, precision=precision,
                                optimizer=OPTIMIZERS[options.model])
    job["data"]["train"]["samples"] = 40 * workload.batch
    if options.model == "gpt2":
        job["data"]["train"] = {"format": "text", "path": str(options.text.resolve()), "vocabulary": "bytes"}
    job["log_every_steps"] = 1
    metrics = interleaved.lockstep_run(options.lockstep, job, 1, options.threads)[1]
    return [line["loss"] for line in metrics if "loss" in line]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=OPTIMIZERS)
    parser.add_argument("--text", type=pathlib.Path, help="what gpt2 trains on")
    parser.add_argument("--lockstep", default="build/release/bin/lockstep")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    if options.model == "gpt2" and options.text is None:
        parser.error("gpt2 needs --text FILE")

    exact, low = losses(options, "fp32"), losses(options, "bf16")
    for first in range(0, STEPS, 10):
        a, b = statistics.mean(exact[first:first + 10]), statistics.mean(low[first:first + 10])
        print(f"steps {first + 1:3} to {first + 10:3}: fp32 {a:.4f}, bf16 {b:.4f} ({100 * (b / a - 1):+.3f} %)")
    worst = max(abs(b / a - 1) for a, b in zip(exact, low))
    mean = statistics.mean(low) / statistics.mean(exact) - 1
    print(f"{options.model}: largest difference of a step {100 * worst:.3f} %, of the means of {STEPS} steps {100 * mean:+.3f} %")
    sys.exit(abs(mean) > LIMIT)


if __name__ == "__main__":
    main()
