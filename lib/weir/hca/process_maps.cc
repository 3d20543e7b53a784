#include "weir/hca/process_maps.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cerrno>

namespace weir::hca {
namespace {

// struct procmap_query and what belongs to it, of linux/fs.h since 6.11: the
// mapping of an address.
struct MapQuery {
  uint64_t size;
  uint64_t flags;
  uint64_t address;
  uint64_t first;
  uint64_t last;
  uint64_t permissions;
  std::array<uint64_t, 7> rest;
};
static_assert(sizeof(MapQuery) == 104);
constexpr unsigned long kMapQuery = _IOWR('f', 17, MapQuery);
constexpr uint64_t kReadable = 1;
constexpr uint64_t kWritable = 2;

constexpr char kEnd = '\0';

bool IsMapped(const std::byte* address, size_t bytes) noexcept {
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = std::bit_cast<uintptr_t>(address);
  const size_t lead = begin & (page - 1);
  // MS_ASYNC does nothing since Linux 2.6.19 but tell whether all is mapped.
  return msync(std::bit_cast<void*>(begin - lead), bytes + lead, MS_ASYNC) == 0;
}

}  // namespace

ProcessMaps::ProcessMaps(Way way) noexcept
    : fd_(open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC)),
      queries_(way == Way::kBest) {}

ProcessMaps::~ProcessMaps() {
  if (fd_ >= 0) close(fd_);
}

std::optional<Mapping> ProcessMaps::Find(uint64_t address) noexcept {
  if (queries_) {
    const auto found = Query(address);
    if (found.has_value() || errno == ENOENT) return found;
    // The kernel is older.
    queries_ = false;
  }
  for (;;) {
    const auto next = NextOfList();
    if (!next.has_value() || next->first > address) return std::nullopt;
    if (next->last > address) return next;
  }
}

std::optional<Mapping> ProcessMaps::Query(uint64_t address) noexcept {
  MapQuery query{};
  query.size = sizeof query;
  query.address = address;
  if (ioctl(fd_, kMapQuery, &query) != 0) return std::nullopt;
  return Mapping{.first = query.first,
                 .last = query.last,
                 .readable = (query.permissions & kReadable) != 0,
                 .writable = (query.permissions & kWritable) != 0};
}

// Lines are "first-last rwxp ...".
std::optional<Mapping> ProcessMaps::NextOfList() noexcept {
  char end = kEnd;
  Mapping next;
  next.first = ReadHex(end);
  if (end != '-') return std::nullopt;
  next.last = ReadHex(end);
  next.readable = ReadChar() == 'r';
  next.writable = ReadChar() == 'w';
  do {
    end = ReadChar();
  } while (end != '\n' && end != kEnd);
  return next;
}

// A number and, in `end`, what follows.
uint64_t ProcessMaps::ReadHex(char& end) noexcept {
  uint64_t value = 0;
  for (;;) {
    end = ReadChar();
    if (end >= '0' && end <= '9') {
      value = (value << 4) | static_cast<uint64_t>(end - '0');
    } else if (end >= 'a' && end <= 'f') {
      value = (value << 4) | static_cast<uint64_t>(end - 'a' + 10);
    } else {
      return value;
    }
  }
}

char ProcessMaps::ReadChar() noexcept {
  if (used_ == size_) {
    const ssize_t got = read(fd_, text_.data(), text_.size());
    used_ = 0;
    size_ = got > 0 ? static_cast<size_t>(got) : 0;
    if (size_ == 0) return kEnd;
  }
  return text_[used_++];
}

bool IsPermitted(const std::byte* address, size_t bytes,
                 MemoryUse use) noexcept {
  if (!IsMapped(address, bytes)) return false;
  ProcessMaps maps;
  if (!maps.is_open()) return true;
  const auto begin = std::bit_cast<uintptr_t>(address);
  for (uint64_t at = begin; at < begin + bytes;) {
    const auto mapping = maps.Find(at);
    if (!mapping.has_value()) return false;
    const bool permitted =
        use == MemoryUse::kWrites ? mapping->writable : mapping->readable;
    if (!permitted) return false;
    at = mapping->last;
  }
  return true;
}

}  // namespace weir::hca
