#include "apps/top/terminal.h"

#include <ncurses.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace weir::top {

absl::StatusOr<Terminal> Terminal::Open() {
  if (isatty(STDOUT_FILENO) == 0) {
    return absl::FailedPreconditionError(
        "standard output is no terminal: use --once");
  }
  // Without it waiting for a key would end at once, again and again.
  if (isatty(STDIN_FILENO) == 0) {
    return absl::FailedPreconditionError(
        "standard input is no terminal: use --once");
  }
  // Unlike initscr, newterm comes back if it does not know the terminal.
  if (newterm(nullptr, stdout, stdin) == nullptr) {
    const char* const kind = std::getenv("TERM");
    return absl::FailedPreconditionError(
        absl::StrCat("a terminal of the kind ", kind == nullptr ? "?" : kind,
                     " is not known here: set TERM, or use --once"));
  }
  cbreak();
  noecho();
  curs_set(0);
  keypad(stdscr, TRUE);
  return Terminal();
}

Terminal::Terminal(Terminal&& other) noexcept
    : is_open_(std::exchange(other.is_open_, false)),
      first_(other.first_),
      lines_(std::move(other.lines_)),
      status_(std::move(other.status_)) {}

Terminal::~Terminal() {
  if (is_open_) endwin();
}

void Terminal::Show(const std::vector<std::string>& lines,
                    const std::string& status) {
  lines_ = lines;
  status_ = status;
  Draw();
}

void Terminal::Draw() {
  Scroll(0);
  erase();
  const int rows = std::max(LINES - 1, 0);
  for (int row = 0; row < rows; ++row) {
    const auto line = static_cast<size_t>(first_ + row);
    if (line >= lines_.size()) break;
    mvaddnstr(row, 0, lines_[line].c_str(), COLS);
  }
  attron(A_REVERSE);
  mvaddnstr(rows, 0, status_.c_str(), COLS);
  attroff(A_REVERSE);
  refresh();
}

void Terminal::Scroll(int lines) {
  const int last = std::max(static_cast<int>(lines_.size()) - (LINES - 1), 0);
  first_ = std::clamp(first_ + lines, 0, last);
}

Terminal::Key Terminal::WaitForKey(std::chrono::milliseconds time) {
  timeout(static_cast<int>(time.count()));
  const int page = std::max(LINES - 2, 1);
  switch (getch()) {
    case 'q':
    case 'Q':
      return Key::kQuit;
    case ' ':
      return Key::kPause;
    case KEY_UP:
    case 'k':
      Scroll(-1);
      break;
    case KEY_DOWN:
    case 'j':
      Scroll(1);
      break;
    case KEY_PPAGE:
      Scroll(-page);
      break;
    case KEY_NPAGE:
      Scroll(page);
      break;
    case KEY_HOME:
      Scroll(-static_cast<int>(lines_.size()));
      break;
    case KEY_END:
      Scroll(static_cast<int>(lines_.size()));
      break;
    case KEY_RESIZE:
      break;
    default:
      return Key::kNone;
  }
  Draw();
  return Key::kNone;
}

}  // namespace weir::top
