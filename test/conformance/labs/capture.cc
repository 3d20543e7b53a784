#include "test/conformance/labs/capture.h"

#include <array>
#include <cstdint>
#include <fstream>

namespace weir::conformance {
namespace {

// draft-ietf-opsawg-pcap §4 and §5: file header and record header.
constexpr uint32_t kMagicMicroseconds = 0xa1b2c3d4;
constexpr uint32_t kVersion = 2 | (4u << 16);
constexpr uint32_t kSnapLength = 65535;
constexpr uint32_t kLinkTypeEthernet = 1;
using FileHeader = std::array<uint32_t, 6>;
using RecordHeader = std::array<uint32_t, 4>;

}  // namespace

bool WriteCapture(const std::string& path, const std::vector<Bytes>& frames) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  const auto put = [&file](const auto& words) {
    file.write(reinterpret_cast<const char*>(words.data()),
               static_cast<std::streamsize>(words.size() * sizeof(words[0])));
  };
  put(FileHeader{kMagicMicroseconds, kVersion, 0, 0, kSnapLength,
                 kLinkTypeEthernet});
  uint32_t second = 1;
  for (const Bytes& frame : frames) {
    const auto length = static_cast<uint32_t>(frame.size());
    put(RecordHeader{second++, 0, length, length});
    put(frame);
  }
  file.flush();
  return file.good();
}

std::vector<Bytes> ReadCapture(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const auto get = [&file](auto& words) {
    const auto bytes =
        static_cast<std::streamsize>(words.size() * sizeof(words[0]));
    file.read(reinterpret_cast<char*>(words.data()), bytes);
    return file.gcount() == bytes;
  };
  std::vector<Bytes> frames;
  FileHeader header;
  if (!get(header)) return frames;
  for (RecordHeader record; get(record);) {
    Bytes frame(record[2]);
    if (!get(frame)) break;
    frames.push_back(std::move(frame));
  }
  return frames;
}

}  // namespace weir::conformance
