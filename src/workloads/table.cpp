#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/suggest.h"
#include "workloads/workload.h"

namespace bulkhead::workloads {

// Each is defined in the file that bears its name.
using Create = std::unique_ptr<Instance>(gpu::Context&, Size, std::uint64_t seed);
Create createAtax, createBicg, createMvt, createGesummv, createSyrk, createSyr2k, createConv2d, createCorr;
Create createKmeans, createGaussian, createBackprop, createHotspot, createLud, createNn, createNw, createCfd;
Create createMatrixMultiply, createSortingNetworks, createVectorAdd, createScalarProducts, createFastWalsh;
Create createMarsKmeans, createInvertedIndex, createPageViewCount, createSimilarityScore, createStringMatch,
    createWordCount;
Create createAlexnet;
Create createGemmMma, createGemmWgmma, createAttention, createPagedDecode, createQuantizedGemv;

namespace {

constexpr std::size_t kKiB = 1024, kMiB = 1024 * 1024;

}  // namespace

const std::vector<Workload>& all() {
    static const std::vector<Workload> table = {
        {"ATAX", "PolyBench", "y = A' (A x)", CiaoFigures{"LWS", 64, 64 * kMiB, 2, 0, false}, false, createAtax},
        {"BICG", "PolyBench", "s = A' r, q = A p", CiaoFigures{"LWS", 64, 64 * kMiB, 2, 0, false}, false, createBicg},
        {"MVT", "PolyBench", "x1 += A y1, x2 += A' y2", CiaoFigures{"LWS", 64, 64 * kMiB, 2, 0, false}, false,
         createMvt},
        {"GESUMMV", "PolyBench", "y = alpha A x + beta B x", CiaoFigures{"SWS", 136, 128 * kMiB, 2, 0, false}, false,
         createGesummv},
        {"SYR2K", "PolyBench", "C = beta C + alpha (A B' + B A')", CiaoFigures{"SWS", 108, 48 * kMiB, 6, 0, false},
         false, createSyr2k},
        {"SYRK", "PolyBench", "C = beta C + alpha A A'", CiaoFigures{"SWS", 94, 512 * kKiB, 6, 0, false}, false,
         createSyrk},
        {"2DCONV", "PolyBench", "3 x 3 convolution of a matrix", CiaoFigures{"CI", 9, 64 * kMiB, 36, 0, false}, false,
         createConv2d},
        {"CORR", "PolyBench", "correlation of the columns of a matrix", CiaoFigures{"CI", 10, 2 * kMiB, 48, 0, false},
         false, createCorr},
        {"Kmeans", "Rodinia", "k-means clustering of points", CiaoFigures{"LWS", 85, 101 * kMiB, 2, 0, true}, false,
         createKmeans},
        {"Gaussian", "Rodinia", "Gaussian elimination", CiaoFigures{"CI", 18, 339 * kKiB, 48, 0, false}, false,
         createGaussian},
        {"Backprop", "Rodinia", "training step of a neural network", CiaoFigures{"CI", 3, 5 * kMiB, 36, 0.13, true},
         false, createBackprop},
        {"Hotspot", "Rodinia", "temperature of a chip", CiaoFigures{"CI", 1, 2 * kMiB, 48, 0.19, true}, false,
         createHotspot},
        {"Lud", "Rodinia", "LU decomposition", CiaoFigures{"CI", 2, 25 * kKiB, 38, 0.5, true}, false, createLud},
        {"NN", "Rodinia", "nearest neighbours of a place", CiaoFigures{"CI", 8, 334 * kKiB, 48, 0, false}, false,
         createNn},
        {"NW", "Rodinia", "alignment of two sequences (Needleman-Wunsch)",
         CiaoFigures{"CI", 5, 32 * kMiB, 48, 0.35, true}, false, createNw},
        {"CFD", "Rodinia", "air flow on an unstructured mesh", {}, true, createCfd},
        {"KMN", "Mars", "k-means clustering of points", CiaoFigures{"LWS", 46, 168 * kKiB, 4, 0.01, true}, false,
         createMarsKmeans},
        {"II", "Mars", "inverted index of links in HTML documents", CiaoFigures{"SWS", 75, 28 * kMiB, 4, 0, true},
         false, createInvertedIndex},
        {"PVC", "Mars", "distinct views of pages in a web log", CiaoFigures{"SWS", 64, 13 * kMiB, 48, 0.33, true},
         false, createPageViewCount},
        {"SS", "Mars", "similarity of document vectors, pair by pair", CiaoFigures{"SWS", 34, 23 * kMiB, 48, 0.5, true},
         false, createSimilarityScore},
        {"SM", "Mars", "places of a keyword in a text", CiaoFigures{"SWS", 140, 1 * kMiB, 48, 0.01, true}, false,
         createStringMatch},
        {"WC", "Mars", "number of each word in a text", CiaoFigures{"SWS", 19, 88 * kKiB, 48, 0.01, true}, false,
         createWordCount},
        {"MM", "CUDA samples", "matrix multiplication in tiles", {}, true, createMatrixMultiply},
        {"SN", "CUDA samples", "bitonic sorting network", {}, true, createSortingNetworks},
        {"VA", "CUDA samples", "vector addition", {}, true, createVectorAdd},
        {"SP", "CUDA samples", "scalar products of pairs of vectors", {}, true, createScalarProducts},
        {"FWT", "CUDA samples", "convolution by fast Walsh transforms", {}, true, createFastWalsh},
        {"IC", "Caffe", "image classification with AlexNet", {}, true, createAlexnet},
        {"GEMM_MMA",
         "Inference",
         "a layer's matrix product by mma, bfloat16",
         {},
         false,
         createGemmMma,
         InferenceFigures{"compute", 44 * kMiB}},
        {"GEMM_WGMMA",
         "Inference",
         "the same by wgmma and tensor maps, for sm_90",
         {},
         false,
         createGemmWgmma,
         InferenceFigures{"compute", 44 * kMiB, true}},
        {"Attention",
         "Inference",
         "attention of a prompt's tokens: prefill",
         {},
         false,
         createAttention,
         InferenceFigures{"compute", 28 * kMiB}},
        {"PagedDecode",
         "Inference",
         "attention of one new token to a paged cache: decode",
         {},
         false,
         createPagedDecode,
         InferenceFigures{"memory", 210 * kMiB}},
        {"GEMV_INT4",
         "Inference",
         "matrix times vector, weights of four bits",
         {},
         false,
         createQuantizedGemv,
         InferenceFigures{"memory", 29 * kMiB}},
    };
    return table;
}

std::string_view Workload::workloadClass() const {
    return ciao ? ciao->workloadClass : inference ? inference->boundBy : "";
}

const Workload& find(std::string_view name) {
    const auto lower = [](std::string_view text) {
        std::string out(text);
        std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
        return out;
    };
    std::vector<std::string> names;
    for (const Workload& workload : all()) {
        if (lower(workload.name) == lower(name)) return workload;
        names.emplace_back(workload.name);
    }
    throw Error("no workload {}{}; `bulkhead workloads` lists them", name, didYouMean(name, names));
}

Size parseSize(std::string_view text) {
    for (const Size size : {Size::test, Size::standard, Size::paper, Size::large})
        if (sizeName(size) == text) return size;
    throw Error("no size {}: a workload has the sizes test, default, paper and large", text);
}

std::string_view sizeName(Size size) {
    switch (size) {
        case Size::test:
            return "test";
        case Size::standard:
            return "default";
        case Size::paper:
            return "paper";
        case Size::large:
            return "large";
    }
    return "";
}

}  // namespace bulkhead::workloads
