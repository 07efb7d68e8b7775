"""Print every table."""

from benchmarks import flash, gpu, softmax

if __name__ == "__main__":
    softmax.main()
    print()
    flash.main()
    print()
    gpu.main()
