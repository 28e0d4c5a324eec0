// Reads what a translation unit declares; kernels are decoded one by one when they are wanted.
#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/gpusim/costs.h"
#include "tests/gpusim/declarations.h"
#include "tests/gpusim/decoder.h"
#include "tests/gpusim/memory.h"

namespace fairlane::gpusim {

namespace {

std::string demangled(std::string const& name) {
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> const text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return text == nullptr ? name : text.get();
}

/// Reads a module's tokens from the first to the last.
class ModuleReader {
 public:
  explicit ModuleReader(Module& module) : module_(module), tokens_(module.tokens) {}

  void read() {
    while (at_ < tokens_.size()) read_one();
  }

 private:
  std::string const& word(std::size_t ahead = 0) const { return tokens_[at_ + ahead].text; }

  void read_one() {
    std::string const& first = word();
    if (first == ".target") {
      module_.target = std::atoi(word(1).substr(std::strlen("sm_")).c_str());
      skip_line();
    } else if (first == ".file") {
      std::string const& quoted = word(2);
      module_.files[std::stoi(word(1))] = quoted.substr(1, quoted.size() - 2);
      skip_line();
    } else if (first == ".version" || first == ".address_size" || first == ".loc") {
      skip_line();
    } else if (first == ".section") {
      skip_to("{");
      skip_braces('{', '}');
    } else if (first == ".extern" && word(1) == ".shared") {
      at_ += 2;
      module_.dynamic_shared.push_back(read_declaration(tokens_, at_).name);
    } else if (first == ".entry" || first == ".func") {
      function();
    } else if (first == ".shared") {
      ++at_;
      stop("a variable in shared memory outside of functions: " +
           read_declaration(tokens_, at_).name);
    } else if (first == ".global" || first == ".const") {
      variable();
    } else {
      ++at_;
    }
  }

  void skip_line() {
    int const line = tokens_[at_].line;
    while (at_ < tokens_.size() && tokens_[at_].line == line) ++at_;
  }
  void skip_to(char const* what) {
    while (word() != what) ++at_;
  }
  /// From an opening sign to behind the one that closes it.
  void skip_braces(char open, char close) {
    int depth = 0;
    do {
      if (word()[0] == open) ++depth;
      if (word()[0] == close) --depth;
      ++at_;
    } while (depth > 0);
  }

  void function() {
    Body body;
    bool const entry = word() == ".entry";
    ++at_;
    if (word() == ".attribute") stop("attributes of functions are unknown");
    if (word() == "(") {
      body.results = at_ + 1;
      skip_braces('(', ')');
      body.results_end = at_ - 1;
    }
    std::string const name = tokens_[at_++].text;
    if (word() == "(") {
      body.parameters = at_ + 1;
      skip_braces('(', ')');
      body.parameters_end = at_ - 1;
    }
    body.directives = at_;
    while (word() != "{" && word() != ";") ++at_;
    if (word() == ";") return;  // it is defined further on
    body.begin = at_ + 1;
    skip_braces('{', '}');
    body.end = at_ - 1;
    module_.bodies[name] = body;
    if (!entry) return;
    auto kernel = std::make_unique<Kernel>();
    kernel->name = name;
    kernel->pretty = demangled(name);
    kernel->module = &module_;
    for (std::size_t d = body.directives; d + 1 < body.begin; ++d) {
      if (tokens_[d].text == ".maxntid") kernel->max_threads = std::stoi(tokens_[d + 1].text);
    }
    module_.kernels[name] = std::move(kernel);
  }

  /// .global .align 1 .b8 name[2] = {1, 2};
  void variable() {
    ++at_;
    Declaration const d = read_declaration(tokens_, at_);
    std::uint64_t const bytes = d.bytes() + 1;  // an address of its own, even if it is empty
    std::uint64_t const base = module_.memory.allocate(bytes);
    std::memset(reinterpret_cast<void*>(base), 0, bytes);
    module_.memory.mark_written(reinterpret_cast<void*>(base), bytes);
    module_.globals[d.name] = base;
    if (word() == "=") {
      ++at_;
      for (std::uint64_t n = 0; word() != ";";) {
        if (word() == "{" || word() == "}" || word() == ",") {
          ++at_;
          continue;
        }
        std::uint64_t const x = read_number(tokens_, at_);
        std::memcpy(reinterpret_cast<void*>(base + n++ * d.element), &x, d.element);
      }
    }
    skip_to(";");
  }

  Module& module_;
  std::vector<Token> const& tokens_;
  std::size_t at_ = 0;
};

}  // namespace

char const* const kSpecialNames[kSpecials] = {
    "%tid.x",       "%tid.y",   "%tid.z",       "%ntid.x",      "%ntid.y",      "%ntid.z",
    "%ctaid.x",     "%ctaid.y", "%ctaid.z",     "%nctaid.x",    "%nctaid.y",    "%nctaid.z",
    "%laneid",      "%warpid",  "%lanemask_eq", "%lanemask_lt", "%lanemask_le", "%lanemask_gt",
    "%lanemask_ge", "%smid",    "%nsmid",       "%envreg1",     "%envreg2",     ""};

Kernel::Kernel() = default;
Kernel::~Kernel() = default;

void stop(std::string const& what) {
  std::fprintf(stderr, "gpusim: PTX: %s\n", what.c_str());
  std::abort();
}

Kernel* Module::find(std::string const& name) {
  if (!parsed) {
    parsed = true;
    tokens = tokens_of(text);
    ModuleReader(*this).read();
  }
  auto const at = kernels.find(name);
  return at == kernels.end() ? nullptr : at->second.get();
}

std::uint64_t Module::address_of(std::string const& name) {
  find("");
  auto const at = globals.find(name);
  return at == globals.end() ? 0 : at->second;
}

void Module::decode(Kernel& kernel) {
  if (kernel.decoded) return;
  kernel.decoded = true;
  Decoder(*this, kernel).run();
}

}  // namespace fairlane::gpusim
