/* Stands in for libcuda.so.1, as the driver that the environment describes:
   FAKE_DRIVER_VERSION  as CUDA writes it; 13000
   FAKE_DRIVER_INIT     what cuInit returns; 0
   FAKE_DRIVER_GPUS     how many GPUs it shows; 1 */
#include <stdlib.h>

static int number(const char* name, int otherwise) {
  const char* const text = getenv(name);
  return text != NULL ? atoi(text) : otherwise;
}

int cuDriverGetVersion(int* version);
int cuDriverGetVersion(int* version) {
  *version = number("FAKE_DRIVER_VERSION", 13000);
  return 0;
}

int cuInit(unsigned flags);
int cuInit(unsigned flags) {
  (void)flags;
  return number("FAKE_DRIVER_INIT", 0);
}

int cuDeviceGetCount(int* count);
int cuDeviceGetCount(int* count) {
  *count = number("FAKE_DRIVER_GPUS", 1);
  return 0;
}
