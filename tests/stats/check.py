"""Holds the estimators against scipy and numpy on random inputs.

Usage: check.py ESTIMATORS [SEED]; the seed is printed, so that a failure can be repeated.
"""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys
import time

import numpy
from scipy import stats

ROUNDS = 300


def questions(random: numpy.random.Generator) -> list[tuple[dict, object, float]]:
    """Questions with the right answer and how far an answer may be off."""
    asked: list[tuple[dict, object, float]] = []
    for _ in range(ROUNDS):
        first, second = (int(n) for n in random.integers(0, 60, 2))
        if first + second:
            right = stats.binomtest(min(first, second), first + second, 0.5).pvalue
        else:
            right = 1.0
        asked.append(({"estimator": "mcnemar", "first": first, "second": second}, right, 1e-9))
        trials = int(random.integers(1, 500))
        successes = int(random.integers(0, trials + 1))
        level = float(random.choice([0.9, 0.95, 0.99]))
        for name, method in (("wilson", "wilson"), ("clopper-pearson", "exact")):
            limits = stats.binomtest(successes, trials).proportion_ci(level, method)
            asked.append(({"estimator": name, "successes": successes, "trials": trials, "level": level},
                          [limits.low, limits.high], 1e-8))
        values = random.normal(size=int(random.integers(1, 40))).tolist()
        share = float(random.random())
        asked.append(({"estimator": "percentile", "values": values, "share": share},
                      float(numpy.percentile(values, 100 * share)), 1e-9))
    for _ in range(40):
        deltas = (random.integers(-4, 5, int(random.integers(2, 10))) / 8).tolist()
        seen = abs(sum(deltas))
        sums = [abs(sum(s * d for s, d in zip(signs, deltas)))
                for signs in itertools.product((1, -1), repeat=len(deltas))]
        right = sum(total >= seen - 1e-12 for total in sums) / len(sums)
        asked.append(({"estimator": "sign-flip", "deltas": deltas}, right, 1e-12))
        # scipy's permutation test of the mean is the same test.
        if seen > 0 and len(deltas) <= 8:
            given = stats.permutation_test((numpy.array(deltas),), lambda x, axis: x.mean(axis=axis),
                                           permutation_type="samples", n_resamples=numpy.inf, vectorized=True).pvalue
            asked.append(({"estimator": "sign-flip", "deltas": deltas}, float(given), 1e-9))
    for _ in range(60):
        pairs = random.integers(0, 2, (int(random.integers(2, 80)), 2)).astype(bool)
        first, second = pairs[:, 0], pairs[:, 1]
        raw, chance = (first == second).mean(), first.mean() * second.mean() + (~first).mean() * (~second).mean()
        right = None if chance == 1 else float((raw - chance) / (1 - chance))
        asked.append(({"estimator": "kappa", "pairs": pairs.tolist()}, right, 1e-9))
        effect, power = float(random.uniform(0.01, 0.2)), float(random.uniform(0.5, 0.95))
        discordant = float(random.uniform(effect, 0.6))
        z = stats.norm.ppf(0.975) + stats.norm.ppf(power)
        asked.append(({"estimator": "plan", "effect": effect, "discordant": discordant, "power": power},
                      math.ceil(z * z * (discordant - effect * effect) / (effect * effect)), 1))
    return asked


def strata(random: numpy.random.Generator) -> list[list[float]]:
    """The size of the published experiment: 200 questions in five dialogues, some of them discordant."""
    return [random.choice([-1.0, 0.0, 1.0], size, p=[0.15, 0.75, 0.1]).tolist() for size in (66, 38, 25, 33, 38)]


def bootstrap(values: list[list[float]], samples: int, random: numpy.random.Generator) -> tuple[float, float, float]:
    arrays = [numpy.array(stratum) for stratum in values]
    began = time.perf_counter()
    means = numpy.zeros(samples)
    for stratum in arrays:
        drawn = random.integers(0, len(stratum), (samples, len(stratum)))
        means += stratum[drawn].mean(axis=1)
    low, high = numpy.percentile(means / len(arrays), [2.5, 97.5])
    return float(low), float(high), time.perf_counter() - began


def ask(program: str, asked: list[dict]) -> list[object]:
    text = "".join(json.dumps(question) + "\n" for question in asked)
    done = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def near(given: object, right: object, slack: float) -> bool:
    if right is None or given is None:
        return given is right
    if isinstance(right, list):
        return all(near(g, r, slack) for g, r in zip(given, right, strict=True))
    return abs(given - right) <= slack


def main() -> int:
    program = sys.argv[1]
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time())
    print(f"seed {seed}")
    random = numpy.random.default_rng(seed)
    asked = questions(random)
    given = ask(program, [question for question, _, _ in asked])
    wrong = [(q, r, g) for (q, r, slack), g in zip(asked, given, strict=True) if not near(g, r, slack)]
    for question, right, answer in wrong[:20]:
        print(f"WRONG {json.dumps(question)[:200]}: {answer}, scipy says {right}")
    counts: dict[str, int] = {}
    for question, _, _ in asked:
        counts[question["estimator"]] = counts.get(question["estimator"], 0) + 1
    print(", ".join(f"{name} {count}" for name, count in counts.items()), f"-> {len(wrong)} wrong")

    values, samples = strata(random), 10_000
    ours = ask(program, [{"estimator": "bootstrap", "strata": values, "samples": samples, "seed": n} for n in range(9)])
    theirs = [bootstrap(values, samples, random) for _ in range(9)]
    apart = [abs(numpy.mean([o[end] for o in ours]) - numpy.mean([t[end] for t in theirs])) for end in (0, 1)]
    print(f"bootstrap: limits differ from numpy's by {100 * apart[0]:.3f} and {100 * apart[1]:.3f} points (mean of 9)")
    if max(apart) > 0.002:
        print("WRONG bootstrap: more than 0.2 points apart")
        wrong.append(("bootstrap", None, None))
    ms = sorted(1e3 * o[2] for o in ours)[4]
    numpy_ms = sorted(1e3 * t[2] for t in theirs)[4]
    print(f"bootstrap of {samples} samples: {ms:.1f} ms, numpy {numpy_ms:.1f} ms, {numpy_ms / ms:.1f} times as fast")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
