#include "workloads/mars/mapreduce.cuh"

using namespace bulkhead::workloads::mars;

/// Emits each link of a block of HTML, by its place and hash, with the number of its document. A state machine sees one
/// byte at a time. Blocks end with a line, and links lie within one.
struct InvertedIndex {
    enum class State { text, tag, anchor, reference, link };

    template <class Emit>
    static __device__ void map(char* key, const char* value, Emit& emit) {
        scan(key, value, [&](LinkKey& link, int offset, int size, const int& document) {
            link.offset = offset;
            link.hash = hashBytes(link.document + offset, size);
            emit(&link, sizeof link, &document, sizeof document);
        });
    }

    template <class Emit>
    static __device__ void mapCount(char* key, const char* value, Emit& emit) {
        scan(key, value, [&](LinkKey& link, int, int, const int& document) {
            emit(&link, sizeof link, &document, sizeof document);
        });
    }

    static __device__ int compare(const char* a, int, const char* b, int) {
        const LinkKey one = *reinterpret_cast<const LinkKey*>(a), other = *reinterpret_cast<const LinkKey*>(b);
        if (one.hash != other.hash) return compareNumbers(one.hash, other.hash);
        return compareUntil(one.document + one.offset, other.document + other.offset, '"');
    }

  private:
    template <class Found>
    static __device__ void scan(char* key, const char* value, Found found) {
        LinkKey& link = *reinterpret_cast<LinkKey*>(key);
        const DocumentBlock& block = *reinterpret_cast<const DocumentBlock*>(value);
        const char* const text = link.document;
        State state = State::text;
        for (int at = block.offset, end = block.offset + block.size; at < end; ++at) {
            const char c = text[at];
            switch (state) {
                case State::text:
                    if (c == '<') state = State::tag;
                    break;
                case State::tag:
                    if (c != ' ') state = c == 'a' ? State::anchor : State::text;
                    break;
                case State::anchor:
                    if (c == ' ') break;
                    state = isReference(text + at, end - at) ? State::reference : State::text;
                    if (state == State::reference) at += 3;
                    break;
                case State::reference:
                    if (c != ' ' && c != '=') state = c == '"' ? State::link : State::text;
                    break;
                case State::link: {
                    const int start = at;
                    while (text[at] != '"') ++at;
                    found(link, start, at - start, block.document);
                    state = State::text;
                    break;
                }
            }
        }
    }

    static __device__ bool isReference(const char* text, int size) {
        return size >= 4 && text[0] == 'h' && text[1] == 'r' && text[2] == 'e' && text[3] == 'f';
    }
};

MARS_MAP(InvertedIndex, )
MARS_GROUP(InvertedIndex, )
