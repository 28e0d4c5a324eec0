#include "bench/torch/lockstep_search.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace fairlane {

namespace {

using torch::Tensor;

constexpr std::int64_t kDrawBlock = 64;  // steps whose random numbers are drawn together
// One batch is fastest, as long as it fits: about 1 GiB for the widest layer of every variant and
// of every difference.
constexpr std::int64_t kBatchValues = 1 << 28;
constexpr std::int64_t kKeysAtOnce = 1 << 26;  // met before they are made distinct: 512 MiB

std::int64_t batch_lanes(LockstepSubject const& subject) {
  std::int64_t const points = std::max(subject.variants(), 2 * (subject.attributes() + 1));
  return std::max<std::int64_t>(1, kBatchValues / (points * subject.widest()));
}

/// The distinct values of keys below `limit`, ascending.
Tensor distinct(Tensor keys, std::int64_t limit) {
  if (limit <= std::numeric_limits<std::int32_t>::max()) keys = keys.to(torch::kInt32);
  // What torch::unique does, a tenth faster; keys of 32 bits take a quarter less than those of 64.
  Tensor const sorted = std::get<0>(keys.sort());
  return std::get<0>(torch::unique_consecutive(sorted));
}

/// What the global phase did with each seed.
/// lanes  last inputs
/// found  [seeds] bool
/// tests  [seeds] int64
struct GlobalTrace {
  TorchLanes lanes;
  Tensor found;
  Tensor tests;
};

/// Walks every seed towards a first IDI, all at once; lanes that found one leave the batch.
GlobalTrace global_phase(LockstepSubject const& subject, TorchSearch const& search,
                         TorchLanes lanes) {
  std::int64_t const count = lanes.count();
  auto const integers = torch::TensorOptions(subject.device()).dtype(torch::kInt64);
  GlobalTrace trace{{lanes.free.clone(), lanes.own},
                    torch::zeros({count}, integers.dtype(torch::kBool)),
                    torch::full({count}, std::int64_t{search.max_iter}, integers)};
  Tensor seed = torch::arange(count, integers);
  Tensor momentum = lanes.free.new_zeros({lanes.free.size(0), 2, count});
  for (std::int32_t test = 1; test <= search.max_iter; ++test) {
    Tensor logits = subject.logits(lanes.free);
    Tensor const hit = subject.discriminates(logits);
    Tensor const ended = seed.masked_select(hit);
    trace.found.index_fill_(0, ended, true);
    trace.tests.index_fill_(0, ended, std::int64_t{test});
    Tensor const keep = hit.logical_not().nonzero().squeeze(1);
    if (keep.numel() == 0) break;
    seed = seed.index_select(0, keep);
    lanes = lanes.at(keep);
    Tensor const partner = subject.farthest(logits.index_select(2, keep), lanes.own);
    Tensor const gradient = subject.gradients(search, lanes, partner);
    momentum = momentum.index_select(2, keep)
                   .mul_(search.decay)
                   .add_(gradient.view({-1, 2, lanes.count()}));
    Tensor const sign = momentum.sign();
    Tensor const here = sign.select(1, 0);
    Tensor const agreed = here * (here == sign.select(1, 1));
    lanes.free = (lanes.free + agreed * search.global_step).clamp_(subject.low(), subject.high());
    trace.lanes.free.index_copy_(1, seed, lanes.free);
  }
  return trace;
}

/// [lanes][free]: each lane's running sum of attribute probabilities; the last is 1.
/// gradient  [free][2 * lanes], at the lane and at its partner; overwritten
Tensor cumulated_weights(Tensor gradient, float epsilon) {
  std::int64_t const lanes = gradient.size(1) / 2;
  Tensor const size = gradient.abs_();
  Tensor const weight =
      (size.slice(1, 0, lanes) + size.slice(1, lanes)).add_(epsilon).reciprocal_();
  Tensor const total = weight.cumsum(0);
  return total.div(total.select(0, -1)).t().contiguous();
}

/// [lanes]: a member drawn uniformly from those with another label.
/// label  [variants][lanes]
Tensor draw_partner(Tensor const& label, Tensor const& own) {
  Tensor const other = label != label.gather(0, own.unsqueeze(0));
  return torch::rand(other.sizes(), other.options().dtype(torch::kFloat32))
      .add_(1)
      .mul_(other)
      .argmax(0);
}

/// Lanes on their way through the local phase.
/// label    [variants][lanes] of the groups they are in
/// weights  [lanes][free] cumulated
/// streak   [lanes] int64 hits in a row since the last renewal
class LocalPhase {
 public:
  LocalPhase(LockstepSubject const& subject, TorchSearch const& search, TorchLanes start)
      : subject_(subject),
        search_(search),
        always_renews_(search.interval == 0 && search.never_renew == 0),
        start_(std::move(start)),
        start_keys_(subject.keys(start_)),
        columns_(torch::arange(start_.count(), start_.own.options())),
        lanes_(start_),
        keys_(start_keys_),
        streak_(torch::zeros_like(start_.own)) {
    Tensor const logits = subject.logits(start_.free);
    start_label_ = label_ = subject.labels(logits);
    if (always_renews_) return;  // every step draws its own partner
    start_weights_ = weights_ = weights_of(start_, subject.farthest(logits, start_.own));
  }

