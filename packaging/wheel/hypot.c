/* hypot.c - glibc 2.35 gave hypot a new version that leaves errno alone, which Karst never reads. With the older version
 * the wheel runs on systems with glibc 2.34 too, such as RHEL 9. The linker replaces hypot by __wrap_hypot. */
#include <math.h>

#if defined __x86_64__ && defined __GLIBC__
double older_hypot(double x, double y);
__asm__(".symver older_hypot, hypot@GLIBC_2.2.5");
#else
double older_hypot(double x, double y) __asm__("__real_hypot");
#endif

double __wrap_hypot(double x, double y);
double __wrap_hypot(double x, double y) { return older_hypot(x, y); }
