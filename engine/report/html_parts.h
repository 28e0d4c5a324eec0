// Parts of the HTML page.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fairlane::report {

/// What a mail or a CI system still shows.
inline constexpr std::size_t kMostPageBytes = 2'000'000;

/// How much of each kind the page shows; what is left out is said to be in the results.
struct Room {
  std::size_t rates = 200;
  std::size_t preferences = 60;
  std::size_t values = 24;      // of an attribute in the map
  std::size_t attributes = 40;  // in the map and of a person
  std::size_t rules = 10;
  std::size_t people = 10;
  std::size_t lines = 100;  // of a list of sentences
  std::size_t cells = 300;  // of a table
  std::size_t results = 100;

  /// Half of each, at least one.
  Room halved() const;
  bool is_least() const;
};

/// A page with as much as fits kMostPageBytes. page: makes it
std::string fitted(std::function<std::string(Room const&)> const& page);

/// A text as it stands inside an element or a quoted attribute.
std::string html_text(std::string_view text);
/// `<tag>text</tag>` with the text escaped; tag may have attributes.
std::string element(std::string_view tag, std::string_view text);
/// Same around markup.
std::string wrapped(std::string_view tag, std::string_view markup);
/// A section with its heading. id: its anchor
std::string section(std::string_view id, std::string_view title, std::string_view markup);
/// How every page begins, by which one is known.
inline constexpr std::string_view kPageBeginning = "<!doctype html>\n<html lang=\"en\">\n";
/// The page's start up to its body, with the style; `</body></html>` ends it.
std::string page_begin(std::string_view title);
/// Links to the sections, which are anchors and names.
std::string navigation(std::vector<std::pair<std::string, std::string>> const& sections);
/// A list of sentences, the first `most` of them. file: has the others
std::string html_list(std::vector<std::string> const& sentences, std::size_t most,
                      char const* file = "audit.json");
/// A list of terms and what is said of each, as `pairs` of plain texts.
std::string html_terms(std::vector<std::pair<std::string, std::string>> const& pairs);
/// A table's start: its caption and the heads of its columns, those of numbers with a # before
/// them; `</tbody></table>` ends it.
std::string table_begin(std::string_view caption, std::vector<std::string> const& heads);
/// What opens at a click, and is open in print.
std::string folded(std::string_view summary, std::string_view markup);
/// Same of what print leaves out.
std::string folded_on_screen(std::string_view summary, std::string_view markup);
/// "12 more are in audit.json." as a paragraph; empty where nothing is left out.
std::string left_out(std::size_t all, std::size_t shown, char const* file = "audit.json");

/// A bar of a share with its interval as a whisker. It only shows what stands beside it in words.
/// most  end of the scale, above 0
std::string share_bar(double low, double middle, double high, double most);
/// The end of a scale that holds `most`: a round share of at most 1.
double scale_end(double most);
/// The scale's labels at its start, middle and end.
std::string scale_labels(double most);

}  // namespace fairlane::report
