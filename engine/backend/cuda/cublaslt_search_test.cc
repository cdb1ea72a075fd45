#include "engine/backend/cuda/cublaslt_search.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/file.h"
#include "base/testing/temp_dir.h"

namespace fg {
namespace {

using Places = std::vector<std::string>;

// A root of its own a test, with files that are no libraries.
class CublasLtSearchTest : public testing::Test {
 protected:
  std::string root() const {
    return ProcessTempDir() + testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  void Put(const std::string& path) const {
    const std::string file = root() + path;
    ASSERT_TRUE(MakeFolders(file.substr(0, file.rfind('/'))).ok());
    ASSERT_TRUE(WriteFileAtomic(file, "no library").ok());
  }
};

TEST_F(CublasLtSearchTest, WhereNothingIsThePatternsAreListedInOrder) {
  ASSERT_TRUE(MakeFolders(root()).ok());
  const std::string lib = "/libcublasLt.so.13";
  Places want = {"/opt/fg/bin" + lib, "libcublasLt.so.13"};
  for (const char* folder : {"/usr/local/cuda/lib64", "/usr/local/cuda/targets/x86_64-linux/lib",
                             "/usr/local/cuda-13*/targets/x86_64-linux/lib", "/opt/cuda/lib64",
                             "/usr/lib/x86_64-linux-gnu"}) {
    want.push_back(root() + folder + lib);
  }
  for (const char* folder :
       {"/opt/*/.venv/lib/python3*/site-packages", "/opt/*/venv/lib/python3*/site-packages",
        "/opt/*/lib/python3*/site-packages", "/usr/local/lib/python3*/dist-packages",
        "/usr/local/lib/python3*/site-packages", "/usr/lib/python3*/dist-packages"}) {
    want.push_back(root() + folder + "/nvidia/cu13/lib" + lib);
    want.push_back(root() + folder + "/nvidia/cublas/lib" + lib);
  }
  EXPECT_EQ(CublasLtPlaces("", "/opt/fg/bin", root()), want);
}

TEST_F(CublasLtSearchTest, PatternsBecomeWhatTheyMatchTheNewestFirst) {
  const std::string old = "/usr/local/cuda-13.0/targets/x86_64-linux/lib/libcublasLt.so.13";
  const std::string recent = "/usr/local/cuda-13.1/targets/x86_64-linux/lib/libcublasLt.so.13";
  const std::string torch =
      "/opt/torch/.venv/lib/python3.12/site-packages/nvidia/cu13/lib/libcublasLt.so.13";
  Put(old);
  Put(recent);
  Put(torch);
  const Places places = CublasLtPlaces("", "/p", root());
  const auto at = [&](const std::string& path) {
    return std::find(places.begin(), places.end(), root() + path) - places.begin();
  };
  ASSERT_LT(static_cast<size_t>(at(torch)), places.size());
  EXPECT_EQ(at(old), at(recent) + 1);
  EXPECT_LT(at(old), at(torch));
  EXPECT_EQ(std::count(places.begin(), places.end(),
                       root() + "/usr/local/cuda-13*/targets/x86_64-linux/lib/libcublasLt.so.13"),
            0);
}

TEST_F(CublasLtSearchTest, ASetPathIsTriedAlone) {
  Put("/folder/libcublasLt.so.13");
  EXPECT_EQ(CublasLtPlaces(root() + "/folder", "/p", root()),
            Places{root() + "/folder/libcublasLt.so.13"});
  EXPECT_EQ(CublasLtPlaces("/x/libcublasLt.so.13.1.0", "/p", root()),
            Places{"/x/libcublasLt.so.13.1.0"});
}

TEST_F(CublasLtSearchTest, TheErrorListsEachPlaceWithItsReason) {
  Put("/a/libcublasLt.so.13");
  const auto opened = OpenCublasLt({root() + "/a/libcublasLt.so.13", "libfg_no_such_thing.so.1",
                                    root() + "/b*/libcublasLt.so.13", "libm.so.6"});
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().kind(), ErrorKind::kDevice);
  EXPECT_EQ(opened.status().message(),
            "no cuBLASLt was found, which forwards of 16 rows or more need; set FG_CUBLASLT_PATH "
            "to libcublasLt.so.13 or to its folder (a CUDA 13 toolkit and PyTorch for CUDA 13 have "
            "it). Tried: " +
                root() + "/a/libcublasLt.so.13: file too short; " +
                "libfg_no_such_thing.so.1: cannot open shared object file: No such file or "
                "directory; " +
                root() + "/b*/libcublasLt.so.13 is not there; libm.so.6 is no cuBLASLt");
}

TEST_F(CublasLtSearchTest, TheProgramsFolderIsThisTests) {
  EXPECT_EQ(ProgramFolder(), std::string(FG_BINARY_DIR) + "/bin");
}

}  // namespace
}  // namespace fg
