#include "tests/gpusim/decoder.h"

#include <algorithm>

#include "tests/gpusim/warp.h"

namespace fairlane::gpusim {

namespace {
constexpr std::uint32_t kRowAlignment = 64;
constexpr std::uint32_t kSlotAlignment = 8;

template <class T>
T rounded_up(T value, T to) {
  return (value + to - 1) / to * to;
}
}  // namespace

void Decoder::stop_here(std::string const& what) const {
  stop("line " + std::to_string(tokens_[at_].line) + ": " + what + " in " + kernel_.name);
}

void Decoder::skip_statement() {
  while (word() != ";") ++at_;
  ++at_;
}

void Decoder::run() {
  kernel_.places.push_back("?");
  for (auto& row : kernel_.special) row = new_row(4);
  scopes_.emplace_back();
  Body const& body = module_.bodies.at(kernel_.name);
  declare_parameters(body);
  decode_body(body);
  scopes_.pop_back();
  while (!wanted_.empty()) {  // what it calls, and what that calls
    std::string const name = *wanted_.begin();
    wanted_.erase(wanted_.begin());
    function_body(name);
  }
  for (auto const& [at, name] : calls_) kernel_.code[at].target = functions_.at(name).start;
  kernel_.touched.assign(kernel_.code.size(), 0);
}

void Decoder::declare_parameters(Body const& body) {
  std::uint32_t at = 0;
  for (auto const& d : read_parameters(tokens_, body.parameters, body.parameters_end)) {
    auto const size = static_cast<std::uint32_t>(d.bytes());
    at = rounded_up(at, d.align);
    kernel_.parameters.push_back({at, size});
    scopes_.back()[d.name] = {Symbol::kParameter, at, 0, size};
    at += size;
  }
  constexpr std::uint32_t kSlack = 16;  // accesses may be wider than the last parameter
  kernel_.parameter_bytes = at;
  kernel_.parameter_memory = std::make_unique<std::uint8_t[]>(at + kSlack);
}

void Decoder::function_body(std::string const& name) {
  Function& function = functions_.at(name);
  function.start = next();
  Body const& body = module_.bodies.at(name);
  scopes_.emplace_back();
  auto const declare = [&](std::size_t begin, std::size_t end, std::vector<Symbol> const& slots) {
    std::size_t n = 0;
    for (auto const& d : read_parameters(tokens_, begin, end)) scopes_.back()[d.name] = slots[n++];
  };
  declare(body.parameters, body.parameters_end, function.parameters);
  declare(body.results, body.results_end, function.results);
  decode_body(body);
  scopes_.pop_back();
}

void Decoder::decode_body(Body const& body) {
  labels_.clear();
  tables_.clear();
  branches_.clear();
  at_ = body.begin;
  while (at_ < body.end) decode_statement();
  resolve_labels();
}

void Decoder::decode_statement() {
  std::string const& first = word();
  if (first == "{") {
    scopes_.emplace_back();
    ++at_;
  } else if (first == "}") {
    scopes_.pop_back();
    ++at_;
  } else if (first == ".loc") {
    read_place();
  } else if (first == ".reg") {
    declare_registers();
  } else if (first == ".shared" || first == ".local" || first == ".param") {
    declare_memory();
  } else if (first == ".pragma") {
    skip_statement();
  } else if (word(1) == ":" && word(2) == ".branchtargets") {
    auto& table = tables_[first];
    for (at_ += 3; word() != ";"; ++at_) {
      if (word() != ",") table.push_back(word());
    }
    ++at_;
  } else if (word(1) == ":") {
    labels_[first] = next();
    at_ += 2;
  } else {
    instruction();
  }
}

void Decoder::resolve_labels() {
  auto const place_of = [&](std::string const& label) {
    auto const at = labels_.find(label);
    if (at == labels_.end()) stop("no label " + label + " in " + kernel_.name);
    return at->second;
  };
  for (auto const& [at, label] : branches_) {
    Instruction& i = kernel_.code[at];
    if (i.kind == Kind::kBranch) {
      i.target = place_of(label);
    } else {
      for (auto const& target : tables_.at(label)) i.targets.push_back(place_of(target));
    }
  }
}

/// .loc 1 20 3, function_name $L_x, inlined_at 2 30 5
void Decoder::read_place() {
  int const line = tokens_[at_].line;
  auto const place_at = [&](std::size_t at) {
    std::string const file = module_.files[std::stoi(tokens_[at].text)];
    return file.substr(file.rfind('/') + 1) + ":" + tokens_[at + 1].text;
  };
  std::string place = place_at(at_ + 1);
  for (++at_; at_ < tokens_.size() && tokens_[at_].line == line; ++at_) {
    if (word() == "inlined_at") place += " < " + place_at(at_ + 1);
  }
  kernel_.places.push_back(place);
}

/// .reg .b32 %r<20>;
void Decoder::declare_registers() {
  ++at_;
  Type const type = type_named(word().substr(1));
  Symbol symbol;
  symbol.kind = type == Type::kPred ? Symbol::kPredicate : Symbol::kRegister;
  symbol.width = size_of(type);
  for (++at_; word() != ";"; ++at_) {
    if (word() == ",") continue;
    std::string const name = word();
    if (word(1) != "<") {
      scopes_.back()[name] = symbol;
      continue;
    }
    int const count = std::stoi(word(2));
    for (int n = 0; n < count; ++n) scopes_.back()[name + std::to_string(n)] = symbol;
    at_ += 3;
  }
  ++at_;
}

void Decoder::declare_memory() {
  std::string const space = word();
  ++at_;
  Declaration const d = read_declaration(tokens_, at_);
  Symbol symbol;
  symbol.size = static_cast<std::uint32_t>(d.bytes());
  if (space == ".shared") {
    symbol.kind = Symbol::kShared;
    kernel_.static_shared = rounded_up(kernel_.static_shared, d.align);
    symbol.value = static_cast<std::int64_t>(kSharedStart + kernel_.static_shared);
    kernel_.static_shared += symbol.size;
  } else {
    symbol.kind = space == ".local" ? Symbol::kLocal : Symbol::kSlot;
    symbol.value = new_slot(symbol.size, d.align);
  }
  scopes_.back()[d.name] = symbol;
  skip_statement();
}

std::uint32_t Decoder::new_row(int width) {
  std::uint32_t const at = kernel_.register_bytes;
  auto const bytes = static_cast<std::uint32_t>(width * kLanes);
  kernel_.register_bytes = rounded_up(at + bytes, kRowAlignment);
  return at;
}

std::uint32_t Decoder::new_slot(std::uint64_t size, std::uint32_t align) {
  std::uint32_t const at = rounded_up(kernel_.local_bytes, std::max(align, kSlotAlignment));
  kernel_.local_bytes = at + static_cast<std::uint32_t>(size);
  return at;
}

}  // namespace fairlane::gpusim
