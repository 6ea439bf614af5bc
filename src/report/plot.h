#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace bulkhead::report {

/// What a chart shows, with nothing left to work out but where it goes on the page. NaN where there is nothing.
struct Plot {
    struct Series {
        std::string name;
        std::vector<double> x;  ///< ascending; bar, stack: the number of a category; histogram: where a bin begins
        std::vector<double> y;
        bool paper = false;                    ///< published figures, of the series before it
        std::vector<std::string> labels = {};  ///< scatter: names of points; none, or as many as there are
    };

    /// What colors can show, one value a cell or unit.
    struct Layer {
        std::string name;
        std::vector<double> values;
        std::vector<std::string> names = {};  ///< where they are words: a value is the number of one
    };

    /// Units of a floor plan that belong together: the SMs of a GPC.
    struct Group {
        std::string part, name;
        std::vector<std::size_t> units;
    };

    Chart::Kind kind = Chart::Kind::line;
    std::string title, xTitle, yTitle;
    std::string rowTitle;  ///< heatmap
    bool logX = false, logY = false;
    std::vector<Series> series;
    std::vector<std::string> categories;  ///< bar, stack: names of x; heatmap: of columns
    std::vector<std::string> rows;        ///< heatmap
    std::vector<double> cells;            ///< heatmap: row by row
    double binWidth = 0;                  ///< histogram
    double band = 0;                      ///< scatter: of the diagonal; 0: there is none
    std::vector<Chart::Mark> marks;       ///< line, cdf, histogram
    std::vector<Layer> layers;            ///< heatmap: all, the first of which is cells; floorplan
    std::vector<std::string> labels;      ///< heatmap: of cells, or none; floorplan: of units
    std::vector<Group> groups;            ///< floorplan

    bool empty() const;
};

/// Throws Error if the chart names a column that the result has not.
Plot plot(const Result&, const Chart&);

/// The chart in words, for people who do not see it.
std::string describe(const Plot&);

}  // namespace bulkhead::report
