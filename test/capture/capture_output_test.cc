#include "weir/capture/capture_output.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

std::string Here(const std::string& name) {
  return ::testing::TempDir() + "/" + name;
}

void Gather(CaptureOutput& output, size_t bytes) {
  output.gathered().insert(output.gathered().end(), bytes, std::byte{'x'});
}

TEST(CaptureOutputTest, WritesWhatIsGatheredOnceItIsEnough) {
  auto output = *CaptureOutput::Create(Here("enough"));
  Gather(output, 99);
  EXPECT_TRUE(output.Flush(100).ok());
  EXPECT_EQ(std::filesystem::file_size(Here("enough")), 0u);
  Gather(output, 1);
  EXPECT_TRUE(output.Flush(100).ok());
  EXPECT_EQ(std::filesystem::file_size(Here("enough")), 100u);
  EXPECT_EQ(output.bytes(), 100u);
}

TEST(CaptureOutputTest, EmptiesAFileThatWasThere) {
  std::ofstream(Here("old")) << "something old";
  const auto output = CaptureOutput::Create(Here("old"));
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(std::filesystem::file_size(Here("old")), 0u);
}

TEST(CaptureOutputTest, LeavesAFileAloneThatAnotherWrites) {
  auto first = *CaptureOutput::Create(Here("shared"));
  Gather(first, 10);
  ASSERT_TRUE(first.Flush(0).ok());
  const auto second = CaptureOutput::Create(Here("shared"));
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(std::filesystem::file_size(Here("shared")), 10u);
}

TEST(CaptureOutputTest, RefusesWhatIsNoFileWithoutWaiting) {
  ASSERT_EQ(mkfifo(Here("fifo").c_str(), 0600), 0);
  EXPECT_FALSE(CaptureOutput::Create(Here("fifo")).ok());
  EXPECT_THAT(
      std::string(CaptureOutput::Create("/dev/null").status().message()),
      EndsWith("/dev/null: is no regular file"));
  EXPECT_THAT(
      std::string(CaptureOutput::Create("/no/such/place").status().message()),
      HasSubstr("capture file /no/such/place: open: No such file"));
}

// As a full disk: the limit on the size of files, without its signal.
TEST(CaptureOutputTest, CutsTheFileBackToWhatWasWhole) {
  auto output = *CaptureOutput::Create(Here("full"));
  Gather(output, 500);
  ASSERT_TRUE(output.Flush(0).ok());
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{.rlim_cur = 1000, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  Gather(output, 800);
  const absl::Status status = output.Flush(0);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("write: File too large"));
  EXPECT_EQ(std::filesystem::file_size(Here("full")), 500u);
}

}  // namespace
}  // namespace weir
