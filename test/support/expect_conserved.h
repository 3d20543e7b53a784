// The law that every pipeline keeps, checked against the pool's own ledger.

#ifndef WEIR_TEST_SUPPORT_EXPECT_CONSERVED_H_
#define WEIR_TEST_SUPPORT_EXPECT_CONSERVED_H_

#include "gtest/gtest.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/pipeline/stage_stats.h"

namespace weir::testing {

// received + made = sent + dropped + taken + held.
inline void ExpectConserved(const PipelineSnapshot& all) {
  EXPECT_EQ(all.received + all.made(),
            all.sent + all.dropped() + all.taken() + all.held())
      << "received " << all.received << ", made " << all.made() << ", sent "
      << all.sent << ", dropped " << all.dropped() << ", taken " << all.taken()
      << ", held " << all.held();
}

// The law, and that `used` mbufs of `pool` are in use: of a pipeline whose
// packets have one segment each, those it holds.
inline void ExpectConserved(const PipelineSnapshot& all, const MbufPool& pool,
                            uint64_t used = 0) {
  ExpectConserved(all);
  EXPECT_EQ(pool.used_mbufs(), used);
}

}  // namespace weir::testing

#endif  // WEIR_TEST_SUPPORT_EXPECT_CONSERVED_H_
