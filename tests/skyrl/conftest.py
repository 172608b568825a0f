"""These tests run where SkyRL is (`make test-skyrl`), and are skipped elsewhere."""

import importlib.util
import sys
import typing
import warnings

if importlib.util.find_spec("skyrl") is not None:
    if sys.version_info < (3, 12):
        # SkyRL trains on Python 3.12; all that its losses miss before it is one name for pydantic.
        import typing_extensions

        typing.TypedDict = typing_extensions.TypedDict
    # SkyRL and ray warn as they are imported; in the tests themselves warnings stay errors.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import skyrl.backends.skyrl_train.utils.ppo_utils
        import skyrl.train.config  # noqa: F401
