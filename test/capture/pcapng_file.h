// Reads back what captures write, block by block, by a second, slow way: the
// offsets of draft-ietf-opsawg-pcapng-03 §4, written out.

#ifndef WEIR_TEST_CAPTURE_PCAPNG_FILE_H_
#define WEIR_TEST_CAPTURE_PCAPNG_FILE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace weir::testing {

struct PcapngPacket {
  uint32_t interface_id;
  uint64_t unix_ns;
  std::string bytes;
  uint32_t frame_bytes;
  // By code.
  std::map<uint16_t, std::string> options;
};

struct PcapngFile {
  std::vector<uint32_t> block_types;
  // if_name of each interface.
  std::vector<std::string> interfaces;
  std::vector<PcapngPacket> packets;
  // Options of each statistics block, by code.
  std::vector<std::map<uint16_t, std::string>> statistics;
};

// The integer `at` bytes into `text`.
template <typename T>
T IntegerAt(const std::string& text, size_t at) {
  T value{};
  if (at + sizeof value > text.size()) {
    ADD_FAILURE() << "a block ends early";
    return value;
  }
  std::memcpy(&value, text.data() + at, sizeof value);
  return value;
}

inline uint64_t CountOf(const std::map<uint16_t, std::string>& options,
                        uint16_t code) {
  return IntegerAt<uint64_t>(options.at(code), 0);
}

inline std::map<uint16_t, std::string> OptionsFrom(const std::string& body,
                                                   size_t at) {
  std::map<uint16_t, std::string> options;
  while (at + 4 <= body.size()) {
    const auto code = IntegerAt<uint16_t>(body, at);
    const auto length = IntegerAt<uint16_t>(body, at + 2);
    if (code == 0) break;
    options[code] = body.substr(at + 4, length);
    at += 4 + (length + 3u) / 4 * 4;
  }
  return options;
}

inline PcapngFile ParsePcapng(const std::string& text) {
  PcapngFile file;
  for (size_t at = 0; at < text.size();) {
    const auto type = IntegerAt<uint32_t>(text, at);
    const auto length = IntegerAt<uint32_t>(text, at + 4);
    if (length % 4 != 0 || length < 12 || at + length > text.size() ||
        IntegerAt<uint32_t>(text, at + length - 4) != length) {
      ADD_FAILURE() << "no block at " << at;
      break;
    }
    const std::string body = text.substr(at + 8, length - 12);
    file.block_types.push_back(type);
    if (type == 1) file.interfaces.push_back(OptionsFrom(body, 8).at(2));
    if (type == 5) file.statistics.push_back(OptionsFrom(body, 12));
    if (type == 6) {
      const auto kept = IntegerAt<uint32_t>(body, 12);
      file.packets.push_back(
          {.interface_id = IntegerAt<uint32_t>(body, 0),
           .unix_ns = uint64_t{IntegerAt<uint32_t>(body, 4)} << 32 |
                      IntegerAt<uint32_t>(body, 8),
           .bytes = body.substr(20, kept),
           .frame_bytes = IntegerAt<uint32_t>(body, 16),
           .options = OptionsFrom(body, 20 + (kept + 3u) / 4 * 4)});
    }
    at += length;
  }
  return file;
}

inline PcapngFile ReadPcapng(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return ParsePcapng({std::istreambuf_iterator<char>(in), {}});
}

}  // namespace weir::testing

#endif  // WEIR_TEST_CAPTURE_PCAPNG_FILE_H_
