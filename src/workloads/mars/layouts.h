#pragma once

#include "workloads/mars/records.h"

// The keys and values that the applications put into their records. As in Mars, a key holds the address of the data
// that all records share, so a thread follows its entry to its key and from there to its data.

namespace bulkhead::workloads::mars {

struct TextKey {
    Pointer<const char> text;
};
struct TextBlock {
    int offset, size;
};

struct KeywordKey {
    Pointer<const char> text, keyword;
};
struct KeywordBlock {
    int offset, size, keywordSize;
};

struct LinkKey {
    Pointer<const char> document;
    int offset;  ///< of the link's first byte; a quote ends it
    int hash;
};
struct DocumentBlock {
    int document, offset, size;
};

struct ViewKey {
    Pointer<const char> log;
    int offset;  ///< of the line's first byte, which is the URL's
    int hash;
};
struct ViewLine {
    int size;  ///< with the newline
};

struct MatrixKey {
    Pointer<const float> matrix;
};
struct DocumentPair {
    int first, second, dimensions;
};

struct PointKey {
    Pointer<int> clusterOf;
    int point, dimensions, clusters;
};
struct PointValue {
    Pointer<const int> points;
    Pointer<int> centres;
    Pointer<int> changed;
};

}  // namespace bulkhead::workloads::mars
