// Parses the frames of its input, a line of hexadecimal digits each, and prints
// for each: the error or "ok", offsets of layers 3 and 4, bytes of the trailer,
// protocol, layer 3 and flags.

#include <cstddef>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "weir/net/parse_frame.h"

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    std::vector<std::byte> frame;
    for (size_t i = 0; i + 1 < line.size(); i += 2) {
      frame.push_back(
          static_cast<std::byte>(std::stoi(line.substr(i, 2), nullptr, 16)));
    }
    const weir::net::ParsedFrame found =
        weir::net::ParseFrame(frame, frame.size());
    const bool ok = found.error == weir::net::ParseError::kNone;
    std::printf("%s %d %d %d %d %d %d\n",
                ok ? "ok" : std::string(NameOf(found.error)).c_str(),
                found.l3_offset, found.l4_offset, found.trailer_bytes,
                found.protocol, static_cast<int>(found.l3), found.flags);
  }
  return 0;
}
