"""What communication costs: the step less the same step without it (parallel.synchronise: false), interleaved.

    tests/bench/communication_cost.py --lockstep build/release/bin/lockstep

LeNet and ResNet-8 on two workers, one thread each. Exposed: compute waited for communication; stolen: compute
was lent to it. Both are parts of the step as the engine measured them, not of the difference.
"""
import argparse

import interleaved

MODELS = {
    "lenet, batch 64 a worker": ({"kind": "lenet"}, 128, 3000),
    "resnet-8, batch 64 a worker": ({"kind": "resnet", "depth": 8}, 128, 100),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lockstep", default="build/release/bin/lockstep")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    for title, (model, batch, steps) in MODELS.items():
        def side(synchronise):
            job = interleaved.synthetic(model, batch, steps, parallel={"synchronise": synchronise})
            return lambda: interleaved.lockstep_job(options.lockstep, job, 2)["step_ms"]

        found = interleaved.rounds({"with": side(True), "without": side(False)}, options.rounds)
        costs = [a["median"] - b["median"] for a, b in zip(found["with"], found["without"])]
        lower, median, upper = interleaved.quartiles(costs)
        step = interleaved.quartiles([a["median"] for a in found["with"]])[1]
        part = lambda key: interleaved.quartiles([a[key] for a in found["with"]])[1]
        print(f"{title}: step {step:.3f} ms, communication costs {median:.3f} ms (quartiles {lower:.3f} to {upper:.3f}), "
              f"{100 * median / step:.1f} % of it; exposed {part('exposed_comm'):.3f} ms (of it waiting for a late peer "
              f"{part('peer_wait'):.3f}), stolen {part('stolen_comm'):.3f} ms")


if __name__ == "__main__":
    main()