  /// Returns the distinct keys of the IDIs met.
  Tensor run() {
    std::int64_t const count = start_.count();
    auto const options = start_.free.options();
    std::vector<Tensor> met;
    Tensor draws;
    Tensor moves;
    for (std::int64_t step = 0; step < search_.local_steps; ++step) {
      std::int64_t const row = step % kDrawBlock;
      if (row == 0) {
        std::int64_t const block = std::min(kDrawBlock, search_.local_steps - step);
        draws = torch::rand({block, count, 1}, options);
        moves =
            torch::randint(0, 2, {block, count}, options).mul_(2).sub_(1).mul_(search_.local_step);
      }
      if (search_.never_renew == 0) renew();
      advance(draws[row], moves[row]);
      met.push_back(keys_);  // a miss repeats the start, which is an IDI and counted anyway
      if (static_cast<std::int64_t>(met.size()) * count >= kKeysAtOnce)
        met = {distinct(torch::cat(met), subject_.key_limit())};
    }
    return met.empty() ? start_keys_ : distinct(torch::cat(met), subject_.key_limit());
  }

 private:
  Tensor weights_of(TorchLanes const& lanes, Tensor const& partner) const {
    return cumulated_weights(subject_.gradients(search_, lanes, partner), search_.epsilon);
  }

  /// New partners and weights where they are due. On a CPU for these lanes alone; on a GPU for all,
  /// since to count them would wait for it.
  void renew() {
    Tensor const due = streak_ >= search_.interval;
    bool const all = always_renews_ || !due.device().is_cpu();
    Tensor const which = all ? columns_ : due.nonzero().squeeze(1);
    if (which.numel() == 0) return;
    TorchLanes const lanes = all ? lanes_ : lanes_.at(which);
    Tensor const label = all ? label_ : label_.index_select(1, which);
    Tensor const fresh = weights_of(lanes, draw_partner(label, lanes.own));
    if (all) {
      weights_ = always_renews_ ? fresh : torch::where(due.unsqueeze(1), fresh, weights_);
    } else {
      weights_ = weights_.index_copy(0, which, fresh);
    }
    streak_.masked_fill_(due, 0);
  }

  /// One step of every lane, its test, and the way back after a miss.
  /// draw  [lanes][1] uniform in [0, 1), move [lanes]
  void advance(Tensor const& draw, Tensor const& move) {
    Tensor const attribute = torch::searchsorted(weights_, draw, false, true).squeeze_(1);
    Tensor const cell = (attribute * start_.count()).add_(columns_);
    Tensor const old = lanes_.free.take(cell);
    Tensor const low = subject_.low().take(attribute);
    Tensor const high = subject_.high().take(attribute);
    Tensor const value = torch::min(torch::max(old + move, low), high);
    Tensor const moved = lanes_.free.clone();
    moved.view(-1).scatter_(0, cell, value);
    Tensor const moved_keys =
        (value - old).to(torch::kInt64).mul_(subject_.strides().take(attribute)).add_(keys_);

    Tensor const logits = subject_.logits(moved);
    Tensor const hit = subject_.discriminates(logits);
    lanes_.free = torch::where(hit, moved, start_.free);
    keys_ = torch::where(hit, moved_keys, start_keys_);
    if (search_.never_renew != 0) return;
    streak_ = (streak_ + 1).mul_(hit);
    label_ = subject_.labels(logits);  // of a lane that is due: it has met an IDI
    if (always_renews_) {
      label_ = torch::where(hit, label_, start_label_);
    } else {
      weights_ = torch::where(hit.unsqueeze(1), weights_, start_weights_);
    }
  }

  LockstepSubject const& subject_;
  TorchSearch const& search_;
  bool always_renews_;
  TorchLanes start_;
  Tensor start_keys_;
  Tensor start_label_;
  Tensor start_weights_;
  Tensor columns_;
  TorchLanes lanes_;
  Tensor keys_;
  Tensor label_;
  Tensor weights_;
  Tensor streak_;
};

}  // namespace

TorchFindings lockstep_search(LockstepSubject const& subject, TorchSearch const& search) {
  c10::InferenceMode const inference;
  torch::manual_seed(search.seed);
  std::int64_t const width = batch_lanes(subject);
  TorchFindings findings;
  auto& counts = findings.counts;
  TorchLanes hits = subject.lanes(search.seeds, search.row, search.variant);
  std::vector<Tensor> free;
  std::vector<Tensor> own;
  for (std::int64_t first = 0; first < search.seeds; first += width) {
    GlobalTrace const trace = global_phase(subject, search, hits.slice(first, first + width));
    TorchLanes const found = trace.lanes.at(trace.found.nonzero().squeeze(1));
    free.push_back(found.free);
    own.push_back(found.own);
    counts.tests += trace.tests.sum().item<std::int64_t>();
  }
  hits = {torch::cat(free, 1), torch::cat(own)};
  counts.global_found = hits.count();
  findings.keys = subject.keys(hits);
  if (hits.count() > 0) {
    // Equal keys are equal inputs: any of them may stand for its key.
    auto const [unique, inverse] = torch::_unique(findings.keys, true, true);
    Tensor const first = torch::empty_like(unique).scatter_(
        0, inverse, torch::arange(inverse.numel(), inverse.options()));
    counts.global_unique = unique.numel();
    findings.keys = unique;
    std::vector<Tensor> met{unique};
    for (Tensor const& lanes : first.split(width))
      met.push_back(LocalPhase(subject, search, hits.at(lanes)).run());
    counts.local_steps = counts.global_unique * search.local_steps;
    findings.keys = distinct(torch::cat(met), subject.key_limit());
  }
  counts.unique_instances = findings.keys.numel();
  Tensor const groups = torch::div(findings.keys, subject.variants(), "floor");
  counts.unique_groups = std::get<0>(torch::unique_consecutive(groups)).numel();
  findings.keys = findings.keys.cpu().to(torch::kInt64);
  return findings;
}

}  // namespace fairlane
