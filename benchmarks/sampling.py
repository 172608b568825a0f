"""Tokens a second of each sampler, side by side, beside what the memory's bandwidth allows.

Random weights of three shapes (SmolLM2-135M, and Qwen2.5 at 0.5B and 1.5B; on a CPU a tiny one), batches
of 64 to 2,048 sequences, eight a prompt, decoded up to 128, 512 and 2,048 positions. Nobody ends early.
"stock" is the sampler trl: Hugging Face generate on every row, as TRL calls it.

    python benchmarks/sampling.py                          the grid for this machine
    python benchmarks/sampling.py --quick --json build/sampling.json

A cell is timed twice, for all new tokens and for two: the difference is decoding alone, without the
prompt. The limit is that of a decoding step which reads every weight and every key and value once, at
the bandwidth that a copy reaches here. A cell that does not fit in memory says so. With --json an
interrupted grid goes on where it was, on the same device and versions.
"""

from __future__ import annotations

import argparse
import itertools
import logging
import statistics
import time
from pathlib import Path
from typing import Any

import torch
import transformers

from entropy_theory.support.results import kept_records, provenance, read_json, write_json
from llm_bridge.sampling import samplers

COPIES = 8
SHAPES: dict[str, dict[str, Any]] = {
    "135M": {"hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30,
             "num_attention_heads": 9, "num_key_value_heads": 3, "vocab_size": 49_152},
    "0.5B": {"hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24,
             "num_attention_heads": 14, "num_key_value_heads": 2, "vocab_size": 151_936},
    "1.5B": {"hidden_size": 1536, "intermediate_size": 8960, "num_hidden_layers": 28,
             "num_attention_heads": 12, "num_key_value_heads": 2, "vocab_size": 151_936},
    "tiny": {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 4,
             "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 512},
}
GRIDS = {
    "cuda": (("135M", "0.5B", "1.5B"), (64, 512, 2048), (128, 512, 2048), 64),
    "cpu": (("tiny",), (8, 64), (32,), 16),
}
"""Shapes, batches, contexts, new tokens."""
OFFERED = ("trl", "generate", "static")


def build(shape: str, device: str, longest: int) -> Any:
    """A model of a shape with random weights, bfloat16 on a GPU."""
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        **SHAPES[shape], tie_word_embeddings=True, max_position_embeddings=longest,
    )
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    return transformers.LlamaForCausalLM(config).to(device, dtype).eval()


