"""libfg_cuda.so shows one symbol, and is small enough to travel."""
import os
import pathlib
import subprocess
import unittest

BUILD = pathlib.Path(os.environ["FG_BINARY_DIR"])
PLUGIN = BUILD / "bin" / "libfg_cuda.so"


def built_with_cuda():
    cache = (BUILD / "CMakeCache.txt").read_text()
    lines = [line for line in cache.splitlines() if line.startswith("CMAKE_CUDA_COMPILER:")]
    return any(not line.endswith("NOTFOUND") and not line.endswith("=") for line in lines)


@unittest.skipUnless(built_with_cuda(), "this build has no CUDA backend")
class PluginSymbols(unittest.TestCase):
    def test_one_symbol_is_defined(self):
        listed = subprocess.run(["nm", "-D", "--defined-only", str(PLUGIN)], check=True,
                                capture_output=True, text=True).stdout
        names = [line.split()[-1] for line in listed.splitlines()]
        self.assertEqual(names, ["fg_device_plugin"])

    # cuBLASLt and NVML are opened at run time, the CUDA runtime lies inside.
    def test_it_needs_no_library_of_cuda(self):
        listed = subprocess.run(["readelf", "-d", str(PLUGIN)], check=True, capture_output=True,
                                text=True).stdout
        needed = [line.split("[")[1].rstrip("]") for line in listed.splitlines()
                  if "(NEEDED)" in line]
        self.assertIn("libc.so.6", needed)
        for library in needed:
            self.assertNotRegex(library, "cuda|cublas|nvidia|gtest")

    def test_it_is_small(self):
        self.assertGreater(PLUGIN.stat().st_size, 100_000)
        self.assertLess(PLUGIN.stat().st_size, 20_000_000)


if __name__ == "__main__":
    unittest.main()
