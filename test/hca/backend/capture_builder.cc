#include "test/hca/backend/capture_builder.h"

#include <fstream>
#include <iterator>

#include "gtest/gtest.h"

namespace weir::hca {

CaptureBuilder& CaptureBuilder::Integer(uint64_t value, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    const size_t shift = order_ == ByteOrder::kLittle ? i : size - 1 - i;
    bytes_.push_back(static_cast<std::byte>(value >> 8 * shift));
  }
  return *this;
}

CaptureBuilder& CaptureBuilder::Raw(std::span<const std::byte> bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  return *this;
}

CaptureBuilder& CaptureBuilder::Pad() {
  while (bytes_.size() % 4 != 0) bytes_.push_back({});
  return *this;
}

CaptureBuilder& CaptureBuilder::PcapHeader(uint32_t magic, uint32_t link_type,
                                           uint32_t snaplen) {
  return U32(magic).U16(2).U16(4).U32(0).U32(0).U32(snaplen).U32(link_type);
}

CaptureBuilder& CaptureBuilder::PcapRecord(uint32_t seconds, uint32_t fraction,
                                           std::span<const std::byte> captured,
                                           uint32_t wire) {
  return U32(seconds)
      .U32(fraction)
      .U32(static_cast<uint32_t>(captured.size()))
      .U32(wire)
      .Raw(captured);
}

CaptureBuilder& CaptureBuilder::Block(uint32_t type,
                                      const CaptureBuilder& body) {
  const auto length = static_cast<uint32_t>(body.bytes_.size() + 12);
  return U32(type).U32(length).Raw(body.bytes_).U32(length);
}

CaptureBuilder& CaptureBuilder::Section() {
  return Block(
      0x0a0d0d0a,
      CaptureBuilder(order_).U32(0x1a2b3c4d).U16(1).U16(0).U64(UINT64_MAX));
}

CaptureBuilder& CaptureBuilder::Interface(
    uint16_t link_type, uint32_t snaplen,
    const std::vector<std::byte>& options) {
  return Block(1, CaptureBuilder(order_).U16(link_type).U16(0).U32(snaplen).Raw(
                      options));
}

CaptureBuilder& CaptureBuilder::EnhancedPacket(
    uint32_t interface, uint64_t ticks, std::span<const std::byte> captured,
    uint32_t wire) {
  return Block(6, CaptureBuilder(order_)
                      .U32(interface)
                      .U32(static_cast<uint32_t>(ticks >> 32))
                      .U32(static_cast<uint32_t>(ticks))
                      .U32(static_cast<uint32_t>(captured.size()))
                      .U32(wire)
                      .Raw(captured)
                      .Pad());
}

CaptureBuilder& CaptureBuilder::ObsoletePacket(
    uint16_t interface, uint64_t ticks, std::span<const std::byte> captured,
    uint32_t wire) {
  return Block(2, CaptureBuilder(order_)
                      .U16(interface)
                      .U16(0xffff)
                      .U32(static_cast<uint32_t>(ticks >> 32))
                      .U32(static_cast<uint32_t>(ticks))
                      .U32(static_cast<uint32_t>(captured.size()))
                      .U32(wire)
                      .Raw(captured)
                      .Pad());
}

CaptureBuilder& CaptureBuilder::SimplePacket(
    std::span<const std::byte> captured, uint32_t wire) {
  return Block(3, CaptureBuilder(order_).U32(wire).Raw(captured).Pad());
}

std::string TestPath(const std::string& name) {
  return testing::TempDir() + "/" + name;
}

std::string WriteTestFile(const std::string& name,
                          std::span<const std::byte> bytes) {
  const std::string path = TestPath(name);
  std::ofstream file(path, std::ios::binary);
  for (const std::byte byte : bytes) file.put(std::to_integer<char>(byte));
  EXPECT_TRUE(file.flush()) << path;
  return path;
}

std::vector<std::byte> ReadTestFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  std::vector<std::byte> bytes;
  for (const char character : text) {
    bytes.push_back(static_cast<std::byte>(character));
  }
  return bytes;
}

FileSizeLimit::FileSizeLimit(rlim_t bytes)
    : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
  EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &before_), 0);
  const rlimit limit = {bytes, before_.rlim_max};
  EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

FileSizeLimit::~FileSizeLimit() {
  setrlimit(RLIMIT_FSIZE, &before_);
  std::signal(SIGXFSZ, old_handler_);
}

}  // namespace weir::hca
