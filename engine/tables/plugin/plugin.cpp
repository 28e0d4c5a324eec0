// The Parquet plug-in: files of plain numbers by Apache Arrow.
#include <arrow/api.h>
#include <arrow/io/file.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/writer.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "engine/tables/parquet_plugin_api.h"

namespace fairlane {
namespace {

constexpr std::int64_t kGroupRows = 1 << 20;

std::shared_ptr<arrow::DataType> data_type(std::int32_t type) {
  switch (type) {
    case kParquetU1:
      return arrow::uint8();
    case kParquetI1:
      return arrow::int8();
    case kParquetU2:
      return arrow::uint16();
    case kParquetI2:
      return arrow::int16();
    case kParquetU4:
      return arrow::uint32();
    case kParquetI4:
      return arrow::int32();
    default:
      return arrow::float32();
  }
}

/// The columns of a file, and where each stands in a row.
struct Form {
  Form(ParquetColumn const* columns, std::int32_t count) {
    arrow::FieldVector fields;
    for (std::int32_t c = 0; c < count; ++c) {
      fields.push_back(arrow::field(columns[c].name, data_type(columns[c].type), false));
      widths.push_back(fields.back()->type()->byte_width());
      offsets.push_back(row_bytes);
      row_bytes += widths.back();
    }
    schema = arrow::schema(fields);
  }
  std::shared_ptr<arrow::Schema> schema;
  std::vector<std::int64_t> widths;
  std::vector<std::int64_t> offsets;
  std::int64_t row_bytes = 0;
};

template <std::size_t kWidth>
void copy_numbers(char const* from, std::int64_t from_step, char* to, std::int64_t to_step,
                  std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * to_step, from + i * from_step, kWidth);
}
void copy_column(std::int64_t width, char const* from, std::int64_t from_step, char* to,
                 std::int64_t to_step, std::int64_t count) {
  if (width == 1) return copy_numbers<1>(from, from_step, to, to_step, count);
  if (width == 2) return copy_numbers<2>(from, from_step, to, to_step, count);
  copy_numbers<4>(from, from_step, to, to_step, count);
}

struct Writer {
  Form form;
  std::shared_ptr<arrow::io::FileOutputStream> file;
  std::unique_ptr<parquet::arrow::FileWriter> parquet;
};

struct Reader {
  Form form;
  std::unique_ptr<parquet::arrow::FileReader> parquet;
  std::unique_ptr<arrow::RecordBatchReader> batches;
  std::shared_ptr<arrow::RecordBatch> batch;
  std::int64_t at = 0;  // rows of the batch that were read
};

void say(ParquetProblem problem, std::string const& text) {
  auto const length =
      std::min<std::int64_t>(problem.room - 1, static_cast<std::int64_t>(text.size()));
  std::memcpy(problem.text, text.data(), static_cast<std::size_t>(length));
  problem.text[length] = '\0';
}

/// Calls what may throw or return a status; `failed` where it does.
template <class Result, class Call>
Result guarded(Result failed, ParquetProblem problem, Call const& call) {
  try {
    Result result = failed;
    arrow::Status const status = call(result);
    if (status.ok()) return result;
    say(problem, status.message());
  } catch (std::exception const& error) {
    say(problem, error.what());
  }
  return failed;
}

void* create(char const* path, ParquetColumn const* columns, std::int32_t count, std::int32_t zstd,
             ParquetProblem problem) {
  return guarded<void*>(nullptr, problem, [&](void*& result) -> arrow::Status {
    auto writer = std::make_unique<Writer>(Writer{Form(columns, count), nullptr, nullptr});
    ARROW_ASSIGN_OR_RAISE(writer->file, arrow::io::FileOutputStream::Open(path));
    auto const properties =
        parquet::WriterProperties::Builder()
            .max_row_group_length(kGroupRows)
            ->compression(zstd != 0 ? arrow::Compression::ZSTD : arrow::Compression::UNCOMPRESSED)
            ->build();
    ARROW_ASSIGN_OR_RAISE(writer->parquet, parquet::arrow::FileWriter::Open(
                                               *writer->form.schema, arrow::default_memory_pool(),
                                               writer->file, properties));
    result = writer.release();
    return arrow::Status::OK();
  });
}

std::int32_t write(void* writer, char const* rows, std::int64_t count, ParquetProblem problem) {
  return guarded<std::int32_t>(-1, problem, [&](std::int32_t& result) -> arrow::Status {
    Writer& w = *static_cast<Writer*>(writer);
    arrow::ArrayVector arrays;
    for (std::size_t c = 0; c < w.form.widths.size(); ++c) {
      std::int64_t const width = w.form.widths[c];
      ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> buffer,
                            arrow::AllocateBuffer(count * width));
      copy_column(width, rows + w.form.offsets[c], w.form.row_bytes,
                  reinterpret_cast<char*>(buffer->mutable_data()), width, count);
      arrays.push_back(arrow::MakeArray(arrow::ArrayData::Make(
          w.form.schema->field(static_cast<int>(c))->type(), count, {nullptr, buffer}, 0)));
    }
    ARROW_RETURN_NOT_OK(
        w.parquet->WriteRecordBatch(*arrow::RecordBatch::Make(w.form.schema, count, arrays)));
    result = 0;
    return arrow::Status::OK();
  });
}

