// <sys/pidfd.h>, which glibc 2.36 forgot to declare as C.
#pragma once

#include <fcntl.h>
#include <signal.h>

extern "C" {
#include <sys/pidfd.h>
}
