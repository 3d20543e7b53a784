// What mcast says of streams whose datagrams have numbers: a table, JSON.

#ifndef APPS_MCAST_SEQUENCE_REPORT_H_
#define APPS_MCAST_SEQUENCE_REPORT_H_

#include <string>
#include <vector>

#include "weir/stage/stream/sequence.h"
#include "weir/stage/stream/sequence_counts.h"

namespace weir::mcast {

// A line a stream, three a pair of lines, `pairs` being those of the stage, and
// one on latency. Control thread.
std::string SequenceTable(const SequenceStats& stats,
                          const std::vector<LinePair>& pairs);

// What changed since the totals were `before`, which become those of now: a
// line. What was lost may come late, then fewer are. Control thread.
std::string SequenceRates(const SequenceStats& stats, SequenceTotals& before);

// The same as the table, as JSON. Control thread.
std::string SequenceJson(const SequenceStats& stats,
                         const std::vector<LinePair>& pairs);

}  // namespace weir::mcast

#endif  // APPS_MCAST_SEQUENCE_REPORT_H_
