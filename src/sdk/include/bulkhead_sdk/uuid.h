#pragma once

// The name of a device, in both interfaces.

struct CUuuid_st {
    char bytes[16];
};
