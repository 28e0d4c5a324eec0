#include "base/formats/strict_yaml.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <cmath>
#include <sstream>
#include <unordered_set>

#include "base/error.h"
#include "base/formats/json.h"
#include "base/text.h"

namespace fairlane {
namespace {

[[noreturn]] void fail_at(std::string const& source, int line, int column,
                          std::string const& what) {
  throw Error(ExitCode::kConfig,
              fmt::format("{}:{}:{}: {}", escaped(source, 4096), line, column, what));
}

// Builds the tree from yaml-cpp's events. Its own Node would resolve aliases and drop repeated keys
// silently.
class YamlBuilder : public YAML::EventHandler {
 public:
  YamlBuilder(std::string const& source, YamlLimits const& limits)
      : source_(source), limits_(limits) {}

  YamlNode take() { return std::move(root_); }

  void OnDocumentStart(YAML::Mark const&) override {}
  void OnDocumentEnd() override {}
  void OnAlias(YAML::Mark const& mark, YAML::anchor_t) override {
    fail(mark, "aliases (*name) are not accepted; write the value out");
  }
  void OnNull(YAML::Mark const& mark, YAML::anchor_t anchor) override {
    add(make(YamlNode::Kind::kNull, mark, "?", anchor));
  }
  void OnScalar(YAML::Mark const& mark, std::string const& tag, YAML::anchor_t anchor,
                std::string const& value) override {
    YamlNode node = make(YamlNode::Kind::kScalar, mark, tag, anchor);
    node.quoted = tag == "!";
    node.scalar = value;
    bool const is_null =
        value.empty() || value == "~" || value == "null" || value == "Null" || value == "NULL";
    if (!node.quoted && is_null) node.kind = YamlNode::Kind::kNull;
    add(std::move(node));
  }
  void OnSequenceStart(YAML::Mark const& mark, std::string const& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(make(YamlNode::Kind::kSequence, mark, tag, anchor));
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(YAML::Mark const& mark, std::string const& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(make(YamlNode::Kind::kMap, mark, tag, anchor));
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    YamlNode node;
    std::unordered_set<std::string> seen;
  };

  [[noreturn]] void fail(YAML::Mark const& mark, std::string const& what) const {
    fail_at(source_, mark.line + 1, mark.column + 1, what);
  }

  YamlNode make(YamlNode::Kind kind, YAML::Mark const& mark, std::string const& tag,
                YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor)
      fail(mark, "anchors (&name) are not accepted; write the value where it is used");
    if (!tag.empty() && tag != "?" && tag != "!")
      fail(mark, fmt::format("tag {} is not accepted", in_quotes(tag)));
    if (++nodes_ > limits_.nodes) fail(mark, fmt::format("more than {} values", limits_.nodes));
    YamlNode node;
    node.kind = kind;
    node.line = mark.line + 1;
    node.column = mark.column + 1;
    return node;
  }

  void open(YamlNode node) {
    if (static_cast<int>(open_.size()) >= limits_.depth) {
      fail_yaml(source_, node, fmt::format("nested more than {} levels deep", limits_.depth));
    }
    if (expects_key()) fail_yaml(source_, node, "a key is a list or a map, expected a name");
    open_.push_back({std::move(node), {}});
  }

  void close() {
    YamlNode node = std::move(open_.back().node);
    open_.pop_back();
    add(std::move(node));
  }

  bool expects_key() const {
    if (open_.empty()) return false;
    YamlNode const& parent = open_.back().node;
    return parent.kind == YamlNode::Kind::kMap && parent.keys.size() == parent.items.size();
  }

  void add(YamlNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    YamlNode& parent = open_.back().node;
    if (!expects_key()) {
      parent.items.push_back(std::move(node));
      return;
    }
    if (node.kind != YamlNode::Kind::kScalar)
      fail_yaml(source_, node, "a key is empty, expected a name");
    if (!open_.back().seen.insert(node.scalar).second) {
      fail_yaml(source_, node, fmt::format("key {} occurs twice", in_quotes(node.scalar)));
    }
    parent.keys.push_back(std::move(node));
  }

