// LOCKSTEP_MULTIVERSION before a function: it is compiled for three levels of x86-64 and the best
// one is chosen when the program starts. For loops that the compiler vectorises.
//
// Lambdas inside such a function are not part of it: write the loop in the function itself.
#pragma once

#if defined(__x86_64__) && !defined(LOCKSTEP_SINGLE_TARGET)
#define LOCKSTEP_MULTIVERSION \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define LOCKSTEP_MULTIVERSION
#endif
