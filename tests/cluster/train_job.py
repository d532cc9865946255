"""A small LeNet job on IDX files of its own, the same bytes wherever it is written: for training on several hosts."""
import json
import pathlib
import random
import struct

IMAGE = 28  # pixels a side
CLASSES = 10
SAMPLES = 960
STRIPE = 8  # rows; that of class k begins at row 2k
DIM = bytes(value >> 2 for value in range(256))
BRIGHT = bytes(192 + (value >> 2) for value in range(256))


def image(label, noise):
    first, last = IMAGE * 2 * label, IMAGE * (2 * label + STRIPE)
    return noise[:first].translate(DIM) + noise[first:last].translate(BRIGHT) + noise[last:].translate(DIM)


def write_data(folder):
    """`images` and `labels`: bright stripes, whose place is the class, in noise."""
    chance = random.Random(1)
    labels = bytes(chance.randrange(CLASSES) for _ in range(SAMPLES))
    images = b"".join(image(label, chance.randbytes(IMAGE * IMAGE)) for label in labels)
    (folder / "images").write_bytes(struct.pack(">4I", 0x0803, SAMPLES, IMAGE, IMAGE) + images)
    (folder / "labels").write_bytes(struct.pack(">2I", 0x0801, SAMPLES) + labels)


def lenet_job(folder, **changes):
    """Writes job and data into a folder, as it is seen from here; the job file's path. `changes` replace whole keys of
    the job; without them: AdamW, batch 96, 12 steps, a checkpoint every 4."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_data(folder)
    job = {"name": "lenet", "model": {"kind": "lenet"},
           "data": {"train": {"format": "idx", "images": "images", "labels": "labels"}, "batch": 96, "threads": 1},
           "optimizer": {"kind": "adamw", "learning_rate": {"peak": 0.001}},
           "steps": 12, "log_every_steps": 1, "checkpoint": {"every_steps": 4}}
    path = folder / "job.json"
    path.write_text(json.dumps({**job, **changes}, indent=2) + "\n")
    return path


def losses(run):
    """The losses of the logged steps of a run folder, as it is seen from here."""
    records = map(json.loads, (pathlib.Path(run) / "metrics.jsonl").read_text().splitlines())
    return [record["loss"] for record in records if "loss" in record]