  std::string const& source_;
  YamlLimits limits_;
  YamlNode root_;
  std::vector<Open> open_;
  std::size_t nodes_ = 0;
};

// yaml-cpp takes byte 4 for the end of its input and replaces malformed UTF-8 silently, so both are
// refused before.
void check_characters(std::string_view text, std::string const& source) {
  int line = 1;
  std::size_t line_start = 0;
  for (std::size_t at = 0; at < text.size();) {
    char const c = text[at];
    int const column = static_cast<int>(at - line_start) + 1;
    std::size_t const length = utf8_length(text.substr(at));
    if (length == 0)
      fail_at(source, line, column,
              fmt::format("byte {} is not UTF-8", in_quotes(text.substr(at, 1))));
    bool const control =
        (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t') || c == 0x7F;
    if (control)
      fail_at(source, line, column,
              fmt::format("control character {}", in_quotes(text.substr(at, 1))));
    at += length;
    if (c == '\n') {
      ++line;
      line_start = at;
    }
  }
}

// Lists and maps in brackets are scanned to their end before yaml-cpp reports the first of them, so
// that the depth limit of the builder would come too late: "[[[[..." would first fill the memory. A
// bracket or a quote counts where a value can begin, so that those within words, comments and
// quotes do not.
void check_brackets(std::string_view text, std::string const& source, int limit) {
  constexpr std::string_view kBeforeValue = "\n-:?,[{";
  int depth = 0;
  int line = 1;
  std::size_t line_start = 0;
  char before = '\n';  // the last character that is not blank
  char quote = '\0';
  bool comment = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    char const c = text[at];
    bool const blank = c == ' ' || c == '\t' || c == '\r';
    if (c == '\n') {
      ++line;
      line_start = at + 1;
      comment = false;
      if (depth == 0 && quote == '\0') before = '\n';
      continue;
    }
    if (blank || comment) continue;
    bool const begins = kBeforeValue.find(before) != std::string_view::npos;
    if (quote != '\0') {
      if (c == '\\' && quote == '"') {
        ++at;
      } else if (c == quote) {
        quote = '\0';
      }
      before = '"';
      continue;
    }
    if (c == '#' && (at == line_start || text[at - 1] == ' ' || text[at - 1] == '\t')) {
      comment = true;
      continue;
    }
    if (begins && (c == '"' || c == '\'')) {
      quote = c;
    } else if (begins && (c == '[' || c == '{')) {
      if (++depth > limit) {
        fail_at(source, line, static_cast<int>(at - line_start) + 1,
                fmt::format("nested more than {} levels deep", limit));
      }
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
    before = c;
  }
}

}  // namespace

YamlNode const* YamlNode::find(std::string_view key) const {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].scalar == key) return &items[i];
  }
  return nullptr;
}

std::optional<std::int64_t> YamlNode::integer() const {
  if (kind != Kind::kScalar || quoted) return std::nullopt;
  std::string_view digits = scalar;
  if (digits.substr(0, 1) == "+") digits.remove_prefix(1);
  if (digits.substr(0, 1) == "-" && digits.size() != scalar.size()) return std::nullopt;
  std::int64_t value = 0;
  auto const [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (ec != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::optional<double> YamlNode::number() const {
  if (kind != Kind::kScalar || quoted) return std::nullopt;
  std::string_view digits = scalar;
  if (digits.substr(0, 1) == "+") digits.remove_prefix(1);
  if (digits.substr(0, 1) == "-" && digits.size() != scalar.size()) return std::nullopt;
  double value = 0;
  auto const [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (ec != std::errc() || end != digits.data() + digits.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

std::optional<bool> YamlNode::boolean() const {
  if (kind != Kind::kScalar || quoted) return std::nullopt;
  if (scalar == "true" || scalar == "True" || scalar == "TRUE") return true;
  if (scalar == "false" || scalar == "False" || scalar == "FALSE") return false;
  return std::nullopt;
}

std::string YamlNode::flow_text() const {
  std::string text;
  switch (kind) {
    case Kind::kNull:
      return "null";
    case Kind::kScalar:
      // What stands alone in a line may be more than what stands in a list.
      return quoted || scalar.find_first_of(",[]{}:#'\"\\\n") != std::string::npos
                 ? Json(scalar).dump()
                 : scalar;
    case Kind::kSequence:
      for (YamlNode const& item : items) text += (text.empty() ? "" : ", ") + item.flow_text();
      return "[" + text + "]";
    case Kind::kMap:
      for (std::size_t i = 0; i < keys.size(); ++i) {
        text += (text.empty() ? "" : ", ") + keys[i].flow_text() + ": " + items[i].flow_text();
      }
      return "{" + text + "}";
  }
  return text;
}

std::string YamlNode::shown() const {
  switch (kind) {
    case Kind::kNull:
      return "nothing";
    case Kind::kSequence:
      return "a list";
    case Kind::kMap:
      return "a map";
    case Kind::kScalar:
      break;
  }
  return in_quotes(scalar);
}

YamlNode parse_strict_yaml(std::string_view text, std::string const& source,
                           YamlLimits const& limits) {
  if (text.size() > limits.bytes) {
    fail_at(source, 1, 1,
            fmt::format("is {} bytes long, expected at most {}", text.size(), limits.bytes));
  }
  check_characters(text, source);
  check_brackets(text, source, limits.depth);
  // yaml-cpp takes an open quote for closed when only a line end follows it.
  text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  if (text.empty()) fail_at(source, 1, 1, "is empty");
  YamlBuilder builder(source, limits);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder)) fail_at(source, 1, 1, "is empty");
    YamlNode root = builder.take();
    YamlBuilder rest(source, limits);
    if (parser.HandleNextDocument(rest)) {
      YamlNode const second = rest.take();
      fail_at(source, std::max(second.line, 1), std::max(second.column, 1),
              "a second document, expected one per file");
    }
    return root;
  } catch (YAML::Exception const& error) {
    fail_at(source, std::max(error.mark.line, 0) + 1, std::max(error.mark.column, 0) + 1,
            fmt::format("malformed YAML: {}", escaped(error.msg)));
  }
}

void fail_yaml(std::string const& source, YamlNode const& node, std::string const& what) {
  fail_at(source, node.line, node.column, what);
}

void check_yaml_keys(std::string const& source, YamlNode const& map,
                     std::vector<std::string> const& known) {
  for (YamlNode const& key : map.keys) {
    bool found = false;
    for (auto const& name : known) found = found || name == key.scalar;
    if (!found) {
      fail_yaml(source, key,
                fmt::format("unknown key {}, expected one of {}{}", in_quotes(key.scalar),
                            fmt::join(known, ", "), did_you_mean(key.scalar, known)));
    }
  }
}

}  // namespace fairlane
