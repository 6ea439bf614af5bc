#include "tensor_cases.h"

#include <algorithm>
#include <cstdio>
#include <sstream>

namespace bulkhead::golden {
namespace {

template <class T>
std::string list(const T* values, unsigned count) {
    std::string text;
    for (unsigned i = 0; i < count; ++i) text += (i ? "," : "") + std::to_string(values[i]);
    return text;
}

template <class T>
void take(const std::string& text, T* values) {
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, ',');) *values++ = static_cast<T>(std::stoll(part));
}

std::uint32_t bytesOf(int type) {
    constexpr std::uint32_t kBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
    return type >= 0 && type < 13 ? kBytes[type] : 4;
}

/// What is long is told by its hash.
std::string shortened(const std::string& text) {
    constexpr std::size_t kMost = 160;
    if (text.size() <= kMost) return text;
    std::uint64_t hash = 0xcbf2'9ce4'8422'2325;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100'0000'01b3;
    char hex[32];
    std::snprintf(hex, sizeof hex, "#%016llx", static_cast<unsigned long long>(hash));
    return hex;
}

/// Runs of the same kind whose numbers follow each other.
class Runs {
  public:
    void add(const std::string& kind, bool counts, std::int64_t value, std::int64_t second = -1) {
        const bool follows = count_ && kind == kind_ && (!counts || value == value_ + count_) &&
                             (second < 0 || second == second_ + count_);
        if (follows) {
            ++count_;
            return;
        }
        flush();
        kind_ = kind, value_ = value, second_ = second, counts_ = counts, count_ = 1;
    }
    std::string text() {
        flush();
        return text_;
    }

  private:
    void flush() {
        if (!count_) return;
        if (!text_.empty()) text_ += ' ';
        text_ += kind_;
        if (counts_) text_ += std::to_string(value_);
        if (second_ >= 0) text_ += "=" + std::to_string(second_);
        if (count_ > 1) text_ += "x" + std::to_string(count_);
        count_ = 0;
    }

    std::string text_, kind_;
    std::int64_t value_ = 0, second_ = -1, count_ = 0;
    bool counts_ = false;
};

std::string raw(const std::uint32_t* w) {
    char text[48];
    std::snprintf(text, sizeof text, "R%08x.%08x.%08x.%08x", w[0], w[1], w[2], w[3]);
    return text;
}

bool follow(const std::uint32_t* w) {
    return w[1] == w[0] + 1 && w[2] == w[0] + 2 && w[3] == w[0] + 3;
}

}  // namespace

std::string textOf(const TensorCase& c) {
    const unsigned rank = std::min(c.rank, 6u), strides = rank ? rank - 1 : 0;
    std::string text{c.mode, c.operation};
    text += " type=" + std::to_string(c.type) + " rank=" + std::to_string(c.rank) +
            " address=" + std::to_string(c.address) + " il=" + std::to_string(c.interleave) +
            " sw=" + std::to_string(c.swizzle) + " promo=" + std::to_string(c.promotion) +
            " fill=" + std::to_string(c.fill) + " dims=" + list(c.dims, rank) + " strides=" + list(c.strides, strides);
    if (c.mode == 'i')
        text += " lower=" + list(c.lower, c.spatial()) + " upper=" + list(c.upper, c.spatial()) +
                " ch=" + std::to_string(c.channels) + " px=" + std::to_string(c.pixels);
    else
        text += " box=" + list(c.box, rank);
    text += " every=" + list(c.every, rank) + " at=" + list(c.at, rank);
    if (c.mode == 'i') text += " off=" + list(c.offset, c.spatial());
    return text;
}

TensorCase caseOf(const std::string& text) {
    TensorCase c;
    std::istringstream in(text);
    std::string kind;
    in >> kind;
    c.mode = kind.at(0);
    c.operation = kind.at(1);
    for (std::string field; in >> field;) {
        const std::size_t equals = field.find('=');
        const std::string name = field.substr(0, equals), value = field.substr(equals + 1);
        if (name == "type") take(value, &c.type);
        if (name == "rank") take(value, &c.rank);
        if (name == "address") take(value, &c.address);
        if (name == "il") take(value, &c.interleave);
        if (name == "sw") take(value, &c.swizzle);
        if (name == "promo") take(value, &c.promotion);
        if (name == "fill") take(value, &c.fill);
        if (name == "dims") take(value, c.dims);
        if (name == "strides") take(value, c.strides);
        if (name == "lower") take(value, c.lower);
        if (name == "upper") take(value, c.upper);
        if (name == "ch") take(value, &c.channels);
        if (name == "px") take(value, &c.pixels);
        if (name == "box") take(value, c.box);
        if (name == "every") take(value, c.every);
        if (name == "at") take(value, c.at);
        if (name == "off") take(value, c.offset);
    }
    return c;
}

std::uint32_t wordsOf(const TensorCase& c) {
    std::uint64_t bytes = 32;
    if (c.mode == 'i') {
        const std::uint32_t swizzle = c.swizzle ? 16u << std::min(c.swizzle, 3) : 0;
        bytes = std::uint64_t{c.pixels} *
                std::max(32u, c.interleave ? 32 : std::max(swizzle, c.channels * bytesOf(c.type)));
    } else {
        for (unsigned d = 0; d < c.rank; ++d) bytes *= c.box[d];
    }
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes + 256, kRoomBytes) / 4 / 4 * 4);
}

