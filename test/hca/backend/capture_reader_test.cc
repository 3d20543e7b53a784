#include "weir/hca/backend/capture_reader.h"

#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <thread>
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

constexpr uint32_t kMicro = 0xa1b2c3d4;
constexpr uint32_t kNano = 0xa1b23c4d;

struct Record {
  FrameBytes bytes;
  uint32_t wire_bytes;
  uint64_t timestamp_ns;

  friend bool operator==(const Record&, const Record&) = default;
};

std::vector<Record> ReadAll(CaptureReader& reader) {
  std::vector<Record> records;
  while (const auto record = reader.Next()) {
    records.push_back({FrameBytes(record->bytes.begin(), record->bytes.end()),
                       record->wire_bytes, record->timestamp_ns});
  }
  return records;
}

CaptureReader MustOpen(const std::vector<std::byte>& bytes) {
  auto reader = CaptureReader::Open(WriteTestFile("capture", bytes));
  EXPECT_TRUE(reader.ok()) << reader.status();
  return *std::move(reader);
}

// The error, without the path in front.
std::string OpenError(const std::vector<std::byte>& bytes) {
  const std::string path = WriteTestFile("capture", bytes);
  const auto reader = CaptureReader::Open(path);
  if (reader.ok()) return "opened";
  const std::string message(reader.status().message());
  EXPECT_EQ(message.find(path + ": "), 0u) << message;
  return message.substr(path.size() + 2);
}

class CaptureReaderTest : public testing::TestWithParam<ByteOrder> {
 protected:
  static CaptureBuilder Build() { return CaptureBuilder(GetParam()); }
  // if_tsresol (9) or if_tsoffset (14) with `value`, behind a comment (1).
  static std::vector<std::byte> Options(uint16_t code,
                                        const CaptureBuilder& value) {
    return Build()
        .U16(1)
        .U16(5)
        .Raw(FrameBytes(5, std::byte{'x'}))
        .Pad()
        .U16(code)
        .U16(static_cast<uint16_t>(value.bytes().size()))
        .Raw(value.bytes())
        .Pad()
        .U16(0)
        .U16(0)
        .bytes();
  }
  static std::vector<std::byte> Resolution(int value) {
    return Options(9,
                   Build().Raw(FrameBytes(1, static_cast<std::byte>(value))));
  }

  const FrameBytes a_ = PatternFrame(1, 61);
  const FrameBytes b_ = PatternFrame(2, 14);
};

INSTANTIATE_TEST_SUITE_P(Orders, CaptureReaderTest,
                         testing::Values(ByteOrder::kLittle, ByteOrder::kBig));

TEST_P(CaptureReaderTest, ReadsPcapWithMicroseconds) {
  CaptureReader reader =
      MustOpen(Build()
                   .PcapHeader(kMicro)
                   .PcapRecord(1'700'000'000, 123'456, a_, 61)
                   .PcapRecord(4'000'000'000, 999'999, b_, 14)
                   .bytes());
  EXPECT_THAT(ReadAll(reader),
              ElementsAre(Record{a_, 61, 1'700'000'000'123'456'000},
                          Record{b_, 14, 4'000'000'000'999'999'000}));
  EXPECT_FALSE(reader.defect().has_value());
}

