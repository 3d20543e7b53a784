#include "weir/port/port_files.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace weir {
namespace {

std::string PathOf(const std::string& name) {
  return std::string(std::getenv("TEST_TMPDIR")) + "/" + name;
}

TEST(PortFilesTest, AreThoseOfCaptures) {
  const PortFiles both = FilesOfPort("pcap:in,mtu=1500,out=to,loop=on");
  EXPECT_EQ(both.input, "in");
  EXPECT_EQ(both.output, "to");
  const PortFiles output = FilesOfPort("pcap:,out=to");
  EXPECT_EQ(output.input, "");
  EXPECT_EQ(output.output, "to");
  EXPECT_EQ(FilesOfPort("wire:in,out=to").output, "");
}

TEST(PortFilesTest, AreOpenedToWriteUnlessTheNameSaysOtherwise) {
  EXPECT_EQ(WithoutOutput("pcap:,out=to"), "pcap:,out=to,plan=on");
  EXPECT_EQ(WithoutOutput("pcap:in"), "pcap:in");
}

TEST(PortFilesTest, AreTheSameByWhateverPath) {
  const std::string file = PathOf("file");
  std::ofstream(file) << "x";
  std::filesystem::create_hard_link(file, PathOf("hard"));
  std::filesystem::create_symlink(file, PathOf("soft"));
  EXPECT_TRUE(IsSameFile(file, PathOf("./file")));
  EXPECT_TRUE(IsSameFile(file, PathOf("hard")));
  EXPECT_TRUE(IsSameFile(file, PathOf("soft")));
  EXPECT_TRUE(IsSameFile(PathOf("missing"), PathOf("./missing")));
  EXPECT_FALSE(IsSameFile(file, PathOf("missing")));
  EXPECT_FALSE(IsSameFile("/dev/null", "/dev/null"));
  EXPECT_FALSE(IsSameFile("", ""));
}

TEST(PortFilesTest, MayBothBeRead) {
  const std::string file = PathOf("read");
  const std::vector<std::string> ports = {"null:", "pcap:" + file};
  EXPECT_TRUE(CheckIsOfNoPort("--file", file, FileUse::kRead, ports).ok());
  EXPECT_EQ(CheckIsOfNoPort("--to", file, FileUse::kWrite, ports),
            absl::InvalidArgumentError("--to: " + file + ": port pcap:" + file +
                                       " reads this file; name another file"));
}

TEST(PortFilesTest, AreNotWrittenByOnePortAndReadByAnother) {
  const std::string file = PathOf("shared");
  EXPECT_TRUE(CheckInputsAreKept(
                  std::vector<std::string>{"pcap:" + file, "pcap:" + file})
                  .ok());
  EXPECT_FALSE(CheckInputsAreKept(std::vector<std::string>{"pcap:,out=" + file,
                                                           "pcap:" + file})
                   .ok());
}

}  // namespace
}  // namespace weir
