#include "workloads/linear_algebra.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "workloads/host_code.h"

namespace bulkhead::workloads {
namespace {

/// Columns [first, first + kColumns) of b as doubles, side by side, zeros where b ends.
constexpr std::size_t kRows = 4, kColumns = 8;
using PanelRow = std::array<double, kColumns>;

std::vector<PanelRow> panelOf(const Matrix& b, std::size_t first) {
    std::vector<PanelRow> panel(b.rows, PanelRow{});
    const std::size_t count = std::min(kColumns, b.columns - first);
    for (std::size_t k = 0; k < b.rows; ++k)
        for (std::size_t j = 0; j < count; ++j) panel[k][j] = b.row(k)[first + j];
    return panel;
}

/// kRows rows of the product with a panel, in sums that fit into registers.
std::array<PanelRow, kRows> tile(const std::array<const float*, kRows>& rows, const std::vector<PanelRow>& panel) {
    std::array<PanelRow, kRows> sums = {};
    for (std::size_t k = 0; k < panel.size(); ++k)
        for (std::size_t r = 0; r < kRows; ++r)
            for (std::size_t j = 0; j < kColumns; ++j) sums[r][j] += static_cast<double>(rows[r][k]) * panel[k][j];
    return sums;
}

}  // namespace

Matrix uniformMatrix(Random& random, std::size_t rows, std::size_t columns) {
    return {rows, columns, uniformFloats(random, rows * columns)};
}

std::vector<double> product(const Matrix& a, const std::vector<double>& x) {
    std::vector<double> y(a.rows);
    for (std::size_t i = 0; i < a.rows; ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < a.columns; ++j) sum += static_cast<double>(a.row(i)[j]) * x[j];
        y[i] = sum;
    }
    return y;
}

std::vector<double> transposedProduct(const Matrix& a, const std::vector<double>& x) {
    std::vector<double> y(a.columns);
    for (std::size_t i = 0; i < a.rows; ++i)
        for (std::size_t j = 0; j < a.columns; ++j) y[j] += static_cast<double>(a.row(i)[j]) * x[i];
    return y;
}

std::vector<double> product(const Matrix& a, const Matrix& b) {
    std::vector<double> c(a.rows * b.columns);
    for (std::size_t first = 0; first < b.columns; first += kColumns) {
        const std::vector<PanelRow> panel = panelOf(b, first);
        const std::size_t columns = std::min(kColumns, b.columns - first);
        for (std::size_t i = 0; i < a.rows; i += kRows) {
            std::array<const float*, kRows> rows;
            for (std::size_t r = 0; r < kRows; ++r) rows[r] = a.row(std::min(i + r, a.rows - 1));
            const std::array<PanelRow, kRows> sums = tile(rows, panel);
            for (std::size_t r = 0; r < std::min(kRows, a.rows - i); ++r)
                std::copy_n(sums[r].begin(), columns,
                            c.begin() + static_cast<std::ptrdiff_t>((i + r) * b.columns + first));
        }
    }
    return c;
}

Matrix transposed(const Matrix& a) {
    Matrix t{a.columns, a.rows, std::vector<float>(a.values.size())};
    for (std::size_t i = 0; i < a.rows; ++i)
        for (std::size_t j = 0; j < a.columns; ++j) t.values[j * a.rows + i] = a.row(i)[j];
    return t;
}

std::vector<double> widened(const std::vector<float>& values) {
    return {values.begin(), values.end()};
}

std::vector<float> rounded(const std::vector<double>& values) {
    std::vector<float> out(values.size());
    std::transform(values.begin(), values.end(), out.begin(), [](double v) { return static_cast<float>(v); });
    return out;
}

double sumTolerance(std::size_t terms) {
    return 0x1p-22 * std::sqrt(static_cast<double>(terms));
}

}  // namespace bulkhead::workloads
