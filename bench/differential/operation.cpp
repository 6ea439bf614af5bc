#include "operation.h"

#include <stdexcept>

#include "base/random.h"

namespace bulkhead::differential {

Operation& Collector::op(const std::string& name, Width result, std::vector<Source> sources,
                         std::function<std::uint64_t(const std::uint64_t*)> value) {
    std::string body = name + " %o0";
    for (std::size_t i = 0; i < sources.size(); ++i) body += std::string(", %") + "abcd"[i];
    return add(body + ";", {result}, std::move(sources),
               [value = std::move(value)](Evaluation& e) { e.out[0] = value(e.in); });
}

const std::array<std::uint8_t, kTableBytes>& constantTable() {
    static const auto table = [] {
        std::array<std::uint8_t, kTableBytes> bytes;
        Random random(7);
        for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random.next());
        return bytes;
    }();
    return table;
}

const std::vector<Family>& families() {
    static const std::vector<Family> all = [] {
        std::vector<Family> list;
        for (Family (*make)() :
             {integerOperations, bitOperations, compareOperations, floatOperations, halfOperations, convertOperations,
              memoryOperations, specialOperations, crossThreadOperations, warpOperations})
            list.push_back(make());
        return list;
    }();
    return all;
}

const Family& family(const std::string& name) {
    for (const Family& family : families())
        if (family.name == name) return family;
    throw std::logic_error("no family " + name);
}

}  // namespace bulkhead::differential
