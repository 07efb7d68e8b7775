"""Print every table."""

from benchmarks import flash, softmax

if __name__ == "__main__":
    softmax.main()
    print()
    flash.main()
