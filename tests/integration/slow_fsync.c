// For LD_PRELOAD: while the file that SLOW_FSYNC names is there, no file of the plugin is written to the disk. OpenSM's own are: it
// waits for them.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int fsync(int file) {
  static int (*next)(int);
  if (next == NULL) next = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  const char* slow = getenv("SLOW_FSYNC");
  char link[64], name[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, name, sizeof name - 1);
  name[length > 0 ? length : 0] = '\0';
  while (slow != NULL && strstr(name, "railweave-") != NULL && access(slow, F_OK) == 0) usleep(10000);
  return next(file);
}
