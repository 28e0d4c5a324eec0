// Text for messages and tables.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fairlane {

/// `text` with everything escaped that could break a one-line message: control and bidirectional
/// characters, line separators and bytes that are not UTF-8. At most `limit` bytes of the text are
/// shown, then "...".
std::string escaped(std::string_view text, std::size_t limit = 200);
/// escaped(text) in single quotes, for values in messages.
std::string in_quotes(std::string_view text, std::size_t limit = 60);

/// The name nearest to `word` by edit distance; empty when none is close.
std::string nearest_name(std::string const& word, std::vector<std::string> const& names);
/// "; did you mean 'x'?" for the name nearest to `word`, or nothing when none is close.
std::string did_you_mean(std::string const& word, std::vector<std::string> const& names);

/// Bytes of the UTF-8 character at the start of `text`; 0 when there is none or it is malformed.
std::size_t utf8_length(std::string_view text);

/// A cell of a CSV file, quoted where RFC 4180 asks for it.
std::string csv_cell(std::string const& text);
/// A line of one, with its end.
std::string csv_line(std::vector<std::string> const& cells);

/// A name or path as a YAML scalar, in quotes where it needs them.
std::string yaml_text(std::string_view text);

/// An argument as a person types it into a shell, in quotes where it needs them.
std::string shell_word(std::string_view text);

/// The extension of a path with its dot, in lower case; empty where there is none.
std::string lower_extension(std::string const& path);

}  // namespace fairlane
