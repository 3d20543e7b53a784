#include "weir/capture/pcapng_blocks.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/capture/pcapng_file.h"

namespace weir::pcapng {
namespace {

using ::testing::ElementsAre;
using testing::ParsePcapng;
using testing::PcapngFile;

std::string TextOf(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(PcapngBlocksTest, SectionIsAsTheFormatSays) {
  std::vector<std::byte> out;
  AppendSection("abc", out);
  // §4.1, by hand: type, length, magic, version 1.0, no length, the option
  // shb_userappl padded, the end of options, length.
  EXPECT_EQ(TextOf(out),
            std::string("\x0a\x0d\x0d\x0a\x28\0\0\0\x4d\x3c\x2b\x1a\1\0\0\0"
                        "\xff\xff\xff\xff\xff\xff\xff\xff\4\0\3\0abc\0"
                        "\0\0\0\0\x28\0\0\0",
                        40));
}

TEST(PcapngBlocksTest, PacketIsAsTheFormatSays) {
  std::vector<std::byte> out;
  const std::string bytes = "hello";
  AppendPacket({.interface_id = 1,
                .unix_ns = 0x0102030405060708,
                .bytes = std::as_bytes(std::span(bytes)),
                .frame_bytes = 9,
                .direction = Direction::kOutbound},
               out);
  EXPECT_EQ(TextOf(out),
            std::string("\6\0\0\0\x34\0\0\0\1\0\0\0\4\3\2\1\x08\7\6\5"
                        "\5\0\0\0\x09\0\0\0hello\0\0\0"
                        "\2\0\4\0\2\0\0\0\0\0\0\0\x34\0\0\0",
                        52));
}

TEST(PcapngBlocksTest, KeepInterfacesPacketsAndStatistics) {
  std::vector<std::byte> out;
  AppendSection("weir", out);
  AppendInterface("packet:eth0", 96, out);
  AppendPacket({.comment = "dropped by parse: short"}, out);
  AppendStatistics({.begin_unix_ns = 5,
                    .end_unix_ns = uint64_t{1} << 32 | 7,
                    .seen = 12,
                    .lost = 2,
                    .delivered = 10},
                   out);
  const PcapngFile file = ParsePcapng(TextOf(out));
  EXPECT_THAT(file.block_types, ElementsAre(0x0a0d0d0a, 1, 6, 5));
  EXPECT_THAT(file.interfaces, ElementsAre("packet:eth0"));
  EXPECT_EQ(file.packets.at(0).options.at(1), "dropped by parse: short");
  const auto& counts = file.statistics.at(0);
  EXPECT_EQ(testing::CountOf(counts, 4), 12u);
  EXPECT_EQ(testing::CountOf(counts, 7), 2u);
  EXPECT_EQ(testing::CountOf(counts, 8), 10u);
  EXPECT_EQ(counts.at(3), std::string("\1\0\0\0\7\0\0\0", 8));
}

TEST(PcapngBlocksTest, CutTextThatIsTooLong) {
  std::vector<std::byte> out;
  AppendInterface(std::string(70'000, 'x'), 96, out);
  EXPECT_EQ(ParsePcapng(TextOf(out)).interfaces.at(0), std::string(1024, 'x'));
}

}  // namespace
}  // namespace weir::pcapng
