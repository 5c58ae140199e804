/* SPDX-License-Identifier: Apache-2.0 */
/* Asks NCCL for a unique id, for which it reads its files and chooses an interface, tells which variables the process has
   then, and waits.  asker LIBRARY */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern char** environ;
typedef struct {
  char internal[128];
} Id;

int main(int count, char** arguments) {
  void* nccl = count == 2 ? dlopen(arguments[1], RTLD_NOW) : NULL;
  int (*ask)(Id*) = nccl ? (int (*)(Id*))dlsym(nccl, "ncclGetUniqueId") : NULL;
  if (!ask) {
    fprintf(stderr, "asker: %s\n", dlerror());
    return 1;
  }
  Id id;
  int code = ask(&id);
  fflush(NULL);
  for (char** one = environ; *one; ++one)
    if (strncmp(*one, "NCCL_", 5) == 0) printf("has %s\n", *one);
  printf("asked %d\n", code);
  fflush(stdout);
  for (;;) pause();
}
