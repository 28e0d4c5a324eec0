// Writes small Keras models with the HDF5 library, independently of the reader under test.
#pragma once

#include <hdf5.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace fairlane {

/// How a text or a list of texts is stored.
enum class TextKind { kFixed, kVariable };

/// An HDF5 file being written; closed by the destructor.
class H5Writer {
 public:
  explicit H5Writer(std::string const& path, bool latest = false) {
    hid_t const access = H5Pcreate(H5P_FILE_ACCESS);
    if (latest) H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    file_ = checked(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access));
    H5Pclose(access);
  }
  ~H5Writer() { H5Fclose(file_); }
  H5Writer(H5Writer const&) = delete;
  H5Writer& operator=(H5Writer const&) = delete;

  void group(std::string const& path) {
    H5Gclose(checked(H5Gcreate2(file_, path.c_str(), parents(), H5P_DEFAULT, H5P_DEFAULT)));
  }
  void text(std::string const& object, std::string const& name, std::string const& value,
            TextKind kind) {
    attribute(object, name, {value}, kind, checked(H5Screate(H5S_SCALAR)));
  }
  void list(std::string const& object, std::string const& name,
            std::vector<std::string> const& values, TextKind kind) {
    hsize_t const size = values.size();
    attribute(object, name, values, kind, checked(H5Screate_simple(1, &size, nullptr)));
  }
  /// values [product of shape], stored as `type`; `chunked` cuts them and compresses.
  void floats(std::string const& path, std::vector<hsize_t> const& shape,
              std::vector<double> const& values, hid_t type = H5T_IEEE_F32LE,
              bool chunked = false) {
    hid_t const space =
        checked(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr));
    hid_t const create = H5Pcreate(H5P_DATASET_CREATE);
    if (chunked) H5Pset_chunk(create, static_cast<int>(shape.size()), shape.data());
    hid_t const set =
        checked(H5Dcreate2(file_, path.c_str(), type, space, parents(), create, H5P_DEFAULT));
    checked(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()));
    H5Dclose(set);
    H5Pclose(create);
    H5Sclose(space);
  }
  void soft_link(std::string const& target, std::string const& path) {
    checked(H5Lcreate_soft(target.c_str(), file_, path.c_str(), parents(), H5P_DEFAULT));
  }

 private:
  static hid_t checked(hid_t id) {
    if (id < 0) throw std::runtime_error("HDF5 call failed");
    return id;
  }
  static hid_t parents() {
    static hid_t const kList = [] {
      hid_t const list = H5Pcreate(H5P_LINK_CREATE);
      H5Pset_create_intermediate_group(list, 1);
      return list;
    }();
    return kList;
  }
  void attribute(std::string const& object, std::string const& name,
                 std::vector<std::string> const& values, TextKind kind, hid_t space) {
    hid_t const type = checked(H5Tcopy(H5T_C_S1));
    std::size_t width = 1;
    for (auto const& value : values) width = std::max(width, value.size());
    H5Tset_size(type, kind == TextKind::kVariable ? H5T_VARIABLE : width);
    if (kind == TextKind::kFixed) H5Tset_strpad(type, H5T_STR_NULLPAD);
    hid_t const id = checked(H5Acreate_by_name(file_, object.c_str(), name.c_str(), type, space,
                                               H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    if (kind == TextKind::kVariable) {
      std::vector<char const*> pointers;
      for (auto const& value : values) pointers.push_back(value.c_str());
      checked(H5Awrite(id, type, pointers.data()));
    } else {
      std::string flat;
      for (auto const& value : values) flat += value + std::string(width - value.size(), '\0');
      checked(H5Awrite(id, type, flat.data()));
    }
    H5Aclose(id);
    H5Tclose(type);
    H5Sclose(space);
  }

  hid_t file_;
};

}  // namespace fairlane