std::string moduleOf(const TensorCase& c) {
    const std::string dimensions = std::to_string(c.rank) + "d";
    const bool isLoad = c.operation == 'l';
    std::string copy;
    if (isLoad) {
        // How much comes is not known beforehand: more is expected, and the wait given up.
        copy = "    @%p1 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], 524288;\n";
        std::string offsets;
        for (unsigned s = 0; c.mode == 'i' && s < c.spatial(); ++s) {
            copy += "    mov.u16 %h" + std::to_string(s) + ", " + std::to_string(c.offset[s]) + ";\n";
            offsets += (s ? ", %h" : "%h") + std::to_string(s);
        }
        copy += "    @%p1 cp.async.bulk.tensor." + dimensions + ".shared::cluster.global." +
                (c.mode == 'i' ? "im2col" : "tile") + ".mbarrier::complete_tx::bytes [%r2], [%rd1, {" +
                list(c.at, c.rank) + "}], [%r1]" + (offsets.empty() ? "" : ", {" + offsets + "}") + ";\n" + R"(
    mov.u32 %r6, 0;
W:  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1], 0;
    add.u32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, 24; @%p2 bra W;
    fence.proxy.async; bar.sync 0;
    mov.u32 %r3, %t;
C:  shl.b32 %r4, %r3, 2; add.u32 %r5, %r2, %r4; ld.shared.u32 %r7, [%r5]; cvt.u64.u32 %rd3, %r4;
    add.u64 %rd4, %rd2, %rd3; st.global.u32 [%rd4], %r7; add.u32 %r3, %r3, 128;
    setp.lt.u32 %p2, %r3, )" +
                std::to_string(wordsOf(c)) + "; @%p2 bra C;\n";
    } else {
        copy = std::string("    @%p1 cp.") + (c.operation == 'a' ? "reduce." : "") + "async.bulk.tensor." + dimensions +
               ".global.shared::cta" + (c.operation == 'a' ? ".add" : "") +
               (c.mode == 'i' ? ".im2col_no_offs" : ".tile") + ".bulk_group [%rd1, {" + list(c.at, c.rank) +
               "}], [%r2];\n    @%p1 cp.async.bulk.commit_group;\n    @%p1 cp.async.bulk.wait_group 0;\n";
    }
    return R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
    .reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .b32 %t;
    .shared .align 8 .b64 object; .shared .align 1024 .b8 room[)" +
           std::to_string(kRoomBytes) + R"(];
    ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.u32 %t, %tid.x; mov.u32 %r1, object; mov.u32 %r2, room;
    setp.eq.u32 %p1, %t, 0;
    @%p1 mbarrier.init.shared::cta.b64 [%r1], 1;
    mov.u32 %r3, %t;
F:  shl.b32 %r4, %r3, 2; add.u32 %r5, %r2, %r4; add.u32 %r7, %r3, )" +
           std::to_string(isLoad ? kUntouched : kOwn) + R"(; st.shared.u32 [%r5], %r7; add.u32 %r3, %r3, 128;
    setp.lt.u32 %p2, %r3, )" +
           std::to_string(wordsOf(c)) + R"(; @%p2 bra F;
    fence.mbarrier_init.release.cluster;
    fence.proxy.async;
    bar.sync 0;
)" + copy + "    ret;\n}\n";
}

std::vector<std::uint32_t> bufferOf(const TensorCase& c) {
    std::vector<std::uint32_t> words(kTensorWords);
    for (std::uint32_t i = 0; i < kTensorWords; ++i) words[i] = (c.operation == 'l' ? kSource : kTarget) + i;
    return words;
}

std::string loaded(const std::vector<std::uint32_t>& room) {
    const auto isUntouched = [&](std::size_t chunk) {
        return room[4 * chunk] == kUntouched + 4 * chunk && follow(&room[4 * chunk]);
    };
    std::size_t end = room.size() / 4;
    while (end && isUntouched(end - 1)) --end;
    Runs runs;
    for (std::size_t chunk = 0; chunk < end; ++chunk) {
        const std::uint32_t* w = &room[4 * chunk];
        const std::int64_t at = std::int64_t{w[0]} - kSource - kTensorAt / 4;
        if (isUntouched(chunk)) {
            runs.add(".", false, 0);
        } else if (w[0] >> 24 == kSource >> 24 && at % 4 == 0 && follow(w)) {
            runs.add("S", true, at / 4);
        } else if (!w[0] && !w[1] && !w[2] && !w[3]) {
            runs.add("Z", false, 0);
        } else {
            runs.add(raw(w), false, 0);
        }
    }
    return shortened(runs.text());
}

std::string stored(const TensorCase& c, const std::vector<std::uint32_t>& buffer) {
    Runs runs;
    for (std::size_t chunk = 0; chunk < buffer.size() / 4; ++chunk) {
        const std::uint32_t* w = &buffer[4 * chunk];
        const auto before = static_cast<std::uint32_t>(kTarget + 4 * chunk);
        if (w[0] == before && follow(w)) continue;
        const std::int64_t at = static_cast<std::int64_t>(chunk) - kTensorAt / 16;
        std::uint32_t values[4];
        for (std::uint32_t i = 0; i < 4; ++i) values[i] = w[i] - kOwn - (c.operation == 'a' ? before + i : 0);
        if (values[0] % 4 == 0 && values[0] < kRoomBytes / 4 && follow(values))
            runs.add("D", true, at, values[0] / 4);
        else
            runs.add("D" + std::to_string(at) + raw(w), false, 0);
    }
    return shortened(runs.text());
}

}  // namespace bulkhead::golden
