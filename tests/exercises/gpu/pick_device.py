"""Right and wrong answers to `pick_device`."""

import torch


def right_step_by_step():
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def right_with_its_number():
    if torch.cuda.device_count():
        return torch.device("cuda", 0)
    return torch.device("mps:0" if torch.mps.is_available() else "cpu")


def right_at_present():
    if torch.cuda.is_available():
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("mps" if torch.mps.is_available() else "cpu")


def right_of_the_accelerator():
    return torch.accelerator.current_accelerator() or torch.device("cpu")


def wrong_built_for_mps():
    """Take what torch is built for as what the machine has."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_built() else "cpu")
