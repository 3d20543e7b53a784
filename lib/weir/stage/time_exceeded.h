// What a host tells the sender of a datagram that did not become whole in time:
// "fragment reassembly time exceeded" (RFC 792, RFC 1122 §3.3.2, RFC 8200 §4.5,
// RFC 4443 §3.3).

#ifndef WEIR_STAGE_TIME_EXCEEDED_H_
#define WEIR_STAGE_TIME_EXCEEDED_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "weir/base/counter.h"
#include "weir/base/token_bucket.h"
#include "weir/mbuf/mbuf_ptr.h"
#include "weir/pipeline/lcore.h"
#include "weir/stage/reassemble_and.h"
#include "weir/stage/reassembly_options.h"

namespace weir {

struct TimeExceededOptions {
  // RFC 4443 §2.4 (f). None for 0.
  uint32_t answers_per_second = 1000;
  uint32_t answers_at_once = 50;
};

// Of datagrams that timed out with their first fragment there: how many were
// answered, how many not, and why. Owner lcore writes.
struct TimeExceededCounts {
  enum class Silence : uint8_t {
    // RFC 1122 §3.2.2, RFC 4443 §2.4 (e).
    kIcmpError,
    kSource,
    kNotToHost,
    kRate,
    kNoMbuf,
  };
  static constexpr std::array<absl::string_view, 5> kNames = {
      "ICMP error",    "source is no host", "not sent to one host",
      "over the rate", "no mbuf",
  };

  Counter answered;
  std::array<Counter, kNames.size()> silent;
};

// A handler for ReassembleAnd. It answers as the destination of the datagram,
// for that is where datagrams are put together, and on the port that the
// fragment came by: TransmitBothWays sends what is marked
// PacketInfo::kAnswer. Owner lcore only.
class AnswerTimeouts {
 public:
  // `counts` must outlive this. Control thread, before Launch.
  AnswerTimeouts(const TimeExceededOptions& options,
                 TimeExceededCounts& counts);

  // The answer, if `reason` is a timeout and the sender may be told.
  MbufPtr OnAbandoned(MbufPtr first, ReassemblyDrop reason,
                      Lcore& lcore) noexcept;

 private:
  MbufPtr BeSilent(TimeExceededCounts::Silence why) noexcept;

  TokenBucket answers_;
  TimeExceededCounts* counts_;
};

static_assert(AbandonedHandler<AnswerTimeouts>);

}  // namespace weir

#endif  // WEIR_STAGE_TIME_EXCEEDED_H_
