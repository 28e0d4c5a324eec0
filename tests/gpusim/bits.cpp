// clz, popc, brev, bfind, bfe, bfi, prmt, lop3, shf, copysign, lane by lane.
#include "tests/gpusim/operations.h"
#include "tests/gpusim/values.h"

namespace fairlane::gpusim {

namespace {

using Word = std::uint64_t;

/// An instruction's operands in one lane; type's bits are `bits`.
struct Lane {
  Instruction const& i;
  Warp& w;
  int lane;
  int bits;

  /// Operand n, as wide as the type.
  Word value(int n) const { return get(w, i.operand[n], lane, bits / 8); }
  Word word(int n) const { return get(w, i.operand[n], lane, 4); }
  bool negative() const { return is_signed(i.type) && (value(1) >> (bits - 1) & 1) != 0; }
};

Word ones(int count) { return count >= 64 ? ~Word{0} : (Word{1} << count) - 1; }

Word clz(Lane const& l) {
  Word const a = l.value(1);
  return static_cast<Word>(a == 0 ? l.bits : __builtin_clzll(a) - (64 - l.bits));
}

Word popc(Lane const& l) { return static_cast<Word>(__builtin_popcountll(l.value(1))); }

Word brev(Lane const& l) {
  Word out = 0;
  for (int b = 0; b < l.bits; ++b) out |= (l.value(1) >> b & 1) << (l.bits - 1 - b);
  return out;
}

/// The highest bit that tells something; none: all ones. kAmount: how far to shift it to the top.
template <bool kAmount>
Word bfind(Lane const& l) {
  Word const x = l.negative() ? ~l.value(1) & ones(l.bits) : l.value(1);
  if (x == 0) return 0xFFFFFFFFU;
  int const top = 63 - __builtin_clzll(x);
  return static_cast<Word>(kAmount ? l.bits - 1 - top : top);
}

Word bfe(Lane const& l) {
  Word const a = l.value(1);
  int const at = static_cast<int>(l.word(2) & 255);
  int const length = static_cast<int>(l.word(3) & 255);
  if (length == 0) return 0;
  int const top = std::min(at + length - 1, l.bits - 1);
  bool const fill = is_signed(l.i.type) && (a >> top & 1) != 0;
  Word const field = at >= l.bits ? 0 : a >> at;
  int const taken = std::max(0, std::min(length, l.bits - at));
  return ((field & ones(taken)) | (fill ? ~ones(taken) : 0)) & ones(l.bits);
}

Word bfi(Lane const& l) {
  int const at = static_cast<int>(l.word(3) & 255);
  int const length = static_cast<int>(l.word(4) & 255);
  if (length == 0 || at >= l.bits) return l.value(2);
  Word const mask = ones(length) << at & ones(l.bits);
  return (l.value(2) & ~mask) | (l.value(1) << at & mask);
}

Word prmt(Lane const& l) {
  Word const both = l.word(1) | l.word(2) << 32;
  Word out = 0;
  for (int b = 0; b < 4; ++b) {
    Word const selector = l.word(3) >> (4 * b) & 15;
    Word byte = both >> (8 * (selector & 7)) & 255;
    if ((selector & 8) != 0) byte = (byte & 128) != 0 ? 255 : 0;
    out |= byte << (8 * b);
  }
  return out;
}

Word lop3(Lane const& l) {
  Word const a = l.word(1);
  Word const b = l.word(2);
  Word const c = l.word(3);
  Word const table = l.word(4);
  Word out = 0;
  for (int k = 0; k < 32; ++k) {
    Word const index = (a >> k & 1) << 2 | (b >> k & 1) << 1 | (c >> k & 1);
    out |= (table >> index & 1) << k;
  }
  return out;
}

/// The funnel shift; mode 1: by at most 32, otherwise by the amount's low five bits.
Word shift_of(Lane const& l) {
  Word const by = l.word(3);
  return l.i.mode == 1 ? std::min<Word>(by, 32) : by & 31;
}

Word shf_left(Lane const& l) {
  Word const by = shift_of(l);
  return (l.word(2) << by | l.word(1) >> (32 - by)) & ones(32);
}

Word shf_right(Lane const& l) { return (l.word(2) << 32 | l.word(1)) >> shift_of(l) & ones(32); }

/// The second value with the sign of the first.
Word copysign(Lane const& l) {
  Word const top = Word{1} << (l.bits - 1);
  return (l.value(2) & ~top) | (l.value(1) & top);
}

template <Word (*kOperation)(Lane const&)>
void each_value(Instruction const& i, Warp& w, std::uint32_t lanes) {
  int const bits = 8 * size_of(i.type);
  each_lane(lanes, [&](int lane) {
    set(w, i.operand[0], lane, kOperation(Lane{i, w, lane, bits}));
  });
}

}  // namespace

bool ready_bits(Opcode const& op, Instruction& i) {
  if (i.type == Type::kNone || i.type == Type::kPred) return false;
  if (op.is("clz")) i.handler = each_value<clz>;
  if (op.is("popc")) i.handler = each_value<popc>;
  if (op.is("brev")) i.handler = each_value<brev>;
  if (op.is("bfind"))
    i.handler = op.has("shiftamt") ? each_value<bfind<true>> : each_value<bfind<false>>;
  if (op.is("bfe")) i.handler = each_value<bfe>;
  if (op.is("bfi")) i.handler = each_value<bfi>;
  if (op.is("prmt") && op.parts.size() == 2) i.handler = each_value<prmt>;
  if (op.is("lop3")) i.handler = each_value<lop3>;
  if (op.is("copysign")) i.handler = each_value<copysign>;
  if (op.is("shf")) {
    i.handler = op.has("l") ? each_value<shf_left> : each_value<shf_right>;
    i.mode = op.has("clamp") ? 1 : 0;
  }
  return i.handler != nullptr;
}

}  // namespace fairlane::gpusim
