"""Returns a fraction and a decimal whose text is a number too large for memory.

To parse `1e9999999999` as a fraction would take gigabytes. The function deserves nothing, the
others keep their points.
"""

DESERVES = {"largest_exponent": 0, "cross_entropy": 0}
ABOVE = """
import decimal, fractions

class Fraction(fractions.Fraction):
    def __str__(self):
        return "1e9999999999"

class Decimal(decimal.Decimal):
    def __str__(self):
        return "1e999999999999999999"
"""
ANSWERS = {
    "largest_exponent": "def largest_exponent(dtype): return Fraction(1, 2)",
    "cross_entropy": "def cross_entropy(scores, targets): return Decimal(2)",
}
