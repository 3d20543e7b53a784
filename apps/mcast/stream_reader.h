// Reads what is to be sent from a pipe, a terminal or a file while the lcore
// sends it.

#ifndef APPS_MCAST_STREAM_READER_H_
#define APPS_MCAST_STREAM_READER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "apps/mcast/stream_cutter.h"
#include "weir/base/counter.h"
#include "weir/base/unique_fd.h"
#include "weir/stage/udp/payload_ring.h"

namespace weir::mcast {

// A thread of its own, which waits for the descriptor, and, while the ring is
// full, for room in it: what is not read waits in the pipe. Control thread.
class StreamReader {
 public:
  // Of `fd`, which stays the caller's and is called `name` in messages.
  StreamReader(int fd, std::string name, StreamCutter cutter,
               PayloadWriter writer);
  StreamReader(const StreamReader&) = delete;
  StreamReader& operator=(const StreamReader&) = delete;
  ~StreamReader() { Stop(); }

  // Internal or ResourceExhausted if the system has no descriptor left. Once.
  absl::Status Start();
  // Ends the thread, whatever it waits for.
  void Stop();

  // Why reading ended before the end of the stream, if it did. After Stop.
  const absl::Status& status() const { return status_; }
  // Datagrams that were found in the stream, and those of them that the lcore
  // has taken.
  uint64_t datagrams() const { return datagrams_.value(); }
  uint64_t taken() const { return writer_.taken(); }

 private:
  void Run();
  // False if there are no more bytes, or Stop was called.
  bool Read();
  // Waits until `put` returns true; false if Stop was called before.
  template <typename Put>
  bool WaitFor(const Put& put);
  bool PutAll();

  int fd_;
  std::string name_;
  StreamCutter cutter_;
  PayloadWriter writer_;
  UniqueFd stop_;
  absl::Status status_;
  Counter datagrams_;
  std::thread thread_;
};

}  // namespace weir::mcast

#endif  // APPS_MCAST_STREAM_READER_H_
