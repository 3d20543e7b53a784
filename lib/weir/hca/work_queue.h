// What a completion refers to: a send or receive queue, of a queue pair or by
// itself, as the account of its work requests.

#ifndef WEIR_HCA_WORK_QUEUE_H_
#define WEIR_HCA_WORK_QUEUE_H_

#include <cstdint>

#include "weir/base/counter.h"

namespace weir::hca {

class WorkQueue {
 public:
  // `number` is that of the queue pair, or of the work queue if there is none.
  explicit WorkQueue(uint32_t number) : number_(number) {}
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  uint32_t number() const noexcept { return number_; }

  // The first `done` requests ever posted are complete and polled. Under the
  // lock of the completion queue.
  void Retire(uint32_t done) noexcept { retired_.Set(done); }
  // `count` more than before are. Under the lock of the completion queue.
  void RetireNext(uint32_t count) noexcept { retired_.Add(count); }

 protected:
  ~WorkQueue() = default;

  // Free-running. Any thread.
  uint32_t retired() const noexcept {
    return static_cast<uint32_t>(retired_.value());
  }

 private:
  uint32_t number_;
  Counter retired_;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_WORK_QUEUE_H_
