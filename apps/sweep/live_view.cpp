#include "apps/sweep/live_view.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "apps/text/sweep_text.h"
#include "base/text.h"

namespace fairlane {
namespace {

constexpr std::size_t kMostRunning = 16;

struct TerminalSize {
  std::size_t columns = 80;
  std::size_t lines = 24;
};
TerminalSize terminal_size() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
    return {};
  return {size.ws_col, size.ws_row};
}

/// At most `width` characters, which take a byte or more each.
std::string shortened(std::string const& text, std::size_t width) {
  std::size_t at = 0;
  for (std::size_t shown = 0; at < text.size() && shown < width; ++shown)
    at += std::max<std::size_t>(utf8_length(std::string_view(text).substr(at)), 1);
  return text.substr(0, at);
}

}  // namespace

void LiveView::show(SweepProgress const& progress) {
  std::string const head = sweep_progress_text(progress);
  if (style_ != ProgressStyle::kDrawn) return line_.show(head);
  clear();
  TerminalSize const size = terminal_size();
  std::size_t const width = size.columns - 1;
  // What is above the screen cannot be drawn over; the cursor takes a line.
  std::size_t const most = std::min(kMostRunning + 1, std::max<std::size_t>(size.lines, 2) - 1);
  std::string text = shortened(head, width) + "\n";
  int lines = 1;
  for (CellProgress const& cell : progress.running) {
    if (static_cast<std::size_t>(lines) >= most) break;
    text += shortened(escaped(fmt::format("  {:<7} {:>8}  {}  {}", cell.worker,
                                          seconds_text(cell.seconds), cell.cell, cell.doing),
                              width * 4),
                      width) +
            "\n";
    ++lines;
  }
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
  drawn_lines_ = lines;
}

void LiveView::clear() {
  if (drawn_lines_ == 0) return;
  // Up to the first line, and all below it away.
  std::fputs(fmt::format("\033[{}A\r\033[J", drawn_lines_).c_str(), stderr);
  std::fflush(stderr);
  drawn_lines_ = 0;
}

}  // namespace fairlane
