"""The exercises of the GPU lesson: PyTorch, counting, timing and a kernel."""

EXERCISES = (
    "pick_device",
    "torch_attention",
    "attention_flops",
    "time_milliseconds",
    "softmax_kernel",
    "flash_kernel",
    "flash_program",
    "decode_part",
)