TEST_P(CaptureReaderTest, ReadsPcapWithNanosecondsAndAnySnaplen) {
  for (const uint32_t snaplen : {0u, 1u, 0xffffffffu}) {
    CaptureReader reader =
        MustOpen(Build()
                     .PcapHeader(kNano, 1, snaplen)
                     .PcapRecord(1'700'000'000, 123'456'789, a_, 61)
                     .bytes());
    EXPECT_THAT(ReadAll(reader),
                ElementsAre(Record{a_, 61, 1'700'000'000'123'456'789}));
  }
}

TEST_P(CaptureReaderTest, KeepsEmptyAndShortAndOverlongRecords) {
  CaptureReader reader = MustOpen(Build()
                                      .PcapHeader(kNano)
                                      .PcapRecord(0, 0, {}, 60)
                                      .PcapRecord(0, 1, a_, 1514)
                                      .PcapRecord(0, 2, b_, 1)
                                      .bytes());
  EXPECT_THAT(
      ReadAll(reader),
      ElementsAre(Record{{}, 60, 0}, Record{a_, 1514, 1}, Record{b_, 14, 2}));
}

TEST_P(CaptureReaderTest, ReadsPcapngWithEveryKindOfBlock) {
  const auto body = Build().U32(1).U32(2);
  CaptureReader reader = MustOpen(Build()
                                      .Section()
                                      .Block(0x80000001, body)
                                      .Interface()
                                      .Block(4, body)
                                      .EnhancedPacket(0, 1'000'001, a_, 61)
                                      .Block(5, body)
                                      .SimplePacket(b_, 14)
                                      .ObsoletePacket(0, 2, a_, 100)
                                      .bytes());
  EXPECT_THAT(ReadAll(reader),
              ElementsAre(Record{a_, 61, 1'000'001'000}, Record{b_, 14, 0},
                          Record{a_, 100, 2'000}));
  EXPECT_FALSE(reader.defect().has_value());
}

TEST_P(CaptureReaderTest, TakesTheLengthOfASimplePacketFromTheSnaplen) {
  CaptureReader reader = MustOpen(
      Build().Section().Interface(1, 14).SimplePacket(b_, 1000).bytes());
  EXPECT_THAT(ReadAll(reader), ElementsAre(Record{b_, 1000, 0}));
}

TEST_P(CaptureReaderTest, ReadsTimesOfEveryResolution) {
  struct Case {
    int resolution;
    uint64_t ticks;
    uint64_t want_ns;
  };
  const std::vector<Case> cases = {
      {0, 3, 3'000'000'000},
      {6, 3, 3'000},
      {9, 1'700'000'000'123'456'789, 1'700'000'000'123'456'789},
      {12, 5'999, 5},
      {28, uint64_t{1} << 63, 0},
      {127, 1, 0},
      {0x80 | 0, 2, 2'000'000'000},
      {0x80 | 1, 3, 1'500'000'000},
      {0x80 | 32, uint64_t{1} << 31, 500'000'000},
      {0x80 | 63, uint64_t{1} << 63, 1'000'000'000},
      {0xff, 1, 0}};
  for (const Case& test : cases) {
    CaptureReader reader =
        MustOpen(Build()
                     .Section()
                     .Interface(1, 0, Resolution(test.resolution))
                     .EnhancedPacket(0, test.ticks, a_, 61)
                     .bytes());
    EXPECT_THAT(ReadAll(reader), ElementsAre(Record{a_, 61, test.want_ns}))
        << test.resolution;
  }
}

TEST_P(CaptureReaderTest, AddsTheOffsetOfTheInterface) {
  CaptureReader reader =
      MustOpen(Build()
                   .Section()
                   .Interface(1, 0, Options(14, Build().U64(1'700'000'000)))
                   .EnhancedPacket(0, 7, a_, 61)
                   .bytes());
  EXPECT_THAT(ReadAll(reader),
              ElementsAre(Record{a_, 61, 1'700'000'000'000'007'000}));
}

TEST_P(CaptureReaderTest, KeepsInterfacesAndSectionsApart) {
  const ByteOrder other =
      GetParam() == ByteOrder::kLittle ? ByteOrder::kBig : ByteOrder::kLittle;
  CaptureReader reader = MustOpen(Build()
                                      .Section()
                                      .Interface(1, 0, Resolution(9))
                                      .Interface(1, 0, Resolution(0))
                                      .EnhancedPacket(1, 5, a_, 61)
                                      .EnhancedPacket(0, 5, b_, 14)
                                      .Raw(CaptureBuilder(other)
                                               .Section()
                                               .Interface()
                                               .EnhancedPacket(0, 5, a_, 61)
                                               .bytes())
                                      .bytes());
  EXPECT_THAT(ReadAll(reader),
              ElementsAre(Record{a_, 61, 5'000'000'000}, Record{b_, 14, 5},
                          Record{a_, 61, 5'000}));
}

TEST_P(CaptureReaderTest, SkipsPacketsOfLaterInterfacesOfAnotherKind) {
  CaptureReader reader = MustOpen(Build()
                                      .Section()
                                      .Interface()
                                      .EnhancedPacket(0, 1, a_, 61)
                                      .Interface(113)
                                      .EnhancedPacket(1, 2, b_, 14)
                                      .EnhancedPacket(0, 3, b_, 14)
                                      .bytes());
  EXPECT_THAT(ReadAll(reader),
              ElementsAre(Record{a_, 61, 1'000}, Record{b_, 14, 3'000}));
  EXPECT_EQ(reader.foreign_packets(), 1u);
}

TEST_P(CaptureReaderTest, BeginsAgainAfterRewind) {
  for (const auto& bytes :
       {Build().PcapHeader(kNano).PcapRecord(0, 1, a_, 61).bytes(),
        Build().Section().Interface().EnhancedPacket(0, 1, a_, 61).bytes()}) {
    CaptureReader reader = MustOpen(bytes);
    EXPECT_THAT(ReadAll(reader), SizeIs(1));
    EXPECT_THAT(ReadAll(reader), IsEmpty());
    reader.Rewind();
    EXPECT_THAT(ReadAll(reader), SizeIs(1));
  }
}

// Whatever a file is cut to: the records that are whole come out, then either
// the end, if the cut is between two, or a defect at the cut record.
TEST_P(CaptureReaderTest, ReadsUpToTheCutWhereverItIs) {
  struct Variant {
    std::vector<std::byte> header;
    std::vector<std::byte> first;
    std::vector<std::byte> second;
  };
  const std::vector<Variant> variants = {
      {Build().PcapHeader(kNano).bytes(),
       Build().PcapRecord(0, 1, a_, 61).bytes(),
       Build().PcapRecord(0, 2, b_, 14).bytes()},
      {Build().Section().Interface().bytes(),
       Build().EnhancedPacket(0, 1, a_, 61).bytes(),
       Build().EnhancedPacket(0, 2, b_, 14).bytes()}};
  for (const Variant& variant : variants) {
    const std::vector<std::byte> whole = Build()
                                             .Raw(variant.header)
                                             .Raw(variant.first)
                                             .Raw(variant.second)
                                             .bytes();
    const size_t first_at = variant.header.size();
    const size_t second_at = first_at + variant.first.size();
    for (size_t size = first_at; size <= whole.size(); ++size) {
      CaptureReader reader =
          MustOpen({whole.begin(), whole.begin() + static_cast<long>(size)});
      const size_t complete = size == whole.size() ? 2
                              : size >= second_at  ? 1
                                                   : 0;
      EXPECT_THAT(ReadAll(reader), SizeIs(complete)) << size;
      const bool clean =
          size == first_at || size == second_at || size == whole.size();
      ASSERT_EQ(reader.defect().has_value(), !clean) << size;
      if (clean) continue;
      EXPECT_EQ(reader.defect()->offset_bytes,
                complete == 0 ? first_at : second_at);
      EXPECT_THAT(std::string(reader.defect()->what),
                  HasSubstr("the file ends inside"));
    }
  }
}

TEST_P(CaptureReaderTest, RefusesAFileCutInsideItsHeader) {
  const auto pcap = Build().PcapHeader(kNano).bytes();
  const auto pcapng = Build().Section().bytes();
  for (size_t size = 1; size < pcap.size(); ++size) {
    EXPECT_NE(OpenError({pcap.begin(), pcap.begin() + static_cast<long>(size)}),
              "opened");
  }
  for (size_t size = 1; size < pcapng.size(); ++size) {
    EXPECT_NE(
        OpenError({pcapng.begin(), pcapng.begin() + static_cast<long>(size)}),
        "opened");
  }
}

TEST_P(CaptureReaderTest, StopsAtBlocksThatContradictThemselves) {
  const auto start = Build().Section().Interface().EnhancedPacket(0, 1, a_, 61);
  const auto what = [&](const CaptureBuilder& behind) {
    CaptureReader reader =
        MustOpen(CaptureBuilder(start).Raw(behind.bytes()).bytes());
    EXPECT_THAT(ReadAll(reader), SizeIs(1));
    if (!reader.defect().has_value()) return std::string("none");
    EXPECT_EQ(reader.defect()->offset_bytes, start.bytes().size());
    return std::string(reader.defect()->what);
  };
  EXPECT_EQ(what(Build().U32(6).U32(8).U32(8)),
            "the block has an impossible length");
  EXPECT_EQ(what(Build().U32(6).U32(13).U32(13).U32(13)),
            "the block has an impossible length");
  EXPECT_EQ(what(Build().U32(6).U32(16).U32(0).U32(20)),
            "the two lengths of the block differ");
  EXPECT_EQ(what(Build().U32(6).U32(0xfffffffc).U32(0)),
            "the file ends inside the block");
  EXPECT_EQ(what(Build().EnhancedPacket(1, 0, a_, 61)),
            "the packet is of an interface that is not declared");
  EXPECT_EQ(what(Build().Block(
                6, Build().U32(0).U32(0).U32(0).U32(0xffffffff).U32(0))),
            "the packet is longer than its block");
  EXPECT_EQ(what(Build().Block(6, Build().U32(0))),
            "the packet block is too short");
  EXPECT_EQ(what(Build().Block(3, Build())), "the packet block is too short");
  EXPECT_EQ(what(Build().SimplePacket(a_, 1000)),
            "the packet is longer than its block");
}

TEST_P(CaptureReaderTest, ForgetsInterfacesAtTheNextSection) {
  CaptureReader reader = MustOpen(
      Build().Section().Interface().Section().SimplePacket(a_, 61).bytes());
  EXPECT_THAT(ReadAll(reader), IsEmpty());
  ASSERT_TRUE(reader.defect().has_value());
  EXPECT_EQ(reader.defect()->what,
            "the packet is of an interface that is not declared");
}

TEST_P(CaptureReaderTest, RefusesOtherLinkTypesByName) {
  EXPECT_EQ(OpenError(Build().PcapHeader(kNano, 113).bytes()),
            "link type 113 (Linux cooked capture); only Ethernet captures can "
            "be read");
  EXPECT_EQ(OpenError(Build().Section().Interface().Interface(999).bytes()),
            "link type 999; only Ethernet captures can be read");
}

TEST(CaptureReaderOpenTest, RefusesWhatIsNoCapture) {
  EXPECT_EQ(OpenError({}), "is empty; want a pcap or pcapng capture");
  EXPECT_EQ(OpenError(FrameBytes(100, std::byte{'x'})),
            "is not a capture; want a pcap or pcapng file");
  const auto message = [](const std::string& path) {
    return std::string(CaptureReader::Open(path).status().message());
  };
  EXPECT_EQ(message("/nowhere/a.pcap"),
            "/nowhere/a.pcap: open: No such file or directory");
  EXPECT_EQ(message("/"), "/: is a directory; want a capture file or a pipe");
  EXPECT_EQ(message("/dev/null"),
            "/dev/null: is a device; want a capture file or a pipe");
}

TEST(CaptureReaderOpenTest, ReadsAPipeToItsEnd) {
  const std::string path = TestPath("pipe");
  unlink(path.c_str());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const FrameBytes frame = PatternFrame(1, 3'000'000);
  std::thread writer([&] {
    WriteTestFile("pipe", CaptureBuilder(ByteOrder::kLittle)
                              .PcapHeader(kNano)
                              .PcapRecord(0, 1, frame, 3'000'000)
                              .bytes());
  });
  auto reader = CaptureReader::Open(path);
  writer.join();
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_THAT(ReadAll(*reader), ElementsAre(Record{frame, 3'000'000, 1}));
}

}  // namespace
}  // namespace weir::hca
