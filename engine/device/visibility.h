// LOCKSTEP_API marks what liblockstep.so shows to programs that link it; all else is hidden.
#pragma once

#define LOCKSTEP_API __attribute__((visibility("default")))
