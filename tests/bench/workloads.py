"""The networks that are compared, as jobs of ours and as names of the torch program."""

_SGD = {"kind": "sgd", "learning_rate": {"peak": 0.01}, "momentum": 0.9}
_ADAMW = {"kind": "adamw", "learning_rate": {"peak": 1e-4}, "betas": [0.9, 0.999], "weight_decay": 0.01, "decay_on": "all"}


def _gpt(layers, heads, width, vocabulary):
    return {"kind": "gpt2", "layers": layers, "heads": heads, "width": width, "context": 256, "vocabulary": vocabulary}


class Workload:
    """A batch is a worker's; items: images, or tokens of a sample's window. Steps: of one timed run of either side."""

    def __init__(self, model, batch, optimizer, items, unit, steps, peer_steps):
        self.model, self.batch, self.optimizer = model, batch, optimizer
        self.items, self.unit, self.steps, self.peer_steps = items, unit, steps, peer_steps


WORKLOADS = {
    "lenet": Workload({"kind": "lenet", "classes": 10}, 64, _SGD, 1, "images/s", 4000, 200),
    "resnet50": Workload({"kind": "resnet", "stem": "imagenet", "depth": 50, "width": 64, "classes": 1000}, 8, _SGD, 1,
                         "images/s", 8, 3),
    "gpt2": Workload(_gpt(12, 12, 768, 50257), 2, _ADAMW, 256, "tokens/s", 8, 3),
    "gptsmall": Workload(_gpt(6, 6, 384, 256), 8, _ADAMW, 256, "tokens/s", 16, 5),
}
