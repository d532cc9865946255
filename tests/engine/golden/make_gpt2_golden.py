"""Makes gpt2.json (loss and gradients of one step of GPT-2 124M in double precision), gpt2_small.safetensors (a small
GPT-2 with random weights as Hugging Face writes it) and gpt2_small.json (its logits).

Weights come from the counter hash of engine/initial_values.cc, as in make_golden.py. Needs torch and transformers; run
by hand:

    python3 tests/engine/golden/make_gpt2_golden.py
"""
import json
import pathlib
import tempfile

import torch
import transformers
from transformers import GPT2Config, GPT2LMHeadModel

from make_golden import gradients_of, uniform

FOLDER = pathlib.Path(__file__).parent
SEED, BATCH, CONTEXT = 7, 2, 32


def fill(model):
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            bound = 0.06 if parameter.dim() > 1 else 0.1
            values = uniform(SEED, name, parameter.shape, bound).float()
            if ".ln_" in name and name.endswith("weight"):
                values += 1.0
            parameter.copy_(values)


def tokens_of(vocabulary, batch, context):
    stream = torch.arange(batch * (context + 1), dtype=torch.int64)
    return ((stream * 7919 + 13) % vocabulary).reshape(batch, context + 1)


def golden_step():
    model = GPT2LMHeadModel(GPT2Config(attn_implementation="eager", attn_pdrop=0, embd_pdrop=0, resid_pdrop=0)).double()
    model.train()
    fill(model)
    tokens = tokens_of(50257, BATCH, CONTEXT)
    logits = model(tokens[:, :-1]).logits
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    loss.backward()
    return {
        "torch": torch.__version__, "transformers": transformers.__version__, "seed": SEED, "batch": BATCH,
        "context": CONTEXT, "loss": loss.item(), "gradients": gradients_of(model),
    }


def small():
    config = GPT2Config(n_layer=2, n_head=3, n_embd=24, n_positions=16, vocab_size=101, attn_implementation="eager")
    model = GPT2LMHeadModel(config).eval()
    fill(model)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder, safe_serialization=True)
        (FOLDER / "gpt2_small.safetensors").write_bytes((pathlib.Path(folder) / "model.safetensors").read_bytes())
    tokens = tokens_of(101, 3, 16)[:, :-1]
    with torch.no_grad():
        logits = model(tokens).logits
    return {
        "transformers": transformers.__version__, "layers": 2, "heads": 3, "width": 24, "context": 16,
        "vocabulary": 101, "batch": 3, "logits": [round(v, 7) for v in logits.flatten().tolist()],
    }


if __name__ == "__main__":
    (FOLDER / "gpt2.json").write_text(json.dumps(golden_step(), indent=1) + "\n")
    (FOLDER / "gpt2_small.json").write_text(json.dumps(small()) + "\n")
