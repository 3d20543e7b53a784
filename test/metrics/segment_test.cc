// A segment from both sides, with readers at any moment and writers that die at
// any.

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "weir/metrics/segment_layout.h"
#include "weir/metrics/segment_list.h"
#include "weir/metrics/segment_reader.h"
#include "weir/metrics/segment_writer.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<Metric> Numbers(uint64_t count, uint64_t value) {
  std::vector<Metric> metrics;
  for (uint64_t i = 0; i < count; ++i) {
    metrics.push_back({Metric::Kind::kCounter,
                       "weir_number",
                       {{"n", std::to_string(i)}},
                       value});
  }
  return metrics;
}

class SegmentTest : public ::testing::Test {
 protected:
  SegmentTest()
      : folder_(std::filesystem::path(::testing::TempDir()) /
                ("segments." + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~SegmentTest() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<SegmentWriter> Writer() {
    return *SegmentWriter::Create("test", folder_.string());
  }
  // A writer in a process of its own, which waits for a signal.
  pid_t WriterInAnotherProcess() {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
      const auto writer = Writer();
      writer->Write(Numbers(3, 9));
      if (write(ready[1], "x", 1) != 1) _exit(1);
      for (;;) pause();
    }
    char byte = 0;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return child;
  }
  std::vector<SegmentReader> Live() { return LiveSegments(folder_.string()); }

  std::filesystem::path folder_;
};

TEST_F(SegmentTest, ShowsWhatWasWritten) {
  const auto writer = Writer();
  std::vector<Metric> metrics = Numbers(100, 7);
  metrics.push_back({Metric::Kind::kGauge, "weir_level", {}, 3});
  writer->Write(metrics);
  auto reader = SegmentReader::Open(writer->path());
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ(reader->app(), "test");
  EXPECT_EQ(reader->pid(), static_cast<uint32_t>(getpid()));
  auto view = reader->Read();
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(view->metrics, metrics);
  EXPECT_EQ(view->omitted, 0);
  EXPECT_GE(view->written_unix_ns, reader->start_unix_ns());
}

TEST_F(SegmentTest, ShowsNewMetricsToAReaderThatWasThereBefore) {
  const auto writer = Writer();
  writer->Write(Numbers(3, 1));
  auto reader = *SegmentReader::Open(writer->path());
  EXPECT_EQ(reader.Read()->metrics, Numbers(3, 1));
  writer->Write(Numbers(3, 2));
  EXPECT_EQ(reader.Read()->metrics, Numbers(3, 2));
  writer->Write(Numbers(5, 3));
  EXPECT_EQ(reader.Read()->metrics, Numbers(5, 3));
  writer->Write({});
  EXPECT_THAT(reader.Read()->metrics, IsEmpty());
}

TEST_F(SegmentTest, SaysHowManyMetricsFoundNoRoom) {
  const auto writer = Writer();
  writer->Write(Numbers(internal::kMaxMetrics + 10, 1));
  auto reader = *SegmentReader::Open(writer->path());
  auto view = reader.Read();
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(view->omitted + view->metrics.size(), internal::kMaxMetrics + 10);
  EXPECT_GT(view->metrics.size(), 20'000);
}

TEST_F(SegmentTest, HasNothingToShowBeforeTheFirstUpdate) {
  const auto writer = Writer();
  auto reader = *SegmentReader::Open(writer->path());
  EXPECT_EQ(reader.Read().status().code(), absl::StatusCode::kUnavailable);
}

// Run under TSan: whatever moment a reader looks at, all values are of one
// update, and so are the names.
TEST_F(SegmentTest, IsNeverSeenHalfWritten) {
  const auto writer = Writer();
  writer->Write(Numbers(1, 0));
  std::atomic<bool> is_over = false;
  std::atomic<uint64_t> mixed = 0;
  std::atomic<uint64_t> reads = 0;
  std::jthread other([&] {
    auto reader = *SegmentReader::Open(writer->path());
    while (!is_over) {
      const auto view = reader.Read();
      if (!view.ok()) continue;
      ++reads;
      // An update has as many metrics as their value says.
      for (const Metric& metric : view->metrics) {
        mixed += metric.value % 8 + 1 == view->metrics.size() ? 0 : 1;
      }
    }
  });
  for (uint64_t i = 0; i < 20'000 || reads < 100; ++i) {
    writer->Write(Numbers(i % 8 + 1, i));
  }
  is_over = true;
  other.join();
  EXPECT_EQ(mixed, 0);
}

TEST_F(SegmentTest, GoesWithItsWriter) {
  std::string path;
  {
    const auto writer = Writer();
    path = writer->path();
    EXPECT_THAT(Live(), SizeIs(1));
  }
  EXPECT_THAT(Live(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(SegmentTest, IsFoundWhileItsProcessLives) {
  const pid_t child = WriterInAnotherProcess();
  const auto writer = Writer();
  std::vector<SegmentReader> live = Live();
  ASSERT_THAT(live, SizeIs(2));
  EXPECT_LT(live[0].pid(), live[1].pid());
  EXPECT_TRUE(live[0].is_alive());
  EXPECT_THAT(RemoveDeadSegments(folder_.string()), IsEmpty());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  live = Live();
  ASSERT_THAT(live, SizeIs(1));
  EXPECT_EQ(live[0].pid(), static_cast<uint32_t>(getpid()));
}

TEST_F(SegmentTest, OutlivesItsProcessForAReaderUntilItIsRemoved) {
  const pid_t child = WriterInAnotherProcess();
  auto reader = std::move(Live().at(0));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(reader.is_alive());
  EXPECT_EQ(reader.Read()->metrics, Numbers(3, 9));
  EXPECT_THAT(RemoveDeadSegments(folder_.string()), ElementsAre(reader.path()));
  EXPECT_FALSE(std::filesystem::exists(reader.path()));
  EXPECT_EQ(reader.Read()->metrics, Numbers(3, 9));
}

TEST_F(SegmentTest, RemovesTheControlSocketOfADeadProcessToo) {
  const pid_t child = WriterInAnotherProcess();
  const std::string segment = Live().at(0).path();
  std::ofstream(ControlSocketOf(segment)) << "x";
  EXPECT_THAT(RemoveDeadSegments(folder_.string()), IsEmpty());
  EXPECT_TRUE(std::filesystem::exists(ControlSocketOf(segment)));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_THAT(RemoveDeadSegments(folder_.string()), ElementsAre(segment));
  EXPECT_FALSE(std::filesystem::exists(ControlSocketOf(segment)));
}

TEST_F(SegmentTest, LeavesFilesOfOtherNamesAlone) {
  for (const char* name : {"weir.conf", "weir.1", "weir.1.", "weir..2",
                           "weir.1.2.3", "weir.1.2.old", "weir-0-1-file.a"}) {
    std::ofstream(folder_ / name) << "x";
  }
  std::ofstream(folder_ / "weir.1.2") << "x";
  EXPECT_THAT(RemoveDeadSegments(folder_.string()),
              ElementsAre((folder_ / "weir.1.2").string()));
}

TEST_F(SegmentTest, SaysThatAWriterDiedInTheMiddleOfAnUpdate) {
  const auto writer = Writer();
  writer->Write(Numbers(1, 1));
  const auto copy = folder_ / "weir.1.1";
  std::filesystem::copy_file(writer->path(), copy);
  {
    std::fstream file(copy, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(offsetof(internal::SegmentHeader, sequence));
    const uint64_t odd = 3;
    file.write(reinterpret_cast<const char*>(&odd), sizeof odd);
  }
  auto reader = SegmentReader::Open(copy.string());
  ASSERT_TRUE(reader.ok()) << reader.status();
  const absl::Status status = reader->Read().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("died"));
}

TEST_F(SegmentTest, RefusesOtherFiles) {
  const auto open = [&](const std::string& content) {
    const auto path = folder_ / "weir.3.3";
    std::ofstream(path, std::ios::binary) << content;
    return SegmentReader::Open(path.string()).status();
  };
  EXPECT_THAT(open("").message(), HasSubstr("got 0"));
  EXPECT_THAT(open("weirstat").message(), HasSubstr("no statistics segment"));
  EXPECT_THAT(open(std::string(sizeof(internal::Segment), 'x')).message(),
              HasSubstr("first bytes"));
  std::string other(sizeof(internal::Segment), '\0');
  other.replace(0, 8, "weirstat");
  other[8] = 9;
  EXPECT_THAT(open(other).message(), HasSubstr("want version 1, got 9"));
  EXPECT_EQ(SegmentReader::Open(folder_.string() + "/none").status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_FALSE(SegmentReader::Open(folder_.string()).ok());
  EXPECT_THAT(Live(), IsEmpty());
}

// A file of the right size and head, and numbers that make no sense.
TEST_F(SegmentTest, ReadsNonsenseWithoutHarm) {
  const auto writer = Writer();
  writer->Write(Numbers(3, 1));
  const auto path = folder_ / "weir.2.2";
  for (const uint64_t word : {uint64_t{4}, ~uint64_t{1}}) {
    std::filesystem::copy_file(
        writer->path(), path,
        std::filesystem::copy_options::overwrite_existing);
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(offsetof(internal::SegmentHeader, sequence));
    const std::vector<uint64_t> words(6, word);
    file.write(reinterpret_cast<const char*>(words.data()),
               static_cast<std::streamsize>(words.size() * 8));
    file.close();
    auto reader = SegmentReader::Open(path.string());
    ASSERT_TRUE(reader.ok());
    EXPECT_FALSE(reader->Read().ok());
  }
}

TEST_F(SegmentTest, SaysWhichFolderItCannotUse) {
  const auto writer = SegmentWriter::Create("test", "/no/such/folder");
  EXPECT_EQ(writer.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(writer.status().message(), HasSubstr("/no/such/folder"));
}

// Ends with 0 if there is an error that says so, and by no signal.
[[noreturn]] void WriteWithoutRoom(const std::string& folder) {
  if (unshare(CLONE_NEWNS) != 0 ||
      mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("small", folder.c_str(), "tmpfs", 0, "size=64k") != 0) {
    std::perror("a small folder");
    std::_Exit(2);
  }
  const auto writer = SegmentWriter::Create("test", folder);
  if (writer.ok()) (*writer)->Write(Numbers(10'000, 1));
  std::fprintf(stderr, "%s\n", std::string(writer.status().message()).c_str());
  std::_Exit(writer.ok() || !std::filesystem::is_empty(folder) ? 1 : 0);
}

TEST_F(SegmentTest, IsRefusedByAFolderWithoutRoomForAllOfIt) {
  EXPECT_EXIT(WriteWithoutRoom(folder_.string()), ::testing::ExitedWithCode(0),
              "weir.*posix_fallocate: No space left on device");
}

}  // namespace
}  // namespace weir
