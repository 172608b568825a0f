"""Guards results.py, user_errors.py and the weight of the package's import."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from entropy_theory.support import results


def test_failed_write_leaves_the_old_file_and_no_litter(tmp_path):
    target = tmp_path / "result.json"
    results.write_json(target, {"a": 1})
    with pytest.raises(ValueError, match="Out of range"):
        results.write_json(target, {"a": float("nan")})
    with pytest.raises(RuntimeError), results.atomic_path(target) as temporary:
        temporary.write_text("half")
        raise RuntimeError("killed")
    assert results.read_json(target) == {"a": 1}
    assert os.listdir(tmp_path) == ["result.json"]


@pytest.mark.parametrize("check", [
    results.check_folders, results.check_writable, lambda path: results.write_json(path, {})])
def test_a_file_in_place_of_a_folder_is_named(tmp_path, check):
    """As "File exists", with advice to free some space, it named the wrong path and the wrong remedy."""
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "file" / "run.json", tmp_path / "file" / "run" / "run.json"):
        with pytest.raises(OSError, match=f"cannot write {path}: {tmp_path / 'file'} is a file, and must "
                                          "be a folder: choose another output directory$"):
            check(path)
    results.check_folders(tmp_path / "new" / "run.json")
    assert not (tmp_path / "new").exists()


def test_equal_configs_share_a_key_whatever_their_order():
    assert results.config_key({"a": 1, "b": [1, 2]}) == results.config_key({"b": [1, 2], "a": 1})
    assert results.config_key({"a": 1}) != results.config_key({"a": 2})


def test_provenance_names_commit_versions_device_seed_and_config():
    record = results.provenance(config={"steps": 3}, seed=7)
    assert record["seed"] == 7
    assert record["config"] == {"steps": 3}
    assert record["versions"]["numpy"] == np.__version__
    assert {"commit", "device", "created"} <= set(record)


def test_an_interrupted_measurement_is_continued_only_under_equal_conditions(tmp_path):
    """Numbers of two machines or versions in one table; a later commit or day is no other machine."""
    path = tmp_path / "found.json"
    origin = results.provenance(config={"repeats": (2,)}, seed=0, device="one")
    origin = json.loads(json.dumps(origin))
    records = [{"seconds": 1.0}]
    results.write_json(path, {"provenance": origin, "records": records})
    assert results.kept_records(path, origin | {"commit": "later", "created": "later"}) == records
    for name in ("device", "versions", "seed", "config"):
        assert results.kept_records(path, origin | {name: "other"}) == []
    path.write_text('{"provenance": ')
    assert results.kept_records(path, origin) == []
    assert results.kept_records(None, origin) == []


def test_importing_the_theory_loads_no_heavy_library():
    code = (
        "import sys; import entropy_theory, entropy_theory.update_rules, entropy_theory.tabular, "
        "entropy_theory.forecast; "
        "heavy = {'torch', 'transformers', 'matplotlib', 'sympy'} & set(sys.modules); "
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)
