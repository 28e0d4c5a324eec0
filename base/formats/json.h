// JSON values, as results and model files need them. The library that parses and prints them stands
// behind json.cpp and strict_json.cpp: its headers cost every file that sees them seconds.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace fairlane {

/// Why a JSON value is not what was asked for, or a text no JSON: one line without a place.
class JsonError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A JSON value. Objects keep the order in which their members were added.
///
/// Members and items are asked for as in the standard containers; whatever is not there, or of
/// another type, throws JsonError. Integers are kept as such; a number with a fraction is a double.
class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;

  Json() = default;  // null
  Json(std::nullptr_t) {}
  Json(bool value) : value_(value) {}
  template <std::integral T>
  Json(T value) {
    if constexpr (std::is_signed_v<T>) {
      value_ = static_cast<std::int64_t>(value);
    } else {
      value_ = static_cast<std::uint64_t>(value);
    }
  }
  template <std::floating_point T>
  Json(T value) : value_(static_cast<double>(value)) {}
  Json(std::string value);
  Json(std::string_view value) : Json(std::string(value)) {}
  Json(char const* value) : Json(std::string(value)) {}
  explicit Json(Array items);
  /// An array of the items.
  template <class T>
  requires std::constructible_from<Json, T const&> Json(std::vector<T> const& items)
      : Json(Array(items.begin(), items.end())) {}
  template <class T, std::size_t kCount>
  requires std::constructible_from<Json, T const&> Json(std::array<T, kCount> const& items)
      : Json(Array(items.begin(), items.end())) {}
  /// null where there is no value.
  template <class T>
  requires std::constructible_from<Json, T const&> Json(std::optional<T> const& value)
      : Json(value ? Json(*value) : Json()) {}
  /// An object where every item is a pair that begins with a string, {{"a", 1}, {"b", 2}}; an array
  /// otherwise.
  Json(std::initializer_list<Json> items);
  static Json array(std::initializer_list<Json> items = {});
  static Json object();

  Json(Json const& other) = default;
  Json(Json&& other) noexcept = default;
  Json& operator=(Json const& other) = default;
  Json& operator=(Json&& other) noexcept = default;
  ~Json() = default;

  bool is_null() const { return value_.index() == 0; }
  bool is_boolean() const { return std::holds_alternative<bool>(value_); }
  bool is_number() const { return is_number_integer() || std::holds_alternative<double>(value_); }
  bool is_number_integer() const {
    return std::holds_alternative<std::int64_t>(value_) || is_number_unsigned();
  }
  /// Whether it is an integer of at least 0.
  bool is_number_unsigned() const;
  bool is_string() const { return std::holds_alternative<Box<std::string>>(value_); }
  bool is_array() const { return std::holds_alternative<Box<Array>>(value_); }
  bool is_object() const { return std::holds_alternative<Box<Object>>(value_); }

  /// Items of an array or members of an object; 0 for null.
  std::size_t size() const;
  bool empty() const { return size() == 0; }

  /// The items of an array (null: none).
  Json const* begin() const;
  Json const* end() const;
  Json const& operator[](std::size_t i) const { return at(i); }
  Json const& at(std::size_t i) const;
  Json& operator[](std::size_t i) { return const_cast<Json&>(std::as_const(*this).at(i)); }
  /// Appends to an array; null becomes one.
  void push_back(Json item);

  /// The members of an object (null: none), in their order.
  Object const& items() const;
  /// An object's member; null when there is none.
  Json const* find(std::string_view key) const;
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  Json const& at(std::string_view key) const;
  Json const& operator[](std::string_view key) const { return at(key); }
  /// The member, added as null where there is none; null becomes an object.
  Json& operator[](std::string_view key);
  /// Adds a member whose key the object does not have yet.
  void add_member(std::string key, Json value);
  void erase(std::string_view key);

  /// The value as a bool, an integer or floating-point number, a string, or a vector of these.
  /// Integers have to fit; numbers with a fraction are none.
  template <class T>
  T get() const;
  /// The string; null where the value is none.
  std::string const* string() const;
  /// The member's value, or `absent` where there is no such member.
  template <class T>
  T value(std::string_view key, T absent) const {
    Json const* const found = find(key);
    return found == nullptr ? std::move(absent) : found->get<T>();
  }
  std::string value(std::string_view key, char const* absent) const {
    return value(key, std::string(absent));
  }

  /// Numbers are equal by value, objects whatever the order of their members.
  friend bool operator==(Json const& a, Json const& b);

  /// The text: on one line, or members and items on lines of their own, `indent` blanks deeper
  /// each. Bytes that are not UTF-8 are replaced.
  std::string dump(int indent = -1) const;
  /// Throws JsonError where the text is no JSON, has a key twice or is nested deeper than any of
  /// our files.
  static Json parse(std::string_view text);

 private:
  /// A value on the heap that is copied with its owner; without one it stands for an empty value.
  template <class T>
  class Box {
   public:
    explicit Box(T value) : value_(std::make_unique<T>(std::move(value))) {}
    Box(Box const& other) : value_(std::make_unique<T>(*other)) {}
    Box(Box&& other) noexcept = default;
    Box& operator=(Box const& other) {
      *this = Box(other);
      return *this;
    }
    Box& operator=(Box&& other) noexcept = default;
    ~Box() = default;
    T& operator*() const { return *value_; }
    T* operator->() const { return value_.get(); }

   private:
    std::unique_ptr<T> value_;
  };

  [[noreturn]] void refuse(char const* expected) const;
  std::int64_t integer() const;
  std::uint64_t whole() const;
  double number() const;
  bool boolean() const;
  std::string const& text() const;
  Array const& list() const;

  std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, Box<std::string>,
               Box<Array>, Box<Object>>
      value_;
};

namespace json_detail {
template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;
}  // namespace json_detail

template <class T>
T Json::get() const {
  if constexpr (std::is_same_v<T, bool>) {
    return boolean();
  } else if constexpr (std::unsigned_integral<T>) {
    std::uint64_t const value = whole();
    if (!std::in_range<T>(value)) refuse("a smaller integer");
    return static_cast<T>(value);
  } else if constexpr (std::signed_integral<T>) {
    std::int64_t const value = integer();
    if (!std::in_range<T>(value)) refuse("a smaller integer");
    return static_cast<T>(value);
  } else if constexpr (std::floating_point<T>) {
    return static_cast<T>(number());
  } else if constexpr (std::is_same_v<T, std::string>) {
    return text();
  } else if constexpr (std::is_same_v<T, Json>) {
    return *this;
  } else {
    static_assert(json_detail::kIsVector<T>, "no JSON value gives such a type");
    T result;
    for (Json const& item : list()) result.push_back(item.get<typename T::value_type>());
    return result;
  }
}

}  // namespace fairlane
