#pragma once

#include <bulkhead.h>

#include <stdexcept>
#include <string>

namespace bulkhead {

/// This process's place in a partition of the GPU, for as long as the object lives. Throws std::runtime_error.
class Membership {
  public:
    explicit Membership(const std::string& partition) { expect(bulkhead_join(partition.c_str())); }
    ~Membership() { bulkhead_leave(); }
    Membership(const Membership&) = delete;
    Membership& operator=(const Membership&) = delete;

    bulkhead_place place() const {
        bulkhead_place place = {};
        expect(bulkhead_query(&place));
        return place;
    }

  private:
    static void expect(int result) {
        if (result != 0) throw std::runtime_error(bulkhead_error());
    }
};

}  // namespace bulkhead
