"""Marks of SciPy's own test files, and what make quick leaves out."""

import hypothesis


def pytest_configure(config):
    for name in ("skip_xp_backends", "xfail_xp_backends"):
        config.addinivalue_line("markers", f"{name}: SciPy's own, without effect on NumPy")


def pytest_ignore_collect(collection_path):
    """Leave PyTorch's samples to `make test`: importing them takes each process some seconds."""
    quick = hypothesis.settings.get_current_profile_name() == "quick"
    return True if quick and collection_path.name == "test_torch.py" else None
