"""Makes signed_rank_vectors.json: estimates and intervals by another road than signed_rank.cc. Needs scipy.

Without ties an end of the interval is found as the place where scipy's exact p-value of the shifted sample crosses
1 - confidence; the estimate is numpy's median of the pairwise averages. With ties, where that p-value is not exact,
the order statistic is taken from a distribution built by convolution of fractions.
"""

from fractions import Fraction
import json
from pathlib import Path
import sys

import numpy
from scipy import stats


def walsh(x):
    i, j = numpy.triu_indices(len(x))
    return numpy.sort((x[i] + x[j]) / 2)


def by_p_value(x, confidence):
    """The Walsh averages between which no shift is rejected at 1 - confidence."""
    averages = walsh(x)
    gaps = numpy.diff(averages)
    tiny = gaps[gaps > 0].min() / 4

    def rejected(shift):
        return stats.wilcoxon(x - shift, method="exact").pvalue <= 1 - confidence

    if not rejected(averages[0] - tiny):
        return None
    low = next(a for a in averages if not rejected(a + tiny))
    high = next(a for a in averages[::-1] if not rejected(a - tiny))
    return [low, high]


def by_convolution(x, confidence):
    distribution = [Fraction(1)]
    for rank in range(1, len(x) + 1):
        longer = [Fraction(0)] * (len(distribution) + rank)
        for total, p in enumerate(distribution):
            longer[total] += p / 2
            longer[total + rank] += p / 2
        distribution = longer
    tail, k = Fraction(0), 0
    while tail + distribution[k] <= (1 - Fraction(confidence)) / 2:
        tail += distribution[k]
        k += 1
    if k == 0:
        return None
    averages = walsh(x)
    return [averages[k - 1], averages[len(averages) - k]]


def sets(random):
    for n in (5, 8, 16, 23, 28, 40):
        yield f"normal, n {n}", random.normal(0.01, 0.02, n), False
    yield "heavy tails, n 28", random.standard_t(2, 28) * 0.01, False
    yield "ties, n 16", numpy.round(random.normal(0, 2, 16)) / 64, True
    yield "ties and zeros, n 12", numpy.array([0, 0, 1, 1, 1, -1, 2, 2, 3, -2, 0, 5]) / 128, True
    yield "one value", numpy.array([0.25]), True


def main():
    random = numpy.random.default_rng(20261130)
    vectors = []
    for name, x, tied in sets(random):
        interval = by_convolution if tied else by_p_value
        vectors.append({
            "name": name, "values": x.tolist(), "estimate": float(numpy.median(walsh(x))),
            "intervals": [{"confidence": c, "ends": interval(x, c)} for c in (0.5, 0.9, 1 - 0.08 / 3, 1 - 0.05 / 24)],
        })
    Path(sys.argv[1]).write_text(json.dumps(vectors, indent=1) + "\n")


if __name__ == "__main__":
    main()
