#include "models/exec/child.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/text.h"
#include "models/improbable.h"

namespace fairlane {

namespace {

static_assert(std::endian::native == std::endian::little, "the protocol is little endian");

constexpr char kMagic[8] = {'F', 'A', 'I', 'R', 'L', 'A', 'N', 'E'};
constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kMaxOutputs = 1U << 16;
constexpr std::size_t kHandshakeBytes = sizeof kMagic + 3 * sizeof(std::uint32_t);
constexpr std::size_t kHeaderBytes = 2 * sizeof(std::uint32_t);  // of a batch or an answer
constexpr std::size_t kShownBytes = 80;                          // of an answer that is none
constexpr std::size_t kLeastText = 4;  // characters in a row that are no accident

std::uint32_t word_at(unsigned char const* bytes) {
  std::uint32_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

/// The text that `bytes` begin with; nothing where they begin as numbers do.
std::string_view text_of(std::string_view bytes) {
  std::size_t end = 0;
  while (end < bytes.size()) {
    std::size_t const length = utf8_length(bytes.substr(end));
    bool const is_control = static_cast<unsigned char>(bytes[end]) < 0x20 && bytes[end] != '\n' &&
                            bytes[end] != '\r' && bytes[end] != '\t';
    if (length == 0 || is_control) break;
    end += length;
  }
  return bytes.substr(0, end == bytes.size() || end >= kLeastText ? end : 0);
}

}  // namespace

ExecChild::ExecChild(ExecSetup const& setup)
    : inputs_(setup.inputs),
      batch_rows_(setup.batch_rows),
      process_(setup.source, setup.words, setup.folder) {
  hello_.resize(kHandshakeBytes);
  std::uint32_t const numbers[] = {kVersion, static_cast<std::uint32_t>(inputs_), batch_rows_};
  std::memcpy(hello_.data(), kMagic, sizeof kMagic);
  std::memcpy(hello_.data() + sizeof kMagic, numbers, sizeof numbers);
}

void ExecChild::give(ExecBatch const& batch) {
  if (batches_.empty()) progress_ = Clock::now();
  batches_.push_back(batch);
}

std::string ExecChild::owed() const {
  if (!model_) return fmt::format("its handshake ({} of {} bytes)", head_got_, kHandshakeBytes);
  auto const& batch = batches_.front();
  auto const width = model_->kind == ScoreKind::kLabels ? 1 : model_->outputs;
  return fmt::format("its answer to batch {} ({} of {} bytes)", batch.id, head_got_ + body_got_,
                     kHeaderBytes + sizeof(float) * batch.count * static_cast<std::size_t>(width));
}

ExecChild::Polls ExecChild::polls() const {
  bool const sends = !hello_.empty() || sending_ < batches_.size();
  return {pollfd{sends ? process_.input() : -1, POLLOUT, 0},
          pollfd{is_busy() ? process_.output() : -1, POLLIN, 0},
          pollfd{process_.errors(), POLLIN, 0}};
}

bool ExecChild::handle(Polls const& polls) {
  if (polls[2].revents != 0) process_.keep_errors();
  if (polls[1].revents != 0) read();
  if (polls[0].revents != 0) write();
  return !is_busy() || process_.output() >= 0;
}

void ExecChild::write() {
  while (!hello_.empty()) {
    iovec const part{hello_.data(), hello_.size()};
    std::size_t const written = process_.send({&part, 1});
    if (written == 0) return;
    hello_.erase(hello_.begin(), hello_.begin() + static_cast<std::ptrdiff_t>(written));
    progress_ = Clock::now();
  }
  while (sending_ < batches_.size()) {
    ExecBatch const& batch = batches_[sending_];
    std::uint32_t header[] = {batch.id, batch.count};
    std::size_t const row_bytes = sizeof(float) * batch.count * static_cast<std::size_t>(inputs_);
    std::size_t const of_header = std::min(sent_, kHeaderBytes);
    std::size_t const of_rows = sent_ - of_header;
    // iovec has no const; writev only reads.
    iovec const parts[] = {
        {reinterpret_cast<unsigned char*>(header) + of_header, kHeaderBytes - of_header},
        {reinterpret_cast<unsigned char*>(const_cast<float*>(batch.rows)) + of_rows,
         row_bytes - of_rows}};
    std::size_t const written = process_.send(parts);
    if (written == 0) return;
    progress_ = Clock::now();
    sent_ += written;
    if (sent_ < kHeaderBytes + row_bytes) continue;
    ++sending_;
    sent_ = 0;
  }
}

bool ExecChild::fill(void* to, std::size_t size, std::size_t& got) {
  while (got < size) {
    std::size_t const more = process_.receive(static_cast<unsigned char*>(to) + got, size - got);
    if (more == 0) return false;
    got += more;
    progress_ = Clock::now();
  }
  return true;
}

void ExecChild::read() {
  if (!model_) {
    read_handshake();
    return;
  }
  while (!batches_.empty()) {
    read_header();
    if (head_got_ < kHeaderBytes) return;
    ExecBatch const& batch = batches_.front();
    std::size_t const scores = std::size_t{batch.count} * static_cast<std::size_t>(model_->outputs);
    bool complete = false;
    if (model_->kind == ScoreKind::kLabels) {
      labels_.resize(batch.count);
      complete = fill(labels_.data(), sizeof(std::int32_t) * batch.count, body_got_);
    } else {
      complete = fill(batch.scores, sizeof(float) * scores, body_got_);
    }
    if (!complete) return;
    finish_answer();
  }
}

void ExecChild::read_handshake() {
  bool const complete = fill(head_.data(), kHandshakeBytes, head_got_);
  if (std::memcmp(head_.data(), kMagic, std::min(head_got_, sizeof kMagic)) != 0)
    garbage("the handshake");
  if (!complete) return;
  auto const version = word_at(head_.data() + sizeof kMagic);
  auto const kind = word_at(head_.data() + sizeof kMagic + 4);
  auto const outputs = word_at(head_.data() + sizeof kMagic + 8);
  if (version != kVersion) {
    throw ExecViolation(
        fmt::format("speaks version {} of the protocol, expected {}; use the adapter of this "
                    "fairlane",
                    version, kVersion));
  }
  if (kind > static_cast<std::uint32_t>(ScoreKind::kLabels)) {
    throw ExecViolation(fmt::format(
        "announces scores of kind {}, expected 0 (logits), 1 (probabilities) or 2 (labels)", kind));
  }
  auto const known = static_cast<ScoreKind>(kind);
  std::uint32_t const least = known == ScoreKind::kLabels ? 2 : 1;
  if (outputs < least || outputs > kMaxOutputs) {
    throw ExecViolation(fmt::format("announces {} {}, expected {} to {}", outputs,
                                    known == ScoreKind::kLabels ? "classes" : "outputs", least,
                                    kMaxOutputs));
  }
  model_ = ExecModel{known, static_cast<int>(outputs)};
  head_got_ = 0;
}

void ExecChild::read_header() {
  if (head_got_ == kHeaderBytes) return;  // its body is being read
  bool const complete = fill(head_.data(), kHeaderBytes, head_got_);
  ExecBatch const& batch = batches_.front();
  // What begins wrong is no answer, however short it is: do not wait for more of it.
  if (std::memcmp(head_.data(), &batch.id, std::min(head_got_, sizeof batch.id)) != 0)
    garbage(fmt::format("its answer to batch {}", batch.id));
  if (!complete) return;
  auto const count = word_at(head_.data() + sizeof batch.id);
  if (count != batch.count) {
    throw ExecViolation(fmt::format("gave {} answers to batch {}, expected one for each of {} rows",
                                    count, batch.id, batch.count));
  }
}

void ExecChild::garbage(std::string const& instead) {
  std::string bytes(reinterpret_cast<char*>(head_.data()), head_got_);
  bytes.resize(head_got_ + kShownBytes);
  std::size_t got = head_got_;
  fill(bytes.data(), bytes.size(), got);
  bytes.resize(got);
  if (auto const text = text_of(bytes); !text.empty()) {
    throw ExecViolation(
        fmt::format("wrote {} to stdout instead of {}; prints must go to stderr, stdout belongs to "
                    "the protocol (models/adapters/README.md)",
                    in_quotes(text, kShownBytes), instead));
  }
  std::string shown;
  for (char const c : bytes.substr(0, kHandshakeBytes))
    shown += fmt::format("{}{:02x}", shown.empty() ? "" : " ", static_cast<unsigned char>(c));
  throw ExecViolation(
      fmt::format("wrote the bytes {} to stdout instead of {}; does it speak the protocol of "
                  "models/adapters/README.md?",
                  shown, instead));
}

void ExecChild::finish_answer() {
  ExecBatch const& batch = batches_.front();
  auto const outputs = static_cast<std::size_t>(model_->outputs);
  if (model_->kind == ScoreKind::kLabels) {
    std::fill_n(batch.scores, batch.count * outputs, 0.0F);
    for (std::size_t i = 0; i < batch.count; ++i) {
      std::int32_t const label = labels_[i];
      if (label < 0 || label >= model_->outputs) {
        throw ExecViolation(fmt::format("gave the label {} in batch {}, expected 0 to {}", label,
                                        batch.id, model_->outputs - 1));
      }
      batch.scores[i * outputs + static_cast<std::size_t>(label)] = 1.0F;
    }
  } else if (model_->kind == ScoreKind::kProbabilities) {
    std::string const problem =
        improbable(batch.rows, inputs_, batch.scores, model_->outputs, batch.count);
    if (!problem.empty()) {
      throw ExecViolation(
          fmt::format("gave {}; a model that gives logits must say so in its handshake", problem));
    }
  }
  if (sending_ == 0)
    throw ExecViolation(fmt::format("answered batch {} before it had read all of it", batch.id));
  batches_.pop_front();
  --sending_;
  head_got_ = 0;
  body_got_ = 0;
  progress_ = Clock::now();
}

void ExecChild::close() {
  std::uint32_t goodbye[] = {0, 0};  // a batch of no rows
  iovec const part{goodbye, sizeof goodbye};
  if (!is_busy()) process_.send({&part, 1});
  process_.close_input();
}

}  // namespace fairlane
