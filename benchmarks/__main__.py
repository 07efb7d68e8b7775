"""Print every table."""

from benchmarks import gpu, softmax

if __name__ == "__main__":
    softmax.main()
    print()
    gpu.main()
