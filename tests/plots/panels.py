"""What the tests of figures read in a panel."""


def written(axis) -> list[str]:
    """Return the texts of a panel, in the order of drawing."""
    return [text.get_text() for text in axis.texts]


def heights(axis) -> list[float]:
    """Return the heights of a panel's bars."""
    return [patch.get_height() for patch in axis.patches]
