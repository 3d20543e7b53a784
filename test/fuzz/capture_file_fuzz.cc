// Files of any bytes, read as captures, twice: some also through a pipe, which
// has to agree, and some written again, which has to come back the same.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "test/fuzz/input.h"
#include "weir/hca/backend/capture_reader.h"
#include "weir/hca/backend/capture_writer.h"

namespace weir::fuzz {
namespace {

using hca::CaptureReader;
using hca::CaptureRecord;
using hca::CaptureWriter;

// What a pipe holds without a reader (pipe(7)).
constexpr size_t kPipeBytes = 65536;
// One input in so many goes through a pipe, one is copied.
constexpr size_t kTurns = 256;
// A pcap file counts seconds in 32 bits.
constexpr uint64_t kTimeLimitNs = (uint64_t{1} << 32) * 1'000'000'000;

std::string PathOf(int fd) { return absl::StrCat("/proc/self/fd/", fd); }

// A file without a name.
class MemoryFile {
 public:
  MemoryFile() : fd_(memfd_create("capture", MFD_CLOEXEC)) {
    Require(fd_ >= 0, "there is memory for a file");
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { close(fd_); }

  void Fill(std::span<const uint8_t> bytes) const {
    Require(
        ftruncate(fd_, 0) == 0 && pwrite(fd_, bytes.data(), bytes.size(), 0) ==
                                      static_cast<ssize_t>(bytes.size()),
        "the file takes the input");
  }
  std::string path() const { return PathOf(fd_); }

 private:
  int fd_;
};

struct Frame {
  std::vector<std::byte> bytes;
  uint64_t timestamp_ns;

  friend bool operator==(const Frame&, const Frame&) = default;
};

std::vector<Frame> ReadAll(CaptureReader& reader) {
  const std::span<const std::byte> file = reader.file().bytes();
  std::vector<Frame> frames;
  while (const auto record = reader.Next()) {
    Require(record->wire_bytes >= record->bytes.size(),
            "no more is captured than there was");
    Require(
        record->bytes.empty() || (record->bytes.data() >= file.data() &&
                                  record->bytes.data() + record->bytes.size() <=
                                      file.data() + file.size()),
        "a frame lies inside the file");
    frames.push_back({.bytes = {record->bytes.begin(), record->bytes.end()},
                      .timestamp_ns = record->timestamp_ns});
  }
  Require(!reader.Next().has_value(), "an end is an end");
  return frames;
}

absl::StatusOr<CaptureReader> OpenThroughPipe(std::span<const uint8_t> bytes) {
  int ends[2] = {-1, -1};
  Require(pipe2(ends, O_CLOEXEC) == 0 &&
              write(ends[1], bytes.data(), bytes.size()) ==
                  static_cast<ssize_t>(bytes.size()),
          "a pipe takes the input");
  // The reader's own end sees the end of the file once this one is closed.
  close(ends[1]);
  auto reader = CaptureReader::Open(PathOf(ends[0]));
  close(ends[0]);
  return reader;
}

void WriteAll(const std::vector<Frame>& frames, const std::string& path) {
  auto writer = CaptureWriter::Create(path, nullptr);
  Require(writer.ok(), "a file can be written");
  for (const Frame& frame : frames) {
    const iovec segment = {
        // iovec wants it so; nothing is written there.
        // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
        .iov_base = const_cast<std::byte*>(frame.bytes.data()),
        .iov_len = frame.bytes.size()};
    const auto length = static_cast<uint32_t>(frame.bytes.size());
    if (writer->Append({&segment, 1}, length, frame.timestamp_ns)) continue;
    Require(writer->Flush().error == 0, "what was gathered is written");
    Require(writer->Append({&segment, 1}, length, frame.timestamp_ns),
            "a frame fits after a flush");
  }
  Require(writer->Flush().lost_frames == 0, "nothing is lost");
}

void CheckCopy(const std::vector<Frame>& frames, const std::string& path) {
  WriteAll(frames, path);
  auto reader = CaptureReader::Open(path);
  Require(reader.ok(), "what was written is a capture");
  Require(ReadAll(*reader) == frames, "what was written is what was read");
  Require(!reader->defect().has_value(), "what was written is whole");
}

void CheckPipe(absl::StatusOr<CaptureReader>& reader,
               std::span<const uint8_t> bytes) {
  auto piped = OpenThroughPipe(bytes);
  Require(reader.ok() == piped.ok(), "a pipe is as good as a file");
  if (!reader.ok()) return;
  Require(ReadAll(*piped) == ReadAll(*reader),
          "a pipe holds what a file holds");
  reader->Rewind();
}

void Run(std::span<const uint8_t> bytes) {
  static const auto* const input = new MemoryFile;
  static const auto* const output = new MemoryFile;
  input->Fill(bytes);
  auto reader = CaptureReader::Open(input->path());
  // A pipe and a writer have buffers of megabytes: not for each input.
  const size_t turn =
      std::accumulate(bytes.begin(), bytes.end(), size_t{0}) % kTurns;
  if (turn == 0) CheckPipe(reader, bytes);
  if (!reader.ok()) {
    Require(!reader.status().message().empty(), "a refusal has a reason");
    return;
  }
  const std::vector<Frame> frames = ReadAll(*reader);
  reader->Rewind();
  Require(ReadAll(*reader) == frames, "a file reads the same twice");
  if (turn == 1 && std::ranges::all_of(frames, [](const Frame& frame) {
        return frame.timestamp_ns < kTimeLimitNs;
      })) {
    CheckCopy(frames, output->path());
  }
}

}  // namespace
}  // namespace weir::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size <= weir::fuzz::kPipeBytes) weir::fuzz::Run({data, size});
  return 0;
}
