#include "kernels/boxes/row_product.h"

namespace fairlane {
namespace {

/// kWidth columns, whose sums stay in registers.
template <int kWidth>
[[gnu::always_inline]] inline void add_columns(double const* factor, int rows, double const* matrix,
                                               int columns, double* sum) {
  double local[kWidth];
  for (int k = 0; k < kWidth; ++k) local[k] = sum[k];
  for (int r = 0; r < rows; ++r) {
    double const f = factor[r];
    if (f == 0.0) continue;
    double const* const row = matrix + static_cast<long>(r) * columns;
    for (int k = 0; k < kWidth; ++k) local[k] += f * row[k];
  }
  for (int k = 0; k < kWidth; ++k) sum[k] = local[k];
}

[[gnu::always_inline]] inline void add_all_columns(double const* factor, int rows,
                                                   double const* matrix, int columns, double* sum) {
  constexpr int kWide = 64;
  constexpr int kMiddle = 16;
  constexpr int kNarrow = 4;
  int k = 0;
  for (; k + kWide <= columns; k += kWide)
    add_columns<kWide>(factor, rows, matrix + k, columns, sum + k);
  for (; k + kMiddle <= columns; k += kMiddle)
    add_columns<kMiddle>(factor, rows, matrix + k, columns, sum + k);
  for (; k + kNarrow <= columns; k += kNarrow)
    add_columns<kNarrow>(factor, rows, matrix + k, columns, sum + k);
  for (; k < columns; ++k) add_columns<1>(factor, rows, matrix + k, columns, sum + k);
}

#if defined(__x86_64__) && defined(__GNUC__)
// The same operations in wider registers: the results are the same.
#ifdef __clang__
#define FL_AVX512 "avx512f,avx512dq"  // it knows no preference here
#else
#define FL_AVX512 "avx512f,avx512dq,prefer-vector-width=512"
#endif
[[gnu::target(FL_AVX512)]] void add_avx512(double const* factor, int rows, double const* matrix,
                                           int columns, double* sum) {
  add_all_columns(factor, rows, matrix, columns, sum);
}
[[gnu::target("avx2")]] void add_avx2(double const* factor, int rows, double const* matrix,
                                      int columns, double* sum) {
  add_all_columns(factor, rows, matrix, columns, sum);
}
#endif

}  // namespace

void add_row_product(double const* factor, int rows, double const* matrix, int columns,
                     double* sum) {
#if defined(__x86_64__) && defined(__GNUC__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
    return add_avx512(factor, rows, matrix, columns, sum);
  if (__builtin_cpu_supports("avx2")) return add_avx2(factor, rows, matrix, columns, sum);
#endif
  add_all_columns(factor, rows, matrix, columns, sum);
}

}  // namespace fairlane
