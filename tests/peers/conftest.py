"""Marks that SciPy's own test files carry; they concern array libraries other than NumPy."""


def pytest_configure(config):
    for name in ("skip_xp_backends", "xfail_xp_backends"):
        config.addinivalue_line("markers", f"{name}: SciPy's own, without effect on NumPy")
