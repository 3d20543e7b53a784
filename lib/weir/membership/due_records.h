// The records of a report about one group: what of its state is due.

#ifndef WEIR_MEMBERSHIP_DUE_RECORDS_H_
#define WEIR_MEMBERSHIP_DUE_RECORDS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "weir/membership/group_message.h"
#include "weir/membership/group_records.h"
#include "weir/membership/group_state.h"

namespace weir {

// Writes what is due of `State` to a report. Owner lcore only.
template <typename Protocol>
class DueRecords {
 public:
  using State = GroupState<typename Protocol::Address>;
  using Source = GroupSource<typename Protocol::Address>;

  DueRecords(ReportWriter<Protocol>& report, State& state) noexcept
      : report_(&report), state_(&state) {}

  // Takes back what it writes; false when there was no room for all.
  bool Write() noexcept {
    if (!WriteCurrent() || !WriteQueried() || !WriteModeChange() ||
        !WriteSources(true) || !WriteSources(false)) {
      return false;
    }
    state_->was_said = true;
    state_->DropTold();
    return true;
  }

 private:
  bool is_include() const noexcept {
    return state_->mode == FilterMode::kInclude;
  }
  bool is_due(uint8_t what) const noexcept { return (state_->due & what) != 0; }
  void Done(uint8_t what) noexcept {
    state_->due = static_cast<uint8_t>(state_->due & ~unsigned{what});
  }

  bool WriteCurrent() noexcept {
    if (!is_due(State::kCurrent)) return true;
    if (!WriteListed(is_include() ? RecordType::kIsInclude
                                  : RecordType::kIsExclude)) {
      return false;
    }
    state_->queried.clear();
    Done(State::kCurrent | State::kCurrentOfQueried);
    return true;
  }

  // IS_IN of those asked about that are wanted (RFC 3376 §5.2); none is no
  // answer.
  bool WriteQueried() noexcept {
    if (!is_due(State::kCurrentOfQueried)) return true;
    std::vector<typename Protocol::Address>& queried = state_->queried;
    std::erase_if(queried, [this](const auto& source) {
      return !state_->Accepts(source);
    });
    if (!queried.empty()) {
      if (!report_->Begin(RecordType::kIsInclude, state_->group,
                          queried.size())) {
        return false;
      }
      for (const auto& source : queried) report_->AddSource(source);
      queried.clear();
    }
    Done(State::kCurrentOfQueried);
    return true;
  }

  bool WriteModeChange() noexcept {
    if (!is_due(State::kModeChange)) return true;
    if (!WriteListed(is_include() ? RecordType::kToInclude
                                  : RecordType::kToExclude)) {
      return false;
    }
    Done(State::kModeChange);
    return true;
  }

  // Of sources that came or went, those that are wanted now, or those that are
  // not.
  bool WriteSources(bool are_allowed) noexcept {
    const uint8_t what = are_allowed ? State::kAllow : State::kBlock;
    if (!is_due(what)) return true;
    const auto changes = [this, are_allowed](const Source& source) {
      return source.is_due && (source.is_listed == is_include()) == are_allowed;
    };
    if (!WriteThose(are_allowed ? RecordType::kAllow : RecordType::kBlock,
                    changes)) {
      return false;
    }
    for (Source& source : state_->sources) {
      if (changes(source)) source.is_due = false;
    }
    Done(what);
    return true;
  }

  bool WriteListed(RecordType type) noexcept {
    return WriteThose(type,
                      [](const Source& source) { return source.is_listed; });
  }

  template <typename F>
  bool WriteThose(RecordType type, F wants) noexcept {
    const auto count = static_cast<size_t>(
        std::count_if(state_->sources.begin(), state_->sources.end(), wants));
    if (!report_->Begin(type, state_->group, count)) return false;
    for (const Source& source : state_->sources) {
      if (wants(source)) report_->AddSource(source.address);
    }
    return true;
  }

  ReportWriter<Protocol>* report_;
  State* state_;
};

}  // namespace weir

#endif  // WEIR_MEMBERSHIP_DUE_RECORDS_H_
