#include <fmt/format.h>

#include <memory>

#include "base/phrases.h"
#include "evaluation/cost/memory_kernels.h"

namespace bulkhead::evaluation::cost {
namespace {

/// A kernel in the context of each tenant.
class Tenants {
  public:
    Tenants(Bench& bench, const MemoryKernelType& type, Around around) : tenants_(bench.encloseAll(around)) {
        for (walls::PartitionContext& tenant : tenants_) {
            contexts_.push_back(std::make_unique<TimedContext>(bench, tenant.context()));
            kernels_.push_back(std::make_unique<MemoryKernel>(*contexts_.back(), type));
        }
    }

    double rateOfFirst() { return kernels_.front()->rate(); }

    /// The sum of what each makes while all are at work: the middle of a row of launches.
    double rateOfAll(unsigned launches) {
        std::vector<gpu::Event> begins, ends;
        for (const auto& timed : contexts_) {
            begins.push_back(timed->context().createEvent());
            ends.push_back(timed->context().createEvent());
        }
        const unsigned first = launches / 4, last = 3 * launches / 4;
        for (unsigned i = 0; i < launches; ++i)
            for (std::size_t t = 0; t < kernels_.size(); ++t) {
                if (i == first) begins[t].record(contexts_[t]->stream());
                kernels_[t]->launch();
                if (i == last) ends[t].record(contexts_[t]->stream());
            }
        double sum = 0;
        for (std::size_t t = 0; t < kernels_.size(); ++t) {
            contexts_[t]->stream().synchronize();
            sum += (last - first + 1) * kernels_[t]->bytes() / ends[t].secondsSince(begins[t]) * 1e-9;
        }
        return sum;
    }

    void check() {
        for (const auto& kernel : kernels_) kernel->check();
    }

  private:
    std::vector<walls::PartitionContext> tenants_;
    std::vector<std::unique_ptr<TimedContext>> contexts_;
    std::vector<std::unique_ptr<MemoryKernel>> kernels_;
};

struct Rates {
    double one = 0, all = 0;
};

Rates ratesOfTenants(Bench& bench, const MemoryKernelType& type, Around around) {
    Tenants tenants(bench, type, around);
    const Rates rates{tenants.rateOfFirst(), tenants.rateOfAll(bench.effort().together)};
    tenants.check();
    return rates;
}

double rateIn(Bench& bench, gpu::Context& context, const MemoryKernelType& type) {
    TimedContext timed(bench, context);
    MemoryKernel kernel(timed, type);
    const double rate = kernel.rate();
    kernel.check();
    return rate;
}

}  // namespace

Result measureBandwidth(Bench& bench) {
    constexpr std::size_t kWhole = 1, kAllCompute = 5, kAllBoth = 6;  // columns of the table
    const std::vector<const char*> columns = {"whole GPU, no walls", "whole GPU, compute walls", "one, compute walls",
                                              "one, both walls",     "all, compute walls",       "all, both walls"};
    Result result = tableOf("Memory-bound kernels: GB/s of one tenant and of all together", "kernel", columns, "GB/s");
    for (const MemoryKernelType& type : memoryKernels()) {
        const double whole = rateIn(bench, bench.gpu().context(), type);
        walls::PartitionContext around = bench.encloseWhole();
        const double wholeWalled = rateIn(bench, around.context(), type);
        const Rates compute = ratesOfTenants(bench, type, Around::compute),
                    both = ratesOfTenants(bench, type, Around::both);
        result.add({std::string(type.name), whole, wholeWalled, compute.one, both.one, compute.all, both.all});
    }
    std::vector<double> compute, both;
    for (const auto& row : result.rows) {
        const auto rate = [&](std::size_t column) { return std::get<double>(row[column]); };
        compute.push_back(100 * rate(kAllCompute) / rate(kWhole));
        both.push_back(100 * rate(kAllBoth) / rate(kWhole));
    }
    result.answer = fmt::format(
        "All together {} % of the whole GPU's inside compute walls and {} % inside both walls, at the "
        "median of {} kernels.",
        brief(median(compute)), brief(median(both)), result.rows.size());
    Chart chart;
    chart.kind = Chart::Kind::bar;
    chart.title = result.title;
    chart.x = "kernel";
    chart.y.assign(columns.begin(), columns.end());
    chart.yTitle = "GB/s";
    result.charts.push_back(chart);
    return result;
}

}  // namespace bulkhead::evaluation::cost
