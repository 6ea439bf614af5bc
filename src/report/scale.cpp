#include "report/scale.h"

#include <cmath>

namespace bulkhead::report {

double niceStep(double least) {
    const double power = std::pow(10, std::floor(std::log10(least)));
    for (const double digit : {1.0, 2.0, 5.0})
        if (digit * power >= least * (1 - 1e-9)) return digit * power;
    return 10 * power;
}

Scale::Scale(double low, double high, bool logarithmic, double from, double to)
    : low_(low), high_(high), from_(from), to_(to), logarithmic_(logarithmic) {
    if (logarithmic_) {
        low_ = std::pow(10, std::floor(std::log10(low)));
        high_ = std::pow(10, std::ceil(std::log10(high)));
        if (high_ <= low_) high_ = 10 * low_;
        return;
    }
    if (!(high_ > low_)) {
        const double around = low_ == 0 ? 1 : std::abs(low_) / 2;
        low_ -= low_ < 0 || low > 0 ? around : 0;
        high_ += around;
    }
    step_ = niceStep((high_ - low_) / 6);
    low_ = std::floor(low_ / step_ + 1e-9) * step_;
    high_ = std::ceil(high_ / step_ - 1e-9) * step_;
}

double Scale::place(double value) const {
    const double share =
        logarithmic_ ? std::log(value / low_) / std::log(high_ / low_) : (value - low_) / (high_ - low_);
    return from_ + share * (to_ - from_);
}

std::vector<double> Scale::ticks() const {
    std::vector<double> ticks;
    if (logarithmic_) {
        const bool few = high_ / low_ < 1000;
        for (double power = low_; power <= high_ * 1.001; power *= 10)
            for (const double digit : {1.0, 2.0, 5.0})
                if ((few || digit == 1) && digit * power <= high_ * 1.001) ticks.push_back(digit * power);
        return ticks;
    }
    for (int i = 0; low_ + i * step_ <= high_ + step_ / 2; ++i) {
        const double tick = low_ + i * step_;
        ticks.push_back(std::abs(tick) < step_ / 1e6 ? 0 : tick);
    }
    return ticks;
}

bool Scale::holds(double value) const {
    return std::isfinite(value) && (!logarithmic_ || value > 0);
}

}  // namespace bulkhead::report
