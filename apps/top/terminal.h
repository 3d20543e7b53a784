// Lines on a whole terminal, and keys.

#ifndef APPS_TOP_TERMINAL_H_
#define APPS_TOP_TERMINAL_H_

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace weir::top {

// Takes the terminal over until it is destroyed. One at a time.
class Terminal {
 public:
  enum class Key { kNone, kQuit, kPause };

  // FailedPrecondition where standard output or input is no terminal, or one
  // that ncurses does not know.
  static absl::StatusOr<Terminal> Open();

  Terminal(Terminal&& other) noexcept;
  Terminal& operator=(Terminal&&) = delete;
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();

  // Shows `lines` from the line scrolled to on, and `status` below them.
  void Show(const std::vector<std::string>& lines, const std::string& status);

  // Waits for a key for `time` at most; scrolling keys are done here, and the
  // lines shown again.
  Key WaitForKey(std::chrono::milliseconds time);

 private:
  Terminal() = default;

  void Draw();
  // Moves by `lines`, as far as there are lines.
  void Scroll(int lines);

  bool is_open_ = true;
  int first_ = 0;
  std::vector<std::string> lines_;
  std::string status_;
};

}  // namespace weir::top

#endif  // APPS_TOP_TERMINAL_H_
