// A limit on how often something is done, such as answering with an ICMP error
// (RFC 4443 §2.4 (f), RFC 1812 §4.3.2.8), in ticks of the TSC clock.

#ifndef WEIR_BASE_TOKEN_BUCKET_H_
#define WEIR_BASE_TOKEN_BUCKET_H_

#include <algorithm>
#include <cstdint>

namespace weir {

// Allows `burst` events at once and one every `interval_ticks` in the long run;
// none ever if `burst` is 0. Owner lcore only.
class TokenBucket {
 public:
  TokenBucket(uint32_t burst, uint64_t interval_ticks) noexcept
      : interval_ticks_(interval_ticks),
        allowance_ticks_(burst * interval_ticks),
        is_closed_(burst == 0) {}

  // Whether an event is allowed at `now_tsc`, which never goes back; it then
  // counts.
  bool Take(uint64_t now_tsc) noexcept {
    // The bucket as a time: that at which it would be full again.
    const uint64_t full_tsc = std::max(full_tsc_, now_tsc) + interval_ticks_;
    if (is_closed_ || full_tsc - now_tsc > allowance_ticks_) return false;
    full_tsc_ = full_tsc;
    return true;
  }

 private:
  uint64_t interval_ticks_;
  uint64_t allowance_ticks_;
  uint64_t full_tsc_ = 0;
  bool is_closed_;
};

}  // namespace weir

#endif  // WEIR_BASE_TOKEN_BUCKET_H_
