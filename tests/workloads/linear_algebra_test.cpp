#include "workloads/linear_algebra.h"

#include <gtest/gtest.h>

#include "workloads/host_code.h"

namespace bulkhead::workloads {
namespace {

const Matrix kA = {2, 3, {1, 2, 3, 4, 5, 6}};

TEST(LinearAlgebra, MultipliesAVector) {
    EXPECT_EQ(product(kA, std::vector<double>{1, 10, 100}), (std::vector<double>{321, 654}));
}

TEST(LinearAlgebra, MultipliesAVectorByTheTranspose) {
    EXPECT_EQ(transposedProduct(kA, {1, 10}), (std::vector<double>{41, 52, 63}));
}

TEST(LinearAlgebra, TransposesRowsIntoColumns) {
    const Matrix t = transposed(kA);
    EXPECT_EQ(t.rows, 3u);
    EXPECT_EQ(t.columns, 2u);
    EXPECT_EQ(t.values, (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

// Sides around the sizes of its tiles.
TEST(LinearAlgebra, MultipliesMatricesOfAnySize) {
    for (const std::size_t rows : {1, 3, 4, 5, 9})
        for (const std::size_t inner : {1, 7})
            for (const std::size_t columns : {1, 7, 8, 9, 17}) {
                Random random(rows * 100 + columns);
                const Matrix a = uniformMatrix(random, rows, inner), b = uniformMatrix(random, inner, columns);
                const std::vector<double> c = product(a, b);
                ASSERT_EQ(c.size(), rows * columns);
                for (std::size_t i = 0; i < rows; ++i)
                    for (std::size_t j = 0; j < columns; ++j) {
                        double sum = 0;
                        for (std::size_t k = 0; k < inner; ++k) sum += static_cast<double>(a.row(i)[k]) * b.row(k)[j];
                        ASSERT_EQ(c[i * columns + j], sum) << rows << " x " << inner << " x " << columns;
                    }
            }
}

TEST(LinearAlgebra, SumsInSinglePrecisionStayWithinTheTolerance) {
    Random random(1);
    for (const std::size_t terms : {16, 256, 4096}) {
        for (int repeat = 0; repeat < 200; ++repeat) {
            float sum = 0;
            double exact = 0;
            for (const float term : uniformFloats(random, terms)) {
                sum += term;
                exact += term;
            }
            EXPECT_LT(std::abs(sum - exact), sumTolerance(terms) * exact);
        }
        EXPECT_LT(sumTolerance(terms), 0.5 / static_cast<double>(terms)) << "a missing term must show";
    }
}

TEST(HostCode, UniformFloatsFillTheirRange) {
    Random random(5);
    const std::vector<float> values = uniformFloats(random, 10000, -2, 6);
    double sum = 0;
    for (const float v : values) {
        ASSERT_GE(v, -2);
        ASSERT_LE(v, 6);
        sum += v;
    }
    EXPECT_NEAR(sum / 10000, 2, 0.1);  // the mean of 10000 has a standard deviation of 8 / sqrt(12 * 10000) = 0.023
}

TEST(HostCode, BlocksCoverAllThreads) {
    EXPECT_EQ(blocksFor(1, 256), 1u);
    EXPECT_EQ(blocksFor(256, 256), 1u);
    EXPECT_EQ(blocksFor(257, 256), 2u);
}

}  // namespace
}  // namespace bulkhead::workloads
