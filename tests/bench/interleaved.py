"""Runs the sides of a comparison in turn and says how they differ, with the spread.

One round runs every side once; machines are noisy, so only figures of the same round are compared.
"""
import json
import os
import pathlib
import statistics
import subprocess
import tempfile


def quartiles(values):
    """(lower quartile, median, upper quartile)"""
    if len(values) < 2:
        return values[0], values[0], values[0]
    lower, median, upper = statistics.quantiles(values, n=4, method="inclusive")
    return lower, median, upper


def rounds(sides, count):
    """sides: {name: function that runs it and returns its figures}. Returns {name: [figures a round]}."""
    found = {name: [] for name in sides}
    for number in range(count):
        for name, run in sides.items():
            found[name].append(run())
        print(f"round {number + 1} of {count} done", flush=True)
    return found


def ratio_line(what, ours, theirs):
    ratios = [a / b for a, b in zip(ours, theirs)]
    lower, median, upper = quartiles(ratios)
    return f"{what}: {median:.2f} x (quartiles {lower:.2f} to {upper:.2f}, {len(ratios)} rounds)"


def lockstep_job(lockstep, job, workers, threads=1):
    """Trains `job` (a dict) on `workers` workers with one launch and returns its summary.json."""
    return lockstep_run(lockstep, job, workers, threads)[0]


def lockstep_run(lockstep, job, workers, threads=1):
    """The same; returns its summary.json and the lines of its metrics.jsonl."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "job.json"
        path.write_text(json.dumps(job))
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads))
        command = [lockstep, "launch", "-n", str(workers), "--runs", folder, str(path)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
        name = job.get("name", "job")
        run = pathlib.Path(folder) / name / "latest"
        metrics = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        return json.loads((run / "summary.json").read_text()), metrics


def synthetic(model, batch, steps, **other):
    """A job on synthetic data that neither evaluates nor saves."""
    return {
        "name": "bench",
        "model": model,
        "data": {"train": {"format": "synthetic", "samples": 20 * batch}, "batch": batch, "threads": 1},
        "optimizer": {"kind": "sgd", "learning_rate": {"peak": 0.01}, "momentum": 0.9},
        "steps": steps,
        "log_every_steps": steps,
        "metrics": {"tensorboard": False},
        **other,
    }
