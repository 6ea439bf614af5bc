#include <bulkhead.h>
#include <stdio.h>

int main(int count, char** words) {
    struct bulkhead_place place;
    if (count < 2) return 2;
    if (bulkhead_query(&place) == 0) return 3;
    if (bulkhead_join(words[1]) != 0 || bulkhead_query(&place) != 0) {
        printf("refused: %s\n", bulkhead_error());
        return 1;
    }
    printf("%s: %u of %u SMs, %u of %u colors\n", place.partition, place.sms, place.all_sms,
           place.colors, place.all_colors);
    if (bulkhead_join(words[1]) == 0 || bulkhead_leave() != 0 || bulkhead_query(&place) == 0) return 4;
    return 0;
}
