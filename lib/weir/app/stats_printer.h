// Reports as text for people: a line a port while an app runs, one table at the
// end. Fits 80 columns unless a name is long.

#ifndef WEIR_APP_STATS_PRINTER_H_
#define WEIR_APP_STATS_PRINTER_H_

#include <cstdint>
#include <string>

#include "weir/app/report.h"

namespace weir {

// "1,234,567". Any thread.
std::string WithCommas(uint64_t value);

// Behind what else is said of a port: ", 4 RX queues by RSS over addresses, 4
// TX queues"; nothing for a port of one queue a direction. Any thread.
std::string DescribeQueues(const PortQueues& queues);

// The line above what FormatRates returns. Any thread.
std::string RatesHeader();

// One line a port: packets and frame bits a second between the reports, and
// what was dropped in that time by its queues and its device; below it, one for
// each RX queue and the TX queue of that number, if there are several. `before`
// must be older. Any thread.
std::string FormatRates(const AppReport& before, const AppReport& now);

// The table: lcores with their stages, queues, counters of devices, mbufs and
// the law of conservation. Any thread.
std::string FormatTable(const AppReport& report);

}  // namespace weir

#endif  // WEIR_APP_STATS_PRINTER_H_
