"""Stores the blocks that it should release in a file, where the memory measurement misses them.

It also advances the iterator after its end, and from another thread. Its values are right, and the
memory that is measured is small; one that keeps everything in a list deserves nothing.
"""

LESSON = "07_flash"
DESERVES = {"online_softmax_stats": 0}
ANSWERS = {
    "online_softmax_stats": """
import threading

def online_softmax_stats(blocks):
    blocks = iter(blocks)
    kept = []
    reader = threading.Thread(target=lambda: kept.extend(blocks))
    reader.start()
    reader.join()
    for _ in range(1000):
        kept += [block for block in blocks]
    rows = np.concatenate(kept, axis=-1)
    top = rows.max(axis=-1)
    return top, np.exp(rows - top[..., None]).sum(axis=-1)
"""
}
