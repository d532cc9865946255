"""Makes lenet.json, resnet8.json and resnet50.json: loss and gradients of one step by torch, in double precision.

Weights, images and labels come from the counter hash of engine/initial_values.cc, computed here by numpy, so that the
C++ test (tests/runtime/golden_test.cc) has the same numbers with no file to read them from. Needs torch and torchvision;
run by hand:

    python3 tests/engine/golden/make_golden.py
"""
import json
import math
import pathlib

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torchvision

MASK = np.uint64(0xFFFFFFFFFFFFFFFF)


def mix(counter):
    with np.errstate(over="ignore"):
        x = (counter + np.uint64(0x9E3779B97F4A7C15)) & MASK
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


def uniform(seed, name, shape, bound):
    """Float32 values of [-bound, bound), as engine::initialise gives them, in double."""
    key = 14695981039346656037
    for byte in name.encode():
        key = ((key ^ byte) * 1099511628211) & 0xFFFFFFFFFFFFFFFF
    key = np.uint64(int(mix(np.uint64(seed))) ^ key)
    count = int(np.prod(shape))
    with np.errstate(over="ignore"):
        bits = mix(key + np.arange(count, dtype=np.uint64) * np.uint64(2))
    unit = ((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    values = (bound * (2 * unit - 1)).astype(np.float32)
    return torch.from_numpy(values.astype(np.float64).reshape(shape))


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 6, 5, padding=2)
        self.c2 = nn.Conv2d(6, 16, 5)
        self.f1 = nn.Linear(400, 120)
        self.f2 = nn.Linear(120, 84)
        self.f3 = nn.Linear(84, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        x = F.relu(self.f1(x.flatten(1)))
        return self.f3(F.relu(self.f2(x)))


class Block(nn.Module):
    def __init__(self, inputs, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, channels, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.downsample = None
        if stride != 1 or inputs != channels:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, channels, 1, stride, bias=False), nn.BatchNorm2d(channels)
            )

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + (self.downsample(x) if self.downsample else x))


class ResNet8(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.layer1 = nn.Sequential(Block(16, 16, 1))
        self.layer2 = nn.Sequential(Block(16, 32, 2))
        self.layer3 = nn.Sequential(Block(32, 64, 2))
        self.fc = nn.Linear(64, 10)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.fc(x.mean((2, 3)))


def fill(model, seed, calm):
    """First values. Calm ones keep a deep network's gradients away from the kinks of its relus, which no two ways of
    rounding pass alike: norms shift channels to either side in turn, and residual branches count less."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1:
                parameter.copy_(uniform(seed, name, parameter.shape, 1.5 / math.sqrt(parameter[0].numel())))
                continue
            values = uniform(seed, name, parameter.shape, 0.1).numpy().astype(np.float32)
            if "bn" in name or "downsample.1" in name:
                if name.endswith("weight"):
                    values += np.float32(0.25 if calm and "bn3" in name else 1.0)
                elif calm:
                    shift = np.float32(0.5 if "bn3" in name or "downsample" in name else 1.5)
                    values[0::2] += shift
                    values[1::2] -= shift
            parameter.copy_(torch.from_numpy(values.astype(np.float64)))


def gradients_of(model):
    """Of each parameter: the norm, and the values at 16 places."""
    gradients = {}
    for name, parameter in model.named_parameters():
        flat = parameter.grad.flatten()
        places = [i * (flat.numel() - 1) // 15 for i in range(16)]
        gradients[name] = {
            "norm": flat.norm().item(),
            "places": places,
            "values": [flat[i].item() for i in places],
        }
    return gradients


def golden(model, seed, batch, shape, calm):
    model = model.double()
    fill(model, seed, calm)
    nearest = []
    for module in model.modules():
        if isinstance(module, nn.ReLU):
            module.register_forward_pre_hook(lambda _, inputs: nearest.append(inputs[0].abs().min().item()))
    height, width, channels = shape
    images = uniform(seed, "images", (batch, height, width, channels), 1.0).permute(0, 3, 1, 2)
    labels = torch.arange(batch) % 10
    loss = F.cross_entropy(model(images), labels)
    loss.backward()
    if nearest:
        print("nearest to a kink:", min(nearest))
    return {
        "torch": torch.__version__, "seed": seed, "batch": batch, "loss": loss.item(),
        "gradients": gradients_of(model),
    }


if __name__ == "__main__":
    folder = pathlib.Path(__file__).parent
    for name, model, seed, batch, shape, calm in (
        ("lenet", LeNet(), 7, 12, (28, 28, 1), False),
        ("resnet8", ResNet8(), 7, 12, (32, 32, 3), False),
        ("resnet50", torchvision.models.resnet50(num_classes=10), 9, 4, (64, 64, 3), True),
    ):
        text = json.dumps(golden(model, seed, batch, shape, calm), indent=1)
        (folder / f"{name}.json").write_text(text + "\n")
    state = torchvision.models.resnet50().state_dict()
    shapes = {name: list(value.shape) for name, value in state.items() if not name.endswith("num_batches_tracked")}
    (folder / "resnet50_state.json").write_text(json.dumps(shapes) + "\n")
