#include "weir/hca/backend/capture_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/hca/backend/backend_rig.h"
#include "test/hca/backend/capture_builder.h"
#include "weir/hca/backend/capture_file.h"

namespace weir::hca {
namespace {

using testing::HasSubstr;

constexpr uint32_t kNano = 0xa1b23c4d;

CaptureWriter MustCreate(const std::string& path) {
  auto writer = CaptureWriter::Create(path, nullptr);
  EXPECT_TRUE(writer.ok()) << writer.status();
  return *std::move(writer);
}

bool Append(CaptureWriter& writer, FrameBytes frame, uint64_t timestamp_ns) {
  // Two segments and an empty one.
  const size_t half = frame.size() / 2;
  const iovec segments[] = {{frame.data(), half},
                            {nullptr, 0},
                            {frame.data() + half, frame.size() - half}};
  return writer.Append(segments, static_cast<uint32_t>(frame.size()),
                       timestamp_ns);
}

CaptureBuilder Expected() {
  return CaptureBuilder(ByteOrder::kLittle).PcapHeader(kNano);
}

TEST(CaptureWriterTest, WritesAHeaderAtOnce) {
  const std::string path = TestPath("out.pcap");
  const CaptureWriter writer = MustCreate(path);
  EXPECT_EQ(ReadTestFile(path), Expected().bytes());
}

TEST(CaptureWriterTest, WritesWholeFramesWhenItFlushes) {
  const std::string path = TestPath("out.pcap");
  CaptureWriter writer = MustCreate(path);
  const FrameBytes a = PatternFrame(1, 1514);
  const FrameBytes b = PatternFrame(2, 1);
  EXPECT_TRUE(Append(writer, a, 1'700'000'000'123'456'789));
  EXPECT_TRUE(Append(writer, b, 4'000'000'000'999'999'999));
  EXPECT_TRUE(Append(writer, {}, 5));
  EXPECT_EQ(ReadTestFile(path), Expected().bytes());
  const CaptureWriter::FlushResult result = writer.Flush();
  EXPECT_EQ(result.written_frames, 3u);
  EXPECT_EQ(result.lost_frames, 0u);
  EXPECT_EQ(ReadTestFile(path),
            Expected()
                .PcapRecord(1'700'000'000, 123'456'789, a, 1514)
                .PcapRecord(4'000'000'000, 999'999'999, b, 1)
                .PcapRecord(0, 5, {}, 0)
                .bytes());
  EXPECT_EQ(writer.Flush().written_frames, 0u);
}

TEST(CaptureWriterTest, AsksForAFlushWhenItsMemoryIsFull) {
  CaptureWriter writer = MustCreate(TestPath("out.pcap"));
  const FrameBytes frame(600'000);
  EXPECT_TRUE(Append(writer, frame, 0));
  EXPECT_FALSE(Append(writer, frame, 0));
  EXPECT_EQ(writer.Flush().written_frames, 1u);
  EXPECT_TRUE(Append(writer, FrameBytes(size_t{1} << 20), 0));
}

TEST(CaptureWriterTest, ReplacesAnOlderFile) {
  const std::string path = WriteTestFile("out.pcap", FrameBytes(1000));
  const CaptureWriter writer = MustCreate(path);
  EXPECT_EQ(ReadTestFile(path), Expected().bytes());
}

// The file may grow to 150 bytes: a header and one frame of 60 fit, a second
// does not.
TEST(CaptureWriterTest, LosesAndCountsWhatDoesNotFitAndStaysWhole) {
  const std::string path = TestPath("out.pcap");
  CaptureWriter writer = MustCreate(path);
  CaptureWriter::FlushResult full;
  {
    const FileSizeLimit limit(150);
    for (uint64_t i = 0; i < 3; ++i) Append(writer, PatternFrame(i, 60), i);
    full = writer.Flush();
  }
  EXPECT_EQ(full.written_frames, 1u);
  EXPECT_EQ(full.lost_frames, 2u);
  EXPECT_EQ(full.error, EFBIG);

  Append(writer, PatternFrame(7, 60), 7);
  EXPECT_EQ(writer.Flush().written_frames, 1u);
  EXPECT_EQ(ReadTestFile(path), Expected()
                                    .PcapRecord(0, 0, PatternFrame(0, 60), 60)
                                    .PcapRecord(0, 7, PatternFrame(7, 60), 60)
                                    .bytes());
}

TEST(CaptureWriterTest, ReportsAFullDevice) {
  EXPECT_EQ(CaptureWriter::Create("/dev/full", nullptr).status().message(),
            "/dev/full: write: No space left on device; make room there");
}

TEST(CaptureWriterTest, RefusesItsOwnInputAndLeavesItAlone) {
  const auto bytes = Expected().PcapRecord(0, 0, PatternFrame(0, 60), 60);
  const std::string path = WriteTestFile("in.pcap", bytes.bytes());
  const std::string link = TestPath("link.pcap");
  unlink(link.c_str());
  ASSERT_EQ(symlink(path.c_str(), link.c_str()), 0);
  const auto input = CaptureFile::Open(path);
  ASSERT_TRUE(input.ok());
  for (const std::string& name : {path, link}) {
    EXPECT_EQ(CaptureWriter::Create(name, &*input).status().message(),
              name + ": is the input and the output; name another file");
  }
  EXPECT_EQ(ReadTestFile(path), bytes.bytes());
}

TEST(CaptureWriterTest, RefusesAFileThatAnotherDeviceHasOpen) {
  const std::string path = TestPath("out.pcap");
  const CaptureWriter writer = MustCreate(path);
  EXPECT_THAT(
      std::string(CaptureWriter::Create(path, nullptr).status().message()),
      HasSubstr("another device has this file open"));
  EXPECT_THAT(std::string(CaptureFile::Open(path).status().message()),
              HasSubstr("another device is writing this file"));
}

TEST(CaptureWriterTest, SharesDevicesThatAreNoFiles) {
  const CaptureWriter one = MustCreate("/dev/null");
  CaptureWriter other = MustCreate("/dev/null");
  EXPECT_TRUE(Append(other, PatternFrame(1, 60), 0));
  EXPECT_EQ(other.Flush().written_frames, 1u);
}

TEST(CaptureWriterTest, NamesTheFileItCannotCreate) {
  EXPECT_EQ(CaptureWriter::Create("/nowhere/a", nullptr).status().message(),
            "/nowhere/a: open for writing: No such file or directory; "
            "name a file that may be written");
}

TEST(CaptureWriterTest, LosesFramesButNotTheProgramWithTheReaderOfAPipe) {
  const std::string path = TestPath("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  CaptureWriter writer = MustCreate(path);
  close(reader);
  EXPECT_TRUE(Append(writer, PatternFrame(1, 60), 0));
  const CaptureWriter::FlushResult result = writer.Flush();
  EXPECT_EQ(result.lost_frames, 1u);
  EXPECT_EQ(result.error, EPIPE);
  sigset_t pending;
  ASSERT_EQ(sigpending(&pending), 0);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
}

}  // namespace
}  // namespace weir::hca
