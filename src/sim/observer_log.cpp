#include "sim/observer_log.h"

#include "sim/exec/time_order.h"

namespace bulkhead::sim {

void ObserverLog::Event::tell(Observer& observer) const {
    switch (kind) {
        case Kind::l1Miss:
            return observer.l1Miss(when, unit, what, first);
        case Kind::l1Eviction:
            return observer.l1Eviction(when, unit, what, first, second);
        case Kind::l2Eviction:
            return observer.l2Eviction(when, unit, what, first, second);
        case Kind::blockStarted:
            return observer.blockStarted(when, unit, first, second, what);
        case Kind::blockEnded:
            return observer.blockEnded(when, unit, first, second, what);
        case Kind::decided:
            return observer.decided(
                when, unit, {static_cast<Decision>(what), first, second, static_cast<std::uint32_t>(what >> 32)});
    }
}

void ObserverLog::tell(Observer& observer, const std::vector<ObserverLog*>& logs) {
    TimeOrder<Event> order;
    for (std::size_t i = 0; i < logs.size(); ++i) order.add(i, logs[i]->events_);
    order.visit([&](std::size_t, const Event& event) { event.tell(observer); });
    for (ObserverLog* log : logs) log->events_.clear();
}

}  // namespace bulkhead::sim
