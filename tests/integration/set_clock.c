// For LD_PRELOAD: the system's clock is ahead by the seconds in the file that SET_CLOCK names.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec* time) {
  static int (*next)(clockid_t, struct timespec*);
  if (next == NULL) next = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  const int result = next(clock, time);
  const char* name = getenv("SET_CLOCK");
  if (result != 0 || clock != CLOCK_REALTIME || name == NULL) return result;
  FILE* file = fopen(name, "r");
  long ahead_s = 0;
  if (file != NULL) {
    if (fscanf(file, "%ld", &ahead_s) == 1) time->tv_sec += ahead_s;
    fclose(file);
  }
  return result;
}
