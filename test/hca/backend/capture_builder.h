// Capture files as bytes, made field by field: what the readers under test are
// compared with, so it shares nothing with them.

#ifndef WEIR_TEST_HCA_BACKEND_CAPTURE_BUILDER_H_
#define WEIR_TEST_HCA_BACKEND_CAPTURE_BUILDER_H_

#include <sys/resource.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weir::hca {

enum class ByteOrder { kLittle, kBig };

// Integers in the order of the file, one after the other.
class CaptureBuilder {
 public:
  explicit CaptureBuilder(ByteOrder order) : order_(order) {}

  CaptureBuilder& U16(uint16_t value) { return Integer(value, 2); }
  CaptureBuilder& U32(uint32_t value) { return Integer(value, 4); }
  CaptureBuilder& U64(uint64_t value) { return Integer(value, 8); }
  CaptureBuilder& Raw(std::span<const std::byte> bytes);
  // Zeros up to the next multiple of four.
  CaptureBuilder& Pad();

  // pcap: the file header and a record of `captured` of which `wire` bytes were
  // on the wire.
  CaptureBuilder& PcapHeader(uint32_t magic, uint32_t link_type = 1,
                             uint32_t snaplen = 262144);
  CaptureBuilder& PcapRecord(uint32_t seconds, uint32_t fraction,
                             std::span<const std::byte> captured,
                             uint32_t wire);

  // pcapng: a whole block around `body`.
  CaptureBuilder& Block(uint32_t type, const CaptureBuilder& body);
  CaptureBuilder& Section();
  // `options` as they stand in the block, with their end.
  CaptureBuilder& Interface(uint16_t link_type = 1, uint32_t snaplen = 0,
                            const std::vector<std::byte>& options = {});
  CaptureBuilder& EnhancedPacket(uint32_t interface, uint64_t ticks,
                                 std::span<const std::byte> captured,
                                 uint32_t wire);
  CaptureBuilder& ObsoletePacket(uint16_t interface, uint64_t ticks,
                                 std::span<const std::byte> captured,
                                 uint32_t wire);
  CaptureBuilder& SimplePacket(std::span<const std::byte> captured,
                               uint32_t wire);

  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  CaptureBuilder& Integer(uint64_t value, size_t size);

  ByteOrder order_;
  std::vector<std::byte> bytes_;
};

// A path in the directory that the test may write to.
std::string TestPath(const std::string& name);

// Writes `bytes` to that path, which it returns.
std::string WriteTestFile(const std::string& name,
                          std::span<const std::byte> bytes);

// The bytes of the file at `path`.
std::vector<std::byte> ReadTestFile(const std::string& path);

// No file of this process grows beyond `bytes` as long as this lives: writes
// fail with EFBIG.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes);
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit();

 private:
  rlimit before_{};
  sighandler_t old_handler_;
};

}  // namespace weir::hca

#endif  // WEIR_TEST_HCA_BACKEND_CAPTURE_BUILDER_H_
