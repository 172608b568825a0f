"""These tests run where verl is (`make test-verl`), and are skipped elsewhere."""

import importlib.util
import warnings

if importlib.util.find_spec("verl") is not None:
    # verl and ray warn as they are imported; in the tests themselves warnings stay errors.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import verl.workers.engine
        import verl.workers.engine_workers  # noqa: F401
