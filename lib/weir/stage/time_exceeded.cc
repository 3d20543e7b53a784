#include "weir/stage/time_exceeded.h"

#include <algorithm>

#include "weir/base/big_endian.h"
#include "weir/base/tsc_clock.h"
#include "weir/mbuf/packet_info.h"
#include "weir/net/icmp.h"
#include "weir/stage/icmp_error.h"

namespace weir {

AnswerTimeouts::AnswerTimeouts(const TimeExceededOptions& options,
                               TimeExceededCounts& counts)
    : answers_(options.answers_per_second == 0 ? 0 : options.answers_at_once,
               TscHz() / std::max(options.answers_per_second, 1U)),
      counts_(&counts) {}

MbufPtr AnswerTimeouts::OnAbandoned(MbufPtr first, ReassemblyDrop reason,
                                    Lcore& lcore) noexcept {
  using Silence = TimeExceededCounts::Silence;
  if (reason != ReassemblyDrop::kTimeout) return {};
  switch (BarTo(*first)) {
    case AnswerBar::kNone:
      break;
    case AnswerBar::kIcmpError:
      return BeSilent(Silence::kIcmpError);
    case AnswerBar::kGroup:
      return BeSilent(Silence::kNotToHost);
    default:
      // It was parsed, and it is no later fragment.
      return BeSilent(Silence::kSource);
  }
  // The destination is what the answer comes from.
  if (!IsToHost(*first)) return BeSilent(Silence::kNotToHost);
  if (!answers_.Take(lcore.now_tsc())) return BeSilent(Silence::kRate);
  const bool is_ipv6 = first->info().l3 == L3::kIpv6;
  const net::IcmpHeader icmp{
      is_ipv6 ? net::kIcmp6TimeExceeded : net::kIcmpTimeExceeded,
      net::kIcmpReassemblyTime, Be16(0), Be32(0)};
  Mbuf* const answer = MakeIcmpError(*first, icmp, {}, lcore.cache());
  if (answer == nullptr) return BeSilent(Silence::kNoMbuf);
  counts_->answered.Add(1);
  return {*answer, lcore.cache()};
}

MbufPtr AnswerTimeouts::BeSilent(TimeExceededCounts::Silence why) noexcept {
  counts_->silent[static_cast<size_t>(why)].Add(1);
  return {};
}

}  // namespace weir
