#include "engine/recheck/proof_walk.h"

#include <charconv>
#include <utility>

namespace fairlane {

bool ProofWalk::step() {
  while (!open_.empty() && problem_.empty()) {
    GroupBox box = std::move(open_.back());
    open_.pop_back();
    if (at_ == text_.size()) {
      problem_ = "it ends here, expected a cut or a leaf";
    } else if (text_[at_] < '0' || text_[at_] > '9') {
      box_ = std::move(box);
      leaf_ = at_++;
      return true;
    } else if (!cut(std::move(box))) {
      problem_ = "a cut does not part its box";
    }
  }
  return false;
}

bool ProofWalk::cut(GroupBox box) {
  std::size_t const start = at_;
  auto const axis = number(':');
  auto const entry = axis ? number(';') : std::nullopt;
  if (!entry || *axis < 0 || *axis >= static_cast<std::int64_t>(box.size()) ||
      *entry < box[static_cast<std::size_t>(*axis)].first ||
      *entry >= box[static_cast<std::size_t>(*axis)].last) {
    at_ = start;
    return false;
  }
  AxisRange& range = box[static_cast<std::size_t>(*axis)];
  AxisRange const whole = range;
  auto const last = static_cast<std::int32_t>(*entry);
  range = {last + 1, whole.last};
  open_.push_back(box);
  range = {whole.first, last};
  open_.push_back(std::move(box));
  return true;
}

std::optional<std::int64_t> ProofWalk::number(char end) {
  std::int64_t value = 0;
  char const* const from = text_.data() + at_;
  char const* const stop = text_.data() + text_.size();
  auto const [rest, failure] = std::from_chars(from, stop, value);
  if (failure != std::errc() || rest == stop || *rest != end) return std::nullopt;
  at_ += static_cast<std::size_t>(rest - from) + 1;
  return value;
}

}  // namespace fairlane
