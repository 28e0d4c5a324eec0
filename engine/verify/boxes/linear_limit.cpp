#include "engine/verify/boxes/linear_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/text.h"

namespace fairlane {
namespace {

constexpr std::int64_t kMostNumber = 1'000'000;  // of a coefficient
constexpr std::int64_t kMostBound = std::int64_t{1} << 50;

/// One text on its way: what is on the left of the relation less what is on its right.
class LimitParser {
 public:
  LimitParser(std::string const& text, Domain const& domain,
              std::vector<std::int32_t> const& tested)
      : text_(text), domain_(domain), tested_(tested), sums_(domain.attributes.size()) {}

  std::vector<LinearLimit> parse() {
    read_sum(1);
    std::string const relation = read_relation();
    read_sum(-1);
    skip_spaces();
    if (at_ < text_.size()) throw problem("the end, + or -");
    if (std::ranges::count(sums_, 0) == static_cast<std::ptrdiff_t>(sums_.size())) {
      throw Error(ExitCode::kUsage,
                  fmt::format("--where is {}, which names no attribute", in_quotes(text_)));
    }
    // sums_ + constant_ <= 0
    std::vector<LinearLimit> limits;
    if (relation != ">=") limits.push_back({sums_, -constant_});
    if (relation != "<=") {
      for (std::int64_t& sum : sums_) sum = -sum;
      limits.push_back({sums_, constant_});
    }
    return limits;
  }

 private:
  Error problem(char const* expected) const {
    return {ExitCode::kUsage,
            fmt::format("--where is {}: at character {}, expected {}; an example is "
                        "\"2 * age - hours <= 10\"",
                        in_quotes(text_), at_ + 1, expected)};
  }
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    skip_spaces();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void read_sum(std::int64_t side) {
    std::int64_t sign = take('-') ? -1 : 1;
    while (true) {
      read_term(side * sign);
      if (take('+')) {
        sign = 1;
      } else if (take('-')) {
        sign = -1;
      } else {
        return;
      }
    }
  }

  /// "3", "3 * age", "3 age" or "age".
  void read_term(std::int64_t sign) {
    skip_spaces();
    std::size_t const start = at_;
    std::size_t name = longest_name();
    if (name == 0) {
      std::int64_t number = 0;
      while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) {
        number = number * 10 + (text_[at_++] - '0');
        if (number > kMostBound) throw problem("a smaller number");
      }
      if (at_ == start) throw problem("an attribute or a whole number");
      bool const times = take('*');
      skip_spaces();
      name = longest_name();
      if (name == 0 && times) throw problem("an attribute after *");
      if (name == 0) {
        constant_ += sign * number;
        if (std::abs(constant_) > kMostBound) throw problem("a smaller number");
        return;
      }
      if (number > kMostNumber) throw problem("a coefficient of at most 1000000");
      sign *= number;
    }
    int const attribute = domain_.find(text_.substr(at_, name));
    if (std::ranges::count(tested_, attribute) > 0) throw problem("an attribute not under test");
    at_ += name;
    std::int64_t& sum = sums_[static_cast<std::size_t>(attribute)];
    sum += sign;
    if (std::abs(sum) > kMostNumber) throw problem("a coefficient of at most 1000000");
  }

  /// Length of the longest attribute's name that the rest begins with; 0: of none. Names may hold
  /// any character, "-" among them.
  std::size_t longest_name() const {
    std::size_t longest = 0;
    for (Attribute const& attribute : domain_.attributes) {
      std::string const& name = attribute.name;
      if (name.size() > longest && text_.compare(at_, name.size(), name) == 0)
        longest = name.size();
    }
    return longest;
  }

  std::string read_relation() {
    skip_spaces();
    for (char const* relation : {"<=", ">=", "==", "="}) {
      std::string_view const word = relation;
      if (text_.compare(at_, word.size(), word) == 0) {
        at_ += word.size();
        return std::string(word);
      }
    }
    throw problem("<=, >= or =");
  }

  std::string const& text_;
  Domain const& domain_;
  std::vector<std::int32_t> const& tested_;
  std::size_t at_ = 0;
  std::vector<std::int64_t> sums_;  // [attributes]
  std::int64_t constant_ = 0;
};

}  // namespace

std::vector<LinearLimit> parse_limit(std::string const& text, Domain const& domain,
                                     std::vector<std::int32_t> const& tested) {
  return LimitParser(text, domain, tested).parse();
}

}  // namespace fairlane
