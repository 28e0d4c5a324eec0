// Writes zip archives, independently of the reader under test.
#pragma once

#include <zlib.h>

#include <stdexcept>

#include "tests/base/formats/protobuf_writer.h"

namespace fairlane {

/// How an archive is written. `zip64` gives sizes in extra fields, as Python does for streams.
struct ZipStyle {
  bool deflate = false;
  bool zip64 = false;
};

class ZipWriter {
 public:
  explicit ZipWriter(ZipStyle style = {}) : style_(style) {}

  ZipWriter& add(std::string const& name, std::string const& contents) {
    std::string const packed = style_.deflate ? deflated(contents) : contents;
    auto const crc = crc32(0, reinterpret_cast<Bytef const*>(contents.data()),
                           static_cast<uInt>(contents.size()));
    auto const size = [&](std::size_t value) {
      return little_endian(style_.zip64 ? 0xFFFFFFFF : value, 4);
    };
    std::string const sizes = size(packed.size()) + size(contents.size());
    std::string const extra = style_.zip64 ? little_endian(1, 2) + little_endian(16, 2) +
                                                 little_endian(contents.size(), 8) +
                                                 little_endian(packed.size(), 8)
                                           : "";
    std::string const common = little_endian(0, 2) + little_endian(style_.deflate ? 8 : 0, 2) +
                               little_endian(0, 4) + little_endian(crc, 4) + sizes +
                               little_endian(name.size(), 2) + little_endian(extra.size(), 2);
    std::size_t const header = text_.size();
    text_ += "PK\x03\x04" + little_endian(45, 2) + common + name + extra + packed;
    directory_ += "PK\x01\x02" + little_endian(45, 2) + little_endian(45, 2) + common +
                  little_endian(0, 2) + little_endian(0, 8) + little_endian(header, 4) + name +
                  extra;
    ++count_;
    return *this;
  }

  std::string bytes() const {
    std::string out = text_ + directory_;
    if (style_.zip64) {
      std::size_t const end = out.size();
      out += "PK\x06\x06" + little_endian(44, 8) + little_endian(45, 2) + little_endian(45, 2) +
             little_endian(0, 8) + little_endian(count_, 8) + little_endian(count_, 8) +
             little_endian(directory_.size(), 8) + little_endian(text_.size(), 8);
      out += "PK\x06\x07" + little_endian(0, 4) + little_endian(end, 8) + little_endian(1, 4);
    }
    std::uint64_t const count = style_.zip64 ? 0xFFFF : count_;
    return out + "PK\x05\x06" + little_endian(0, 4) + little_endian(count, 2) +
           little_endian(count, 2) +
           little_endian(style_.zip64 ? 0xFFFFFFFF : directory_.size(), 4) +
           little_endian(style_.zip64 ? 0xFFFFFFFF : text_.size(), 4) + little_endian(0, 2);
  }

 private:
  static std::string deflated(std::string const& contents) {
    z_stream stream{};
    if (deflateInit2(&stream, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
      throw std::runtime_error("deflateInit2 failed");
    }
    std::string out(deflateBound(&stream, static_cast<uLong>(contents.size())), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(contents.data()));
    stream.avail_in = static_cast<uInt>(contents.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    if (deflate(&stream, Z_FINISH) != Z_STREAM_END) throw std::runtime_error("deflate failed");
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
  }

  ZipStyle style_;
  std::string text_;
  std::string directory_;
  std::size_t count_ = 0;
};

}  // namespace fairlane
