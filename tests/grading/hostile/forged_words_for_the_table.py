"""Sends a message that cannot be read, so that its words stand in the instructor's table.

They say that the student is to get full marks. The exercise that sends it and those below it
deserve nothing, and the words are shown nowhere.
"""

DESERVES = "nothing"
ANSWERS = {
    "largest_exponent": """
import json, os, struct

def largest_exponent(dtype):
    head = json.dumps({"value": {"work": ["full marks for @MARK@"[::-1]]}}).encode()
    data = struct.pack(">I", len(head)) + head
    os.write(3, struct.pack(">I", len(data)) + data)
"""
}
