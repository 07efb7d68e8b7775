"""The mistake that the exercises on boolean masks share."""

FLOAT_MASK = (
    "float-mask: This is a float mask, to be added to scores. Here booleans are asked for: True "
    "where allowed.",
    "return allowed => return np.where(allowed, 0.0, {-np.inf|-1e9})",
)
