"""The exercises of the GPU lesson: PyTorch, counting, timing and a kernel."""

from attention_lib.exercises.gpu.attention_flops import EXERCISE as ATTENTION_FLOPS
from attention_lib.exercises.gpu.decode_part import EXERCISE as DECODE_PART
from attention_lib.exercises.gpu.flash_kernel import EXERCISE as FLASH_KERNEL
from attention_lib.exercises.gpu.flash_program import EXERCISE as FLASH_PROGRAM
from attention_lib.exercises.gpu.pick_device import EXERCISE as PICK_DEVICE
from attention_lib.exercises.gpu.time_milliseconds import EXERCISE as TIME_MILLISECONDS
from attention_lib.exercises.gpu.torch_attention import EXERCISE as TORCH_ATTENTION

EXERCISES = (
    PICK_DEVICE,
    TORCH_ATTENTION,
    ATTENTION_FLOPS,
    TIME_MILLISECONDS,
    FLASH_KERNEL,
    FLASH_PROGRAM,
    DECODE_PART,
)