std::int32_t finish(void* writer, ParquetProblem problem) {
  return guarded<std::int32_t>(-1, problem, [&](std::int32_t& result) -> arrow::Status {
    Writer& w = *static_cast<Writer*>(writer);
    ARROW_RETURN_NOT_OK(w.parquet->Close());
    ARROW_RETURN_NOT_OK(w.file->Close());
    result = 0;
    return arrow::Status::OK();
  });
}

void free_writer(void* writer) {
  // Arrow writes the end of a file that is given up, too; whatever it says, nobody wants it.
  try {
    delete static_cast<Writer*>(writer);
  } catch (std::exception const&) {
  }
}

void* open(char const* path, ParquetColumn const* columns, std::int32_t count, std::int64_t* rows,
           ParquetProblem problem) {
  return guarded<void*>(nullptr, problem, [&](void*& result) -> arrow::Status {
    auto reader = std::make_unique<Reader>(Reader{Form(columns, count), nullptr, nullptr, nullptr});
    ARROW_ASSIGN_OR_RAISE(auto file, arrow::io::ReadableFile::Open(path));
    ARROW_ASSIGN_OR_RAISE(reader->parquet,
                          parquet::arrow::OpenFile(file, arrow::default_memory_pool()));
    std::shared_ptr<arrow::Schema> schema;
    ARROW_RETURN_NOT_OK(reader->parquet->GetSchema(&schema));
    if (!schema->Equals(*reader->form.schema, /*check_metadata=*/false))
      return arrow::Status::Invalid("has other columns than those of this run");
    *rows = reader->parquet->parquet_reader()->metadata()->num_rows();
    ARROW_ASSIGN_OR_RAISE(reader->batches, reader->parquet->GetRecordBatchReader());
    result = reader.release();
    return arrow::Status::OK();
  });
}

std::int64_t read(void* reader, char* rows, std::int64_t count, ParquetProblem problem) {
  return guarded<std::int64_t>(-1, problem, [&](std::int64_t& result) -> arrow::Status {
    Reader& r = *static_cast<Reader*>(reader);
    while (!r.batch || r.at == r.batch->num_rows()) {
      ARROW_RETURN_NOT_OK(r.batches->ReadNext(&r.batch));
      r.at = 0;
      if (!r.batch) {
        result = 0;
        return arrow::Status::OK();
      }
    }
    std::int64_t const n = std::min(count, r.batch->num_rows() - r.at);
    for (std::size_t c = 0; c < r.form.widths.size(); ++c) {
      auto const& data = *r.batch->column_data(static_cast<int>(c));
      std::int64_t const width = r.form.widths[c];
      copy_column(
          width,
          reinterpret_cast<char const*>(data.buffers[1]->data()) + (data.offset + r.at) * width,
          width, rows + r.form.offsets[c], r.form.row_bytes, n);
    }
    r.at += n;
    result = n;
    return arrow::Status::OK();
  });
}

void free_reader(void* reader) { delete static_cast<Reader*>(reader); }

constexpr ParquetPlugin kPlugin = {kParquetPluginVersion,
                                   "Arrow " ARROW_VERSION_STRING,
                                   create,
                                   write,
                                   finish,
                                   free_writer,
                                   open,
                                   read,
                                   free_reader};

}  // namespace
}  // namespace fairlane

extern "C" __attribute__((visibility("default"))) void const* fairlane_parquet_plugin() {
  return &fairlane::kPlugin;
}
