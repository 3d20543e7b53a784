// Outlets in turn, a packet each: for work that keeps no state of flows and
// whose order does not matter.

#ifndef WEIR_STAGE_CHOOSE_IN_TURN_H_
#define WEIR_STAGE_CHOOSE_IN_TURN_H_

#include <cstdint>

#include "weir/base/check.h"
#include "weir/mbuf/mbuf.h"
#include "weir/pipeline/lcore.h"

namespace weir {

// A chooser. A packet whose outlet was full is given to the next. Owner lcore
// only.
class ChooseInTurn {
 public:
  // Between `outlets`, at least one.
  explicit ChooseInTurn(uint32_t outlets) : outlets_(outlets) {
    Check(outlets > 0, "there is an outlet to choose");
  }

  void Begin(Lcore&) noexcept {}
  uint32_t Choose(const Mbuf&) noexcept {
    const uint32_t turn = next_;
    next_ = turn + 1 == outlets_ ? 0 : turn + 1;
    return turn;
  }

 private:
  uint32_t outlets_;
  uint32_t next_ = 0;
};

}  // namespace weir

#endif  // WEIR_STAGE_CHOOSE_IN_TURN_H_
