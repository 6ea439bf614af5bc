#pragma once

#include <string>
#include <vector>

namespace bulkhead::reproduce {

/// A sentence of the CIAO paper (IPDPS 2018) that compares two schedulers with a number: how many times the geometric
/// mean of the one's IPC is the other's. Most bars and curves of its figures have no number in the text; those are
/// shown without the paper's beside them.
struct PaperRatio {
    const char* section;
    const char* over;   ///< scheduler whose IPC is divided
    const char* under;  ///< by this one's
    const char* among;  ///< a class (LWS, SWS, CI), a workload, or "all"
    double paper;
};

/// V-B: over all workloads.
struct PaperGain {
    const char* scheduler;
    double overGto;
};
inline constexpr PaperGain kCiaoOverGto[] = {{"ciao-t", 1.34}, {"ciao-p", 1.34}, {"ciao-c", 1.56}};

/// Figures 11a and 11b (V-E): IPC changes by no more than so many percent.
inline constexpr double kEpochsWithin = 15, kCutoffsWithin = 5;

/// Figure 8a, in the order of the text of V-B.
inline const std::vector<PaperRatio> kFigure8Ratios = {
    {"V-B", "ccws", "gto", "all", 1.02},       {"V-B", "best-swl", "gto", "all", 1.16},
    {"V-B", "statpcal", "gto", "all", 1.24},   {"V-B", "ciao-t", "gto", "all", 1.34},
    {"V-B", "ciao-p", "gto", "all", 1.34},     {"V-B", "ciao-c", "gto", "all", 1.56},
    {"V-B", "ciao-t", "ccws", "all", 1.32},    {"abstract", "ciao-c", "ccws", "all", 1.54},
    {"I", "ciao-p", "ccws", "all", 1.32},      {"V-B", "ciao-c", "ciao-t", "all", 1.17},
    {"V-B", "ciao-c", "ciao-p", "all", 1.16},  {"V-B", "ciao-t", "ciao-p", "LWS", 1.48},
    {"V-B", "ciao-t", "ccws", "LWS", 1.66},    {"V-B", "ciao-p", "ciao-t", "SWS", 1.28},
    {"V-B", "ccws", "best-swl", "ATAX", 1.49},
};

/// Figures 12a and 12b (V-E), over the LWS and SWS workloads together ("all" of those compared).
inline const std::vector<PaperRatio> kFigure12aRatios = {
    {"V-E", "GTO-cap", "GTO", "all", 2.08},
    {"V-E", "GTO-8way", "GTO", "all", 1.51},
    {"V-E", "CIAO-C", "GTO-cap", "all", 1.14},
    {"V-E", "CIAO-C", "GTO-8way", "all", 1.57},
};
inline const std::vector<PaperRatio> kFigure12bRatios = {
    {"V-E", "CIAO-C-2X", "statPCAL-2X", "all", 1.16},
};

/// Figure 10 (V-D).
inline const std::vector<PaperRatio> kFigure10Ratios = {
    {"V-D", "ciao-t", "ciao-p", "KMN", 1.5},
};

}  // namespace bulkhead::reproduce
