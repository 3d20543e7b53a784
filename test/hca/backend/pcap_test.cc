#include "weir/hca/backend/pcap.h"

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/hca/backend/backend_rig.h"
#include "test/hca/backend/capture_builder.h"

namespace weir::hca {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr uint32_t kNano = 0xa1b23c4d;

std::unique_ptr<Backend> MustOpen(const std::string& text) {
  auto backend = OpenPcap(ParseDeviceKey(text).value());
  EXPECT_TRUE(backend.ok()) << backend.status();
  return *std::move(backend);
}

std::string OpenError(const std::string& text) {
  const auto backend = OpenPcap(ParseDeviceKey(text).value());
  return backend.ok() ? "opened" : std::string(backend.status().message());
}

CaptureBuilder File() {
  return CaptureBuilder(ByteOrder::kLittle).PcapHeader(kNano);
}

CaptureBuilder FileOf(const std::vector<FrameBytes>& frames) {
  CaptureBuilder file = File();
  for (const FrameBytes& frame : frames) {
    file.PcapRecord(1, 2, frame, static_cast<uint32_t>(frame.size()));
  }
  return file;
}

// Sizes from a runt to a jumbo frame, more than one window of them.
std::vector<FrameBytes> ManyFrames() {
  std::vector<FrameBytes> frames;
  for (uint64_t i = 0; i < 1000; ++i) {
    frames.push_back(PatternFrame(i, 1 + i * 37 % 9000));
  }
  return frames;
}

TEST(PcapTest, ReceivesTheFramesOfAFileThenIsFinished) {
  const std::vector<FrameBytes> frames = ManyFrames();
  const auto backend =
      MustOpen("pcap:" + WriteTestFile("in.pcap", FileOf(frames).bytes()));
  EXPECT_FALSE(backend->finished());
  EXPECT_EQ(TakeFrames(*backend, frames.size()), frames);
  EXPECT_THAT(backend->Receive(1), IsEmpty());
  EXPECT_TRUE(backend->finished());
  EXPECT_EQ(backend->TakeWarning(), "");
}

TEST(PcapTest, ShowsTheSameFramesUntilTheyAreConsumed) {
  const auto backend =
      MustOpen("pcap:" +
               WriteTestFile(
                   "in.pcap",
                   FileOf({PatternFrame(1, 60), PatternFrame(2, 61)}).bytes()));
  ASSERT_THAT(backend->Receive(8), SizeIs(2));
  ASSERT_THAT(backend->Receive(1), SizeIs(1));
  EXPECT_EQ(backend->Receive(1)[0].timestamp_ns, 1'000'000'002u);
  backend->Consume(1);
  ASSERT_THAT(backend->Receive(8), SizeIs(1));
  EXPECT_EQ(backend->Receive(8)[0].length_bytes, 61u);
  EXPECT_FALSE(backend->finished());
  backend->Consume(1);
  EXPECT_TRUE(backend->finished());
}

TEST(PcapTest, WritesWhatIsSentSoThatItIsReadBackTheSame) {
  const std::string path = TestPath("out.pcap");
  const std::vector<FrameBytes> frames = ManyFrames();
  auto writer = MustOpen("pcap:,out=" + path);
  for (size_t at = 0; at < frames.size(); at += 50) {
    const auto first = frames.begin() + static_cast<std::ptrdiff_t>(at);
    EXPECT_EQ(Send(*writer, {first, first + 50}), 50u);
  }
  writer.reset();
  EXPECT_EQ(TakeFrames(*MustOpen("pcap:" + path), 2000), frames);
}

TEST(PcapTest, LosesNothingThatWasTakenWhenTheProcessDies) {
  const std::string path = TestPath("out.pcap");
  const auto backend = MustOpen("pcap:,out=" + path);
  Send(*backend, {PatternFrame(1, 60)});
  // What another process sees now is what stays after a SIGKILL.
  EXPECT_THAT(ReadTestFile(path), SizeIs(24 + 16 + 60));
}

TEST(PcapTest, IsFinishedFromTheStartWithoutInput) {
  const auto backend = MustOpen("pcap:,out=" + TestPath("out.pcap"));
  EXPECT_TRUE(backend->finished());
  EXPECT_THAT(backend->Receive(1), IsEmpty());
  EXPECT_FALSE(backend->ArmReceive());
  EXPECT_EQ(backend->wake_fd(), -1);
}

TEST(PcapTest, DiscardsAndCountsWhatIsSentWithoutOutput) {
  const auto backend =
      MustOpen("pcap:" +
               WriteTestFile("in.pcap", FileOf({PatternFrame(1, 60)}).bytes()));
  EXPECT_EQ(Send(*backend, {PatternFrame(1, 60), PatternFrame(2, 60)}), 2u);
  EXPECT_EQ(CounterValue(*backend, "tx_discarded"), 2u);
}

TEST(PcapTest, FinishesAFileWithoutFrames) {
  for (const std::string options : {"", ",loop=on"}) {
    const auto backend = MustOpen(
        "pcap:" +
        WriteTestFile("in.pcap", File().PcapRecord(0, 0, {}, 60).bytes()) +
        options);
    EXPECT_THAT(backend->Receive(1), IsEmpty());
    EXPECT_TRUE(backend->finished());
    EXPECT_EQ(CounterValue(*backend, "rx_empty_record"), 1u);
  }
}

TEST(PcapTest, GivesRecordsWithoutBytesIfAsked) {
  const auto backend = MustOpen(
      "pcap:" +
      WriteTestFile("in.pcap", File()
                                   .PcapRecord(0, 0, {}, 60)
                                   .PcapRecord(0, 0, FrameBytes(60), 60)
                                   .PcapRecord(0, 0, {}, 0)
                                   .bytes()) +
      ",empty=on");
  EXPECT_THAT(TakeFrames(*backend, 3),
              ElementsAre(IsEmpty(), FrameBytes(60), IsEmpty()));
  EXPECT_EQ(CounterValue(*backend, "rx_empty_record"), 0u);
  EXPECT_EQ(CounterValue(*backend, "rx_captured_short"), 1u);
}

TEST(PcapTest, CountsFramesThatWereCapturedShort) {
  const auto backend =
      MustOpen("pcap:" + WriteTestFile("in.pcap",
                                       File()
                                           .PcapRecord(0, 0, FrameBytes(60), 61)
                                           .PcapRecord(0, 0, FrameBytes(60), 60)
                                           .bytes()));
  EXPECT_THAT(TakeFrames(*backend, 2),
              ElementsAre(FrameBytes(60), FrameBytes(60)));
  EXPECT_EQ(CounterValue(*backend, "rx_captured_short"), 1u);
}

TEST(PcapTest, WarnsOnceOfATruncatedFileAfterTheFramesBeforeTheCut) {
  std::vector<std::byte> bytes =
      FileOf({PatternFrame(1, 60), PatternFrame(2, 60)}).bytes();
  bytes.resize(bytes.size() - 1);
  const std::string path = WriteTestFile("in.pcap", bytes);
  const auto backend = MustOpen("pcap:" + path);
  EXPECT_EQ(backend->TakeWarning(), "");
  EXPECT_THAT(TakeFrames(*backend, 2), ElementsAre(PatternFrame(1, 60)));
  EXPECT_TRUE(backend->finished());
  EXPECT_EQ(backend->TakeWarning(),
            path +
                ": the file ends inside the record at byte 100; only the "
                "frames before it were replayed");
  EXPECT_EQ(backend->TakeWarning(), "");
}

TEST(PcapTest, StartsAgainAtTheEndWhenItLoops) {
  const std::vector<FrameBytes> frames = {PatternFrame(1, 60),
                                          PatternFrame(2, 61)};
  const auto backend = MustOpen(
      "pcap:" + WriteTestFile("in.pcap", FileOf(frames).bytes()) + ",loop=on");
  const std::vector<FrameBytes> taken = TakeFrames(*backend, 1001);
  ASSERT_THAT(taken, SizeIs(1001));
  for (size_t i = 0; i < taken.size(); ++i) {
    ASSERT_EQ(taken[i], frames[i % 2]);
  }
  EXPECT_FALSE(backend->finished());
}

TEST(PcapTest, CountsAndWarnsOnceWhenNothingCanBeWritten) {
  const std::string path = TestPath("out.pcap");
  const auto backend = MustOpen("pcap:,out=" + path);
  const FileSizeLimit limit(50);
  Send(*backend, {PatternFrame(1, 60)});
  Send(*backend, {PatternFrame(2, 60)});
  EXPECT_EQ(CounterValue(*backend, "tx_write_error"), 2u);
  EXPECT_EQ(backend->TakeWarning(), path +
                                        ": write: File too large; frames are "
                                        "lost (tx_write_error)");
  EXPECT_EQ(backend->TakeWarning(), "");
}

TEST(PcapTest, DropsAndCountsWhatNoRecordHolds) {
  const auto backend = MustOpen("pcap:,out=" + TestPath("out.pcap"));
  EXPECT_EQ(Send(*backend, {FrameBytes(2'000'000), PatternFrame(1, 60)}), 2u);
  EXPECT_EQ(CounterValue(*backend, "tx_too_long"), 1u);
}

TEST(PcapTest, TellsWhatItIs) {
  const std::string path =
      WriteTestFile("in.pcap", FileOf({PatternFrame(1, 60)}).bytes());
  EXPECT_EQ(MustOpen("pcap:" + path)->info().mtu_bytes, 9216u);
  const auto backend = MustOpen("pcap:" + path + ",mtu=1500");
  EXPECT_EQ(backend->info().mtu_bytes, 1500u);
  EXPECT_TRUE(backend->info().flow_control);
  EXPECT_EQ(backend->info().mac.octets[0] & 3, 2);
  EXPECT_NE(backend->info().mac, MustOpen("pcap:" + path)->info().mac);
}

TEST(PcapTest, RefusesBadKeys) {
  EXPECT_EQ(OpenError("pcap:"),
            "pcap:: names no file; want pcap:IN, pcap:,out=OUT or both");
  EXPECT_THAT(OpenError("pcap:a,speed=9"), HasSubstr("unknown key"));
  EXPECT_THAT(OpenError("pcap:a,mtu=65536"), HasSubstr("from 68 to 65535"));
  EXPECT_THAT(OpenError("pcap:a,loop=yes"), HasSubstr("\"on\" or \"off\""));
  EXPECT_THAT(OpenError("pcap:/nowhere/a"), HasSubstr("No such file"));
  const std::string path =
      WriteTestFile("in.pcap", FileOf({PatternFrame(1, 60)}).bytes());
  EXPECT_EQ(OpenError("pcap:" + path + ",out=" + path),
            path + ": is the input and the output; name another file");
}

}  // namespace
}  // namespace weir::hca
