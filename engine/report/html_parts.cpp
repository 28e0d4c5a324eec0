#include "engine/report/html_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tuple>

#include "base/number_text.h"
#include "engine/pictures/svg.h"
#include "engine/report/audit_words.h"
#include "engine/report/html_style.h"

namespace fairlane::report {
namespace {

constexpr double kBarWidth = 1000.0;  // of the drawing, which is stretched to its place
constexpr double kBarHeight = 16.0;

}  // namespace

Room Room::halved() const {
  auto const half = [](std::size_t count) { return std::max<std::size_t>(1, count / 2); };
  return {half(rates),  half(preferences), half(values), half(attributes), half(rules),
          half(people), half(lines),       half(cells),  half(results)};
}

bool Room::is_least() const {
  std::size_t const most =
      std::max({rates, preferences, values, attributes, rules, people, lines, cells, results});
  return most <= 1;
}

std::string fitted(std::function<std::string(Room const&)> const& page) {
  Room room;
  std::string text = page(room);
  while (text.size() > kMostPageBytes && !room.is_least()) {
    room = room.halved();
    text = page(room);
  }
  return text;
}

std::string html_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (char const c : text) {
    if (std::string_view const entity = entity_of(c); !entity.empty()) {
      out += entity;
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\'') {
      out += "&#39;";
    } else {
      out += c;
    }
  }
  return out;
}

std::string wrapped(std::string_view tag, std::string_view markup) {
  return fmt::format("<{}>{}</{}>\n", tag, markup, tag.substr(0, tag.find(' ')));
}

std::string element(std::string_view tag, std::string_view text) {
  return wrapped(tag, html_text(text));
}

std::string section(std::string_view id, std::string_view title, std::string_view markup) {
  return fmt::format(
      "<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n"
      "<h2 id=\"{0}-title\">{1}</h2>\n{2}</section>\n",
      id, html_text(title), markup);
}

std::string page_begin(std::string_view title) {
  return std::string(kPageBeginning) +
         "<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta name=\"color-scheme\" content=\"light dark\">\n"
         "<link rel=\"icon\" href=\"data:,\">\n"  // else a server is asked for one
         + element("title", title) + "<style>" + page_style() +
         "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">To the result</a>\n";
}

std::string navigation(std::vector<std::pair<std::string, std::string>> const& sections) {
  std::string items;
  for (auto const& [anchor, words] : sections) {
    items += wrapped("li", fmt::format("<a href=\"#{}\">{}</a>", anchor, html_text(words)));
  }
  return wrapped("nav aria-label=\"Sections\"", wrapped("ul", items));
}

std::string html_list(std::vector<std::string> const& sentences, std::size_t most,
                      char const* file) {
  std::string items;
  std::size_t const shown = std::min(most, sentences.size());
  for (std::size_t i = 0; i < shown; ++i) items += element("li", sentences[i]);
  return wrapped("ul", items) + left_out(sentences.size(), shown, file);
}

std::string html_terms(std::vector<std::pair<std::string, std::string>> const& pairs) {
  std::string items;
  for (auto const& [term, text] : pairs) items += element("dt", term) + element("dd", text);
  return wrapped("dl", items);
}

std::string table_begin(std::string_view caption, std::vector<std::string> const& heads) {
  std::string row;
  for (std::string const& head : heads) {
    bool const is_number = head.starts_with('#');
    row += element(is_number ? "th scope=\"col\" class=\"n\"" : "th scope=\"col\"",
                   head.substr(is_number ? 1 : 0));
  }
  return "<table>\n" + element("caption", caption) + "<thead><tr>" + row +
         "</tr></thead>\n<tbody>\n";
}

std::string folded(std::string_view summary, std::string_view markup) {
  return wrapped("details", element("summary", summary) + std::string(markup));
}

std::string folded_on_screen(std::string_view summary, std::string_view markup) {
  return wrapped("details class=\"screen\"", element("summary", summary) + std::string(markup));
}

std::string left_out(std::size_t all, std::size_t shown, char const* file) {
  if (all <= shown) return {};
  return element(
      "p class=\"soft\"",
      fmt::format("{} more {} in {}.", with_commas(static_cast<std::int64_t>(all - shown)),
                  all - shown == 1 ? "is" : "are", file));
}

std::string share_bar(double low, double middle, double high, double most) {
  auto const x = [&](double share) { return std::clamp(share / most, 0.0, 1.0) * kBarWidth; };
  std::string svg = fmt::format(
      "<svg class=\"bar\" viewBox=\"0 0 {:.0f} {:.0f}\" preserveAspectRatio=\"none\" "
      "aria-hidden=\"true\" focusable=\"false\">",
      kBarWidth, kBarHeight);
  for (double const at : {0.0, 0.5, 1.0}) {
    svg += svg_line(at * kBarWidth, 0.0, at * kBarWidth, kBarHeight, "grid");
  }
  svg += fmt::format("<rect x=\"0\" y=\"3\" width=\"{:.2f}\" height=\"10\" class=\"fill\"/>",
                     x(middle));
  if (low != high) {
    for (auto const& [from, to, y1, y2] :
         {std::tuple(x(low), x(high), 8.0, 8.0), std::tuple(x(low), x(low), 2.0, 14.0),
          std::tuple(x(high), x(high), 2.0, 14.0)}) {
      svg += svg_line(from, y1, to, y2, "whisker");
    }
  }
  return svg + "</svg>";
}

double scale_end(double most) {
  constexpr double kLeast = 0.01;  // of nothing but zeros
  double const end = std::max(most, kLeast);
  double const step = tick_step(end);
  return std::min(1.0, std::ceil(end / step - 1e-9) * step);
}

std::string scale_labels(double most) {
  std::string labels;
  for (double const at : {0.0, most / 2.0, most})
    labels += wrapped("span", fmt::format("{:g} %", 100.0 * at));
  return wrapped("div class=\"scale\"", labels);
}

}  // namespace fairlane::report
