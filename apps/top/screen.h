// Two samples of a process as lines for people: what went through each lcore,
// stage, ring and queue between them, and what was dropped and why.

#ifndef APPS_TOP_SCREEN_H_
#define APPS_TOP_SCREEN_H_

#include <string>
#include <vector>

#include "apps/top/sample.h"

namespace weir::top {

// Fits 80 columns unless a name is long. Both are of one process, `before` the
// older one; if they are of one moment, or if that has no metrics, rates are
// shown as `-`. Control characters in names become `?`.
std::vector<std::string> FormatScreen(const Sample& before, const Sample& now);

}  // namespace weir::top

#endif  // APPS_TOP_SCREEN_H_
