#pragma once

#include <vector>

namespace bulkhead::report {

/// 1, 2 or 5 times a power of ten, at least `least`.
double niceStep(double least);

/// From values to places on paper, along one axis.
class Scale {
  public:
    /// Widened to round numbers. A logarithmic scale wants `low` above 0.
    Scale(double low, double high, bool logarithmic, double from, double to);

    double place(double value) const;
    std::vector<double> ticks() const;
    bool holds(double value) const;

  private:
    double low_, high_, from_, to_;
    bool logarithmic_;
    double step_ = 0;
};

}  // namespace bulkhead::report
