// Makes one chain of the mbufs of a datagram's fragments.

#ifndef WEIR_STAGE_FRAGMENT_CHAIN_H_
#define WEIR_STAGE_FRAGMENT_CHAIN_H_

#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/stage/fragment_set.h"
#include "weir/stage/reassembly_context.h"

namespace weir {

// Joins the fragments of `context`, which have all come and are mbufs of
// `pool`, to a frame that begins with the headers of the first. None of the
// others is read if all are plain. Owner lcore only.
inline Mbuf& ChainFragments(const ReassemblyContext& context,
                            const FragmentBlocks& blocks,
                            MbufPool& pool) noexcept {
  Mbuf* first = nullptr;
  Mbuf* last = nullptr;
  if (context.has_chains) [[unlikely]] {
    context.fragments.ForEach(blocks, [&](const FragmentRecord& record) {
      Mbuf& next = pool.mbuf(record.mbuf());
      if (first == nullptr) {
        first = &next;
      } else {
        first->Append(*last, next);
      }
      for (last = &next; last->next() != nullptr;) last = last->next();
    });
    return *first;
  }
  context.fragments.ForEach(blocks, [&](const FragmentRecord& record) {
    Mbuf& next = pool.mbuf(record.mbuf());
    if (first == nullptr) {
      first = &next;
    } else {
      last->SetNext(next);
    }
    last = &next;
  });
  first->SetFrame(first->info().l4_offset + context.total,
                  context.fragments.size());
  return *first;
}

}  // namespace weir

#endif  // WEIR_STAGE_FRAGMENT_CHAIN_H_
