"""Guards the losses of ratios and clips: each against its printed objective, by torch's autograd."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from entropy_theory import advantages, update_rules
from entropy_theory.verification.rule_batches import random_batch
from tests.rules_by_hand import tokens


def far_batch(seed):
    """Draw samples whose ratios reach from 1/20 to 20, of a sampler that is no policy of ours."""
    batch = random_batch(seed, 4, 4, 6, second_batch=False)
    rng = np.random.default_rng(seed)
    change = rng.normal(size=batch.mask.shape) * np.where(rng.random((16, 1)) < 0.5, 0.1, 1.0)
    old = -0.02 - batch.old_log_prob ** 2
    return batch.replace(
        old_log_prob=old, log_prob=np.minimum(old + change, -1e-3),
        sampling_log_prob=np.minimum(old + 0.3 * rng.normal(size=batch.mask.shape), -1e-3),
        old_entropy=batch.entropy * np.exp(0.2 * rng.normal(size=batch.mask.shape)))


def printed(batch, log_prob):
    """Return what printed objectives are written in, as torch tensors: [sequences, positions]."""
    def tensor(column):
        return torch.tensor(np.where(batch.mask, column, 0.0))

    p = SimpleNamespace(
        mask=torch.tensor(batch.mask), log_pi=log_prob, old=tensor(batch.old_log_prob),
        mu=tensor(batch.sampling_log_prob), h=tensor(batch.entropy), h_old=tensor(batch.old_entropy),
        a=tensor(advantages.group_normalized(batch, batch.mask) * np.ones(batch.mask.shape)))
    p.length = p.mask.sum(-1, keepdim=True)
    p.total = lambda x: (x * p.mask).sum(-1, keepdim=True)
    p.mean = lambda x: p.total(x) / p.length
    p.d, p.d_mu, p.rho = log_prob - p.old, log_prob - p.mu, (p.old - p.mu).exp()
    p.r, p.r_mu, p.sg, p.up = p.d.exp(), p.d_mu.exp(), torch.Tensor.detach, p.a > 0
    return p


def ppo(p, low=0.2, high=0.2, dual=None):
    surrogate = torch.minimum(p.r * p.a, p.r.clamp(1 - low, 1 + high) * p.a)
    if dual is None:
        return surrogate
    return torch.where(p.up, surrogate, torch.maximum(surrogate, dual * p.a))


def gppo(p, low, high):
    weight = torch.where(p.up & (p.r > 1.28), high * 1.28 / p.sg(p.r) * p.r, p.r)
    return torch.where(~p.up & (p.r < 0.8), low * 0.8 / p.sg(p.r) * p.r, weight) * p.a


def sapo(p, r):
    tau = 1.05 - 0.05 * p.up.double()
    return 4 / tau * torch.sigmoid(tau * (r - 1)) * p.a


def dppo(p, old, r, kind="tv", low=0.2, high=0.2, limit=20.0, two_sided=False):
    pi, q = p.sg(p.log_pi.exp()), old.exp()
    far = abs(pi - q)
    if kind == "kl":
        far = q * (q / pi).log() + (1 - q) * ((1 - q) / (1 - pi)).log()
    bad = ((pi > q) & (far > high) & (p.up | two_sided)) | ((pi < q) & (far > low) & (~p.up | two_sided))
    return torch.where(bad, 0.0, p.sg(r.clamp(max=limit)) * p.a * p.log_pi)


def vespo(p, d):
    w = p.sg(p.total(d).exp())
    k, decay = torch.where(p.up, 2.0, 3.0), torch.where(p.up, 3.0, 2.0)
    return w ** k * (decay * (1 - w)).exp() * p.a * p.log_pi


def gmpo(p):
    clipped = torch.where(p.up, p.d.clamp(max=0.4), p.d.clamp(min=-0.4))
    return p.mean(clipped).exp() * p.a


def aspo(p):
    positive = torch.where(p.r > 1.2, 0.0, p.sg((1 / p.r).clamp(max=3)))
    negative = torch.where(p.r < 0.8, 0.0, p.sg(p.r.clamp(max=3)))
    return torch.where(p.up, positive, negative) * p.a * p.log_pi


def dcpo(p):
    q = p.old.exp()
    low = 0.5 + 0.5 * (1 - 4 * 0.16 / q).clamp(min=0).sqrt()
    high = (0.5 + 0.5 * (1 + 4 * 0.2 / q).sqrt()).clamp(max=10)
    return ppo(p, 1 - low, high - 1, dual=10.0)


def bapo(p, target):
    low, high = 0.6, 1.2

    def share():
        gain = p.total(torch.where(p.up, p.a * p.r.clamp(max=high), 0.0)).sum()
        return gain / p.total(torch.where(p.up, 0.0, -p.a * p.r.clamp(min=low))).sum()

    while share() < target and low < 0.9 - 1e-9:
        low += 0.05
    while share() < target and high < 3.0 - 1e-9:
        high += 0.05
    return ppo(p, 1 - low, high - 1, dual=3.0)


def fipo(p):
    counted = torch.where(p.r > 4.0, 0.0, p.sg(p.d)) * p.mask
    future = torch.zeros_like(counted)
    for t in range(counted.shape[1]):
        for k in range(t, counted.shape[1]):
            future[:, t] += 0.5 ** ((k - t) / 2) * counted[:, k]
    weight = future.exp().clamp(0.9, 1.2)
    return torch.where(~p.up & (p.r > 1.5), weight.clamp(0.8, 1.0), weight) * ppo(p)


def m2po(p, change, objective=None):
    squares, kept = (p.sg(change) ** 2)[p.mask].sort().values, 0
    while kept < len(squares) and squares[: kept + 1].mean() <= 0.04:
        kept += 1
    cutoff = squares[kept - 1] * (1 + 1e-9)
    return (p.sg(change) ** 2 <= cutoff) * (ppo(p) if objective is None else objective)


def corrected(weight):
    return lambda p: p.sg(weight(p)) * ppo(p)


def inside(x, low, high):
    return x * ((x >= low) & (x <= high))


def rejected(x, low=0.5, high=2.0):
    return ((x >= low) & (x <= high)) * 1.0


# Each is the objective of a token, whose mean over tokens, or over tokens and then sequences, is printed.
PRINTED = {
    "grpo-dual": ("grpo", {"dual_clip": 3.0}, lambda p: ppo(p, dual=3.0)),
    "gspo-token": ("gspo", {"clip_low": 0.1, "clip_high": 0.1}, lambda p: ppo(SimpleNamespace(
        **{**vars(p), "r": p.sg(p.mean(p.d).exp()) * (p.log_pi - p.sg(p.log_pi)).exp()}), 0.1, 0.1)),
    "cispo": ("cispo", {}, lambda p: p.sg(p.r.clamp(0, 5)) * p.a * p.log_pi),
    "cispo-both": ("cispo", {"clip_low": 0.3, "clip_high": 0.4, "anchor": "sampling"},
                   lambda p: p.sg(p.r_mu.clamp(0.7, 1.4)) * p.a * p.log_pi),
    "sapo": ("sapo", {}, lambda p: sapo(p, p.r)),
    "sapo-sampler": ("sapo", {"anchor": "sampling"}, lambda p: sapo(p, p.r_mu)),
    "dppo-tv": ("dppo", {"truncation": 4.0}, lambda p: dppo(p, p.old, p.r, limit=4.0)),
    "dppo-kl": ("dppo", {"kind": "kl", "delta_low": 0.05, "delta_high": 0.1},
                lambda p: dppo(p, p.old, p.r, "kl", 0.05, 0.1)),
    "ipo": ("dppo", {"two_sided": True, "anchor": "sampling", "delta_low": 0.1, "delta_high": 0.1},
            lambda p: dppo(p, p.mu, p.r_mu, low=0.1, high=0.1, two_sided=True)),
    "prime-rl": ("dro", {"beta": 0.2, "anchor": "sampling",
                         "base": update_rules.get("dppo", anchor="sampling", truncation=np.inf)},
                 lambda p: dppo(p, p.mu, p.r_mu, limit=np.inf) - 0.1 * p.d_mu ** 2),
    "vespo": ("vespo", {}, lambda p: vespo(p, p.d)),
    "vespo-sampler": ("vespo", {"anchor": "sampling"}, lambda p: vespo(p, p.d_mu)),
    "gmpo": ("gmpo", {}, gmpo),
    "ce-gppo": ("ce-gppo", {"beta_low": 0.5, "beta_high": 0.9}, lambda p: gppo(p, 0.5, 0.9)),
    "gppo": ("ce-gppo", {"beta_low": 1.0, "beta_high": 1.0}, lambda p: gppo(p, 1.0, 1.0)),
    "bapo-low": ("bapo", {"target": 0.8}, lambda p: bapo(p, 0.8)),
    "bapo-high": ("bapo", {"target": 1.2}, lambda p: bapo(p, 1.2)),
    "bapo-never": ("bapo", {"target": 50.0}, lambda p: bapo(p, 50.0)),
    "topr": ("topr", {}, lambda p: torch.where(
        p.up, 1.0, p.sg(p.total(p.d).exp().clamp(0, 1))) * p.a * p.log_pi),
    "topr-token": ("topr", {"level": "token"}, lambda p: torch.where(
        p.up, 1.0, p.sg(p.r.clamp(0, 1))) * p.a * p.log_pi),
    "aspo": ("aspo", {}, aspo),
    "dcpo": ("dcpo", {}, dcpo),
    "dro": ("dro", {"beta": 0.3}, lambda p: p.a * p.log_pi - 0.15 * p.d ** 2),
    "erc": ("erc", {"beta_low": 0.1, "beta_high": 0.2},
            lambda p: torch.where((p.h / p.h_old > 0.9) & (p.h / p.h_old < 1.2), ppo(p), 0.0)),
    "fipo": ("fipo", {"half_life": 2.0, "clip_low": 0.1, "safe_ratio": 1.5, "limit": 4.0}, fipo),
    "m2po": ("m2po", {}, lambda p: m2po(p, p.old - p.mu)),
    "m2po-current": ("m2po", {"above": "current", "base": update_rules.get(
        "grpo", clip_low=np.inf, clip_high=np.inf)}, lambda p: m2po(p, p.d_mu, ppo(p, np.inf, np.inf))),
    "tis": ("sampler-correction", {"high": 1.2}, corrected(lambda p: p.rho.clamp(max=1.2))),
    "tis-current": ("sampler-correction", {"low": 0.8, "above": "current"},
                    corrected(lambda p: p.r_mu.clamp(0.8, 2))),
    "icepop": ("sampler-correction", {"kind": "token-mask", "low": 0.8, "high": 1.2},
               corrected(lambda p: inside(p.rho, 0.8, 1.2))),
    "sequence-tis": ("sampler-correction", {"kind": "sequence-truncate", "high": 1.5},
                     corrected(lambda p: p.total(p.old - p.mu).exp().clamp(max=1.5))),
    "mis": ("sampler-correction", {"kind": "sequence-mask", "high": 1.5},
            corrected(lambda p: inside(p.total(p.old - p.mu).exp(), 0, 1.5))),
    "token-rejection": ("sampler-correction", {"kind": "none", "reject": "token", "reject_low": 0.7},
                        corrected(lambda p: rejected(p.rho, 0.7))),
    "sequence-rejection": (
        "sampler-correction", {"kind": "token-truncate", "reject": "sequence"},
        corrected(lambda p: p.rho.clamp(max=2) * rejected(p.total(p.old - p.mu).exp()))),
    "seq-mask-tis": ("sampler-correction",
                     {"kind": "token", "reject": "geometric", "reject_low": 0.9, "reject_high": 1.1},
                     corrected(lambda p: p.rho * rejected(p.mean(p.old - p.mu).exp(), 0.9, 1.1))),
    "opsm": ("sampler-correction", {"kind": "none", "off_policy_threshold": 0.1},
             corrected(lambda p: (p.up | (p.mean(-p.d_mu) <= 0.1)) * 1.0)),
}


@pytest.mark.parametrize("name", PRINTED)
def test_a_loss_is_the_gradient_of_its_printed_objective(name):
    rule_name, options, objective = PRINTED[name]
    rule = update_rules.get(rule_name, **options)
    inner = rule
    while hasattr(inner, "base"):
        inner = inner.base
    differs = False
    for seed in range(4):
        batch = far_batch(seed)
        log_prob = torch.tensor(np.where(batch.mask, batch.log_prob, 0.0), requires_grad=True)
        p = printed(batch, log_prob)
        per_token = objective(p) * p.mask
        if inner.normalization == "token-mean":
            total = per_token.sum() / p.mask.sum()
        else:
            total = p.mean(per_token).mean()
        (expected,) = torch.autograd.grad(total, log_prob)
        found = rule.scores(batch) * batch.weight
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-13)
        plain = update_rules.get("reinforce", estimator="group-normalized",
                                 normalization=inner.normalization)
        differs |= not np.allclose(rule.scores(batch), plain.scores(batch))
    assert differs


@pytest.mark.parametrize(("name", "ratio", "advantage"), [
    ("dppo", 1.4, 1.0), ("dppo", 0.6, -1.0), ("gmpo", np.exp(0.4), 1.0), ("ce-gppo", 0.8, -1.0),
    ("aspo", 1.2, 1.0), ("bapo", 1.2, 1.0)])
def test_a_ratio_at_its_bound_is_not_clipped_whichever_way_it_rounds(name, ratio, advantage):
    rule = update_rules.get(name)
    scores = [float(rule.scores(tokens(ratio * (1 + shift), advantage))[0, 0])
              for shift in (-1e-9, 0.0, 1e-9)]
    assert scores == pytest.approx([scores[0]] * 3)
    assert scores[0]


def test_entropies_that_are_rounding_are_within_the_band_of_erc():
    """Sums of terms of the size of 1 are rounded by as much, also where a policy is all but certain."""
    rule = update_rules.get("erc")
    sure = tokens(1.0, 1.0, entropy=3e-8, old_entropy=1e-8)
    assert rule.scores(sure) == 1
    assert rule.scores(sure.replace(entropy=np.full((1, 1), 3e-3))) == 0


def test_a_second_batch_is_not_corrected_for_its_sampler():
    """Its rows are drawn at their own temperature on purpose."""
    batch = random_batch(4)
    batch = batch.replace(sampling_log_prob=batch.old_log_prob - 0.5)
    rule = update_rules.get("sampler-correction", base="aepo")
    plain = update_rules.get("aepo").scores(batch)
    second = batch.is_tempered
    np.testing.assert_array_equal(rule.scores(batch)[second], plain[second])
    first = batch.is_ordinary
    np.testing.assert_allclose(rule.scores(batch)[first], np.exp(0.5) * plain[first])


def test_metrics_count_what_a_correction_rejects():
    batch = far_batch(3)
    rule = update_rules.get("sampler-correction", kind="token-mask", low=0.8, high=1.2)
    rho = np.exp(batch.old_log_prob - batch.sampling_log_prob)[batch.mask]
    assert rule.metrics(batch)["rejected_fraction"] == np.mean((rho < 0.8) | (rho > 1.2))
