#include "weir/app/json_file.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "gtest/gtest.h"

namespace weir {
namespace {

std::string PathOf(const std::string& name) {
  return std::string(std::getenv("TEST_TMPDIR")) + "/" + name;
}

std::string ContentOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(JsonFileTest, KeepsWhatItHasUntilItIsWritten) {
  const std::string path = PathOf("old");
  std::ofstream(path) << "longer than what is written";
  ASSERT_TRUE(JsonFile::Open(path).ok());
  EXPECT_EQ(ContentOf(path), "longer than what is written");
  auto file = JsonFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(file->Write("{}").ok());
  EXPECT_EQ(ContentOf(path), "{}");
}

TEST(JsonFileTest, IsRemovedIfItIsNewAndNotWritten) {
  const std::string path = PathOf("new");
  {
    const auto file = JsonFile::Open(path);
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  ASSERT_TRUE(JsonFile::Open(path)->Write("{}").ok());
  EXPECT_EQ(ContentOf(path), "{}");
}

TEST(JsonFileTest, SaysWhyItCannotBeWritten) {
  EXPECT_EQ(JsonFile::Open("/no/such/file").status(),
            absl::InvalidArgumentError("--json: /no/such/file: cannot be "
                                       "written: No such file or directory"));
  EXPECT_EQ(JsonFile::Open("/dev/full")->Write("{}"),
            absl::DataLossError("--json: /dev/full: could not be written in "
                                "full: No space left on device"));
}

}  // namespace
}  // namespace weir