def batch_of(model: Any, batch: int, context: int, new: int) -> samplers.PromptBatch:
    """Prompts of random tokens that end ``new`` positions before the context does."""
    generator = torch.Generator().manual_seed(0)
    prompts = max(1, batch // COPIES)
    ids = torch.randint(3, model.config.vocab_size, (prompts, context - new), generator=generator)
    ids = ids.to(model.device)
    return samplers.PromptBatch(
        ids=ids, mask=torch.ones_like(ids), copies=batch // prompts, temperature=1.0,
        top_p=1.0, top_k=0, max_new_tokens=new, stop_ids=[-1], pad_id=0, length=context,
        capacity=batch, seed=0,
    )


def plain_generation(new: int) -> transformers.GenerationConfig:
    """Exactly ``new`` tokens from pi."""
    return transformers.GenerationConfig(
        do_sample=True, temperature=1.0, top_k=0, top_p=1.0, max_new_tokens=new, pad_token_id=0,
        eos_token_id=None,
    )


def seconds(name: str, model: Any, batch: int, context: int, new: int) -> float:
    """Time one call that draws ``new`` tokens for each sequence, buffers and graphs made before."""
    asked = batch_of(model, batch, context, new)
    model.generation_config = plain_generation(new)
    kept: dict[Any, Any] = {}
    draw = samplers.SAMPLERS[name].draw
    for timed in (False, True):
        synchronize(model)
        start = time.perf_counter()
        found = draw(model, asked, kept)
        synchronize(model)
        if timed:
            assert found.ids.shape == (batch, new), f"{name} drew {tuple(found.ids.shape)}"
    return time.perf_counter() - start


def synchronize(model: Any) -> None:
    if model.device.type == "cuda":
        torch.cuda.synchronize()


def bandwidth(device: str) -> float:
    """Bytes a second that a large copy reads and writes."""
    size = 2**30 if device == "cuda" else 2**27
    source = torch.empty(size, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    times = []
    for _ in range(5):
        if device == "cuda":
            torch.cuda.synchronize()
        start = time.perf_counter()
        target.copy_(source)
        if device == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return 2 * size / min(times)


def limit(model: Any, batch: int, context: int, new: int, rate: float) -> float:
    """Tokens a second if a step did nothing but read all weights and each sequence's keys and values."""
    config, size = model.config, model.dtype.itemsize
    weights = sum(p.numel() for p in model.parameters()) * size
    width = 2 * config.num_key_value_heads * config.head_dim
    cache = batch * (context - new / 2) * config.num_hidden_layers * width * size
    return batch * rate / (weights + cache)


def cell(name: str, model: Any, batch: int, context: int, new: int, repeats: int) -> dict[str, Any]:
    """Times of one sampler; or why there are none."""
    try:
        whole = [seconds(name, model, batch, context, new) for _ in range(repeats)]
        begun = [seconds(name, model, batch, context, 2) for _ in range(repeats)]
    except torch.OutOfMemoryError:
        torch.cuda.empty_cache()
        return {"absent": "out of memory"}
    decoding = statistics.median(whole) - statistics.median(begun)
    return {
        "seconds": sorted(whole), "two_tokens_seconds": sorted(begun),
        "tokens_per_second": batch * new / statistics.median(whole),
        # Where a call of two tokens takes as long, noise is larger than decoding.
        "decoded_per_second": batch * (new - 2) / decoding if decoding > 0 else None,
    }


def report(record: dict[str, Any]) -> str:
    where = f"{record['shape']:>5} batch {record['batch']:5} context {record['context']:5}"
    if "absent" in record:
        return f"{where}  {record['sampler']:<11} {record['absent']}"
    decoded = record["decoded_per_second"]
    shown = "-" if decoded is None else f"{decoded:12,.0f}"
    share = "" if decoded is None else f"  {decoded / record['limit']:6.1%} of the limit"
    speedup = f"  {record['times_stock']:5.1f} x stock" if record.get("times_stock") else ""
    return (f"{where}  {record['sampler']:<11} {record['tokens_per_second']:12,.0f} tokens/s, "
            f"decoding {shown}{share}{speedup}")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="the first cell of each shape only")
    parser.add_argument("--samplers", nargs="+", choices=OFFERED, default=list(OFFERED))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    transformers.utils.logging.set_verbosity_error()
    logging.getLogger("ContinuousBatchingLogger").setLevel(logging.ERROR)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    shapes, batches, contexts, new = GRIDS[device]
    if options.quick:
        batches, contexts = batches[:1], contexts[:1]
    origin = provenance(
        config={"repeats": options.repeats}, seed=0, packages=("torch", "transformers", "trl"),
        device=torch.cuda.get_device_name(0) if device == "cuda" else "cpu",
    )
    records = kept_records(options.json, origin)
    # One rate for all records of a file.
    rate = read_json(options.json)["bytes_per_second"] if records else bandwidth(device)
    print(f"copy: {rate / 1e9:,.0f} GB/s on {device}; {len(records)} cells kept")
    known = {(r["shape"], r["batch"], r["context"], r["sampler"], r["new_tokens"]): r for r in records}
    smallest_first = sorted(itertools.product(batches, contexts), key=lambda pair: pair[0] * pair[1])
    for shape in shapes:
        model = None
        for (batch, context), name in itertools.product(smallest_first, options.samplers):
            where = (shape, batch, context)
            if (*where, name, new) in known:
                continue
            if model is None:
                model = build(shape, device, max(contexts))
            record = measured(name, model, where, new, options.repeats, rate)
            known[*where, name, new] = record
            stock = known.get((*where, "trl", new), {}).get("tokens_per_second")
            if name != "trl" and stock and "absent" not in record:
                record["times_stock"] = record["tokens_per_second"] / stock
            records.append(record)
            print(report(record), flush=True)
            if options.json:  # after every cell: what an interruption leaves is kept
                write_json(options.json, {
                    "provenance": origin, "bytes_per_second": rate,
                    "threads": torch.get_num_threads(), "records": records,
                })


@torch.no_grad()
def measured(
    name: str, model: Any, where: tuple[str, int, int], new: int, repeats: int, rate: float
) -> dict[str, Any]:
    """The record of one sampler at (shape, batch, context)."""
    shape, batch, context = where
    reason = samplers.SAMPLERS[name].obstacle(model)
    found = {"absent": reason} if reason else cell(name, model, batch, context, new, repeats)
    return {
        "shape": shape, "batch": batch, "context": context, "sampler": name, "new_tokens": new,
        "limit": limit(model, batch, context, new, rate), **found,
    }


if __name__ == "__main__":
    main()
