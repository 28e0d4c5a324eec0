// The inner loop of bounds: rows times matrices, in double.
#pragma once

namespace fairlane {

/// sum[k] += factor[0] * matrix[0][k] + factor[1] * matrix[1][k] + ..., one row after the other,
/// each product and each sum rounded to double. Rows whose factor is zero are left out.
/// factor  [rows]
/// matrix  [rows][columns]
/// sum     [columns]
void add_row_product(double const* factor, int rows, double const* matrix, int columns,
                     double* sum);

}  // namespace fairlane
