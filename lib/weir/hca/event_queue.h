// A queue of events that needs no memory, so that bad news can always be told:
// whatever events are about brings its place in the queue along.

#ifndef WEIR_HCA_EVENT_QUEUE_H_
#define WEIR_HCA_EVENT_QUEUE_H_

#include <cstdint>

namespace weir::hca {

// What events are about; stays where it is in memory. The owner of the queue
// guards it.
struct EventSource {
  EventSource* next = nullptr;
  // Events that wait, and those that were taken ever.
  uint32_t queued = 0;
  uint32_t taken = 0;
};

// Oldest first; where a source has several events, those behind its first wait
// until every other source had its turn. Serialised by its owner.
class EventQueue {
 public:
  EventQueue() = default;
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  bool empty() const noexcept { return first_ == nullptr; }

  void Add(EventSource& source) noexcept {
    if (source.queued++ == 0) Append(source);
  }

  // The source of the event that is next, which is taken; null if there is
  // none.
  EventSource* Take() noexcept {
    EventSource* const source = first_;
    if (source == nullptr) return nullptr;
    first_ = source->next;
    ++source->taken;
    if (--source->queued > 0) Append(*source);
    return source;
  }

  // Forgets the events of a source.
  void Drop(EventSource& source) noexcept {
    EventSource* before = nullptr;
    for (EventSource* at = first_; at != nullptr; before = at, at = at->next) {
      if (at != &source) continue;
      (before == nullptr ? first_ : before->next) = source.next;
      if (last_ == &source) last_ = before;
      break;
    }
    source.queued = 0;
  }

 private:
  void Append(EventSource& source) noexcept {
    source.next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = &source;
    last_ = &source;
  }

  EventSource* first_ = nullptr;
  // Means something while there is a first.
  EventSource* last_ = nullptr;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_EVENT_QUEUE_H_
