// The words by which files and messages name the values of an enumeration.
#pragma once

#include <array>
#include <string_view>

namespace fairlane {

/// One value, its word, and what it means in one line.
template <class E>
struct Word {
  E value;
  char const* name;
  char const* help;
};

/// All words of an enumeration, in the order of the documentation; specialised where there are any.
template <class E>
inline constexpr std::array<Word<E>, 0> kEnumWords = {};

/// The word of a value.
template <class E>
requires(kEnumWords<E>.size() > 0) constexpr char const* name_of(E value) {
  for (Word<E> const& word : kEnumWords<E>) {
    if (word.value == value) return word.name;
  }
  return "";
}

/// The word with this name; null when there is none.
template <class E>
constexpr Word<E> const* find_word(std::string_view name) {
  for (Word<E> const& word : kEnumWords<E>) {
    if (name == word.name) return &word;
  }
  return nullptr;
}

}  // namespace fairlane
