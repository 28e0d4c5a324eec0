#include "engine/verify/certificate.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <iterator>

#include "base/error.h"
#include "base/files.h"
#include "base/formats/json.h"
#include "base/sha256.h"
#include "base/text.h"

namespace fairlane {
namespace {

constexpr std::string_view kTitle = "fairlane certificate 1";
constexpr std::array<std::string_view, 3> kSaid = {"fair", "unfair", "unknown"};
constexpr std::size_t kLongest = std::size_t{1} << 34;

std::string digest_of(std::string_view text) {
  Sha256 digest;
  digest.update(text.data(), text.size());
  return digest.finish();
}

/// The lines of a certificate, one after the other.
class Lines {
 public:
  Lines(std::string const& path, std::string_view text) : path_(path), text_(text) {}

  std::int64_t number() const { return number_; }
  std::string_view next() {
    ++number_;
    std::size_t const end = text_.find('\n', at_);
    if (end == std::string_view::npos) throw problem("the file ends here, expected another line");
    std::string_view const line = text_.substr(at_, end - at_);
    at_ = end + 1;
    return line;
  }
  /// The rest of a line that begins with a word.
  std::string_view after(std::string_view word) {
    std::string_view const line = next();
    if (line.substr(0, word.size()) != word || line.size() <= word.size() ||
        line[word.size()] != ' ')
      throw problem(fmt::format("expected {} ...", word));
    return line.substr(word.size() + 1);
  }
  std::size_t place() const { return at_; }
  bool at_end() const { return at_ == text_.size(); }
  Error problem(std::string const& what) const {
    return {ExitCode::kIntegrity, fmt::format("{}:{}: {}", escaped(path_, 4096), number_, what)};
  }

 private:
  std::string const& path_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::int64_t number_ = 0;
};

}  // namespace

char const* verdict_word(CertifiedCell::Verdict verdict) {
  return verdict == CertifiedCell::Verdict::kFair     ? "unsat"
         : verdict == CertifiedCell::Verdict::kUnfair ? "sat"
                                                      : "unknown";
}

std::string result_digest(std::string_view name, std::string const& text) {
  if (name != "summary.json") return sha256(text);
  Json json = Json::parse(text);
  json.erase("timing");
  return sha256(json.dump());
}

std::string certificate_text(CertificateHead const& head,
                             std::function<CertifiedCell(std::int64_t)> const& cell) {
  Json axes = Json::array();
  for (auto const& names : head.axes) axes.push_back(Json(names));
  Json files = Json::object();
  for (auto const& [name, digest] : head.files) files[name] = digest;
  std::string text = fmt::format("{}\nmanifest {}\nfiles {}\naxes {}\ncells {}\n", kTitle,
                                 head.manifest_digest, files.dump(), axes.dump(), head.cells);
  for (std::int64_t i = 0; i < head.cells; ++i) {
    CertifiedCell const known = cell(i);
    text += kSaid[static_cast<std::size_t>(known.verdict)];
    if (known.verdict == CertifiedCell::Verdict::kFair) {
      text += ' ';
      text += known.proof;
    }
    text += '\n';
  }
  return text + fmt::format("sha256 {}\n", digest_of(text));
}

Certificate read_certificate(std::string const& path) {
  Certificate certificate;
  certificate.text = read_file(path, kLongest);
  Lines lines(path, certificate.text);
  if (lines.next() != kTitle) throw lines.problem(fmt::format("expected {}", in_quotes(kTitle)));
  certificate.head.manifest_digest = lines.after("manifest");
  try {
    Json const files = Json::parse(lines.after("files"));
    for (auto const& [name, digest] : files.items())
      certificate.head.files.emplace_back(name, digest.get<std::string>());
    for (Json const& names : Json::parse(lines.after("axes")))
      certificate.head.axes.push_back(names.get<std::vector<std::string>>());
  } catch (JsonError const& e) {
    throw lines.problem(escaped(e.what()));
  }
  std::string_view const count = lines.after("cells");
  auto const [end, failure] =
      std::from_chars(count.data(), count.data() + count.size(), certificate.head.cells);
  // Every cell has a line of its own, so that no number asks for more memory than the file has.
  if (failure != std::errc() || end != count.data() + count.size() || certificate.head.cells < 1 ||
      certificate.head.cells > static_cast<std::int64_t>(certificate.text.size()))
    throw lines.problem(fmt::format("cells is {}, expected their number", in_quotes(count)));
  for (std::int64_t i = 0; i < certificate.head.cells; ++i) {
    std::string_view const line = lines.next();
    CertifiedCell cell;
    if (line.substr(0, 5) == "fair ") {
      cell = {CertifiedCell::Verdict::kFair, line.substr(5)};
    } else if (line == "unfair") {
      cell.verdict = CertifiedCell::Verdict::kUnfair;
    } else if (line != "unknown") {
      throw lines.problem("expected unfair, unknown or fair and a proof");
    }
    certificate.cells.push_back(cell);
  }
  std::string_view const before(certificate.text.data(), lines.place());
  if (lines.after("sha256") != digest_of(before))
    throw lines.problem("the SHA-256 is not that of the lines before: the file has been changed");
  if (!lines.at_end()) throw lines.problem("expected the end of the file after this line");
  return certificate;
}

}  // namespace fairlane
