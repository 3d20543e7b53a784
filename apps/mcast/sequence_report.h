// What mcast says of streams whose datagrams have numbers: a table, JSON.

#ifndef APPS_MCAST_SEQUENCE_REPORT_H_
#define APPS_MCAST_SEQUENCE_REPORT_H_

#include <string>
#include <vector>

#include "weir/stage/stream/sequence.h"

namespace weir::mcast {

// A line a stream, three a pair of lines, `pairs` being those of the stage, and
// one on latency. Control thread.
std::string SequenceTable(const SequenceStats& stats,
                          const std::vector<LinePair>& pairs);

// The same as JSON. Control thread.
std::string SequenceJson(const SequenceStats& stats,
                         const std::vector<LinePair>& pairs);

}  // namespace weir::mcast

#endif  // APPS_MCAST_SEQUENCE_REPORT_H_
