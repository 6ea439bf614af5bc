#include "ptx/source_edit.h"

#include <algorithm>

namespace bulkhead::ptx {

void SourceEdit::replace(std::string_view part, std::string text) {
    changes_.push_back({static_cast<std::size_t>(part.data() - source_.data()), part.size(), std::move(text)});
}

std::string SourceEdit::apply() const {
    std::vector<const Change*> order;
    for (const Change& change : changes_) order.push_back(&change);
    std::stable_sort(order.begin(), order.end(), [](const Change* a, const Change* b) { return a->at < b->at; });
    std::string out;
    std::size_t at = 0;
    for (const Change* change : order) {
        out.append(source_.substr(at, change->at - at)).append(change->text);
        at = change->at + change->length;
    }
    out.append(source_.substr(at));
    return out;
}

}  // namespace bulkhead::ptx
