/* random.h - reproducible random numbers: splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
 * generators", OOPSLA 2014). It uses only integer arithmetic and sums, so that every machine draws the same numbers.
 * Any number is a seed. */
#ifndef KARST_LIB_BASE_RANDOM_H
#define KARST_LIB_BASE_RANDOM_H

#include <stdint.h>

/* Returns 64 random bits. */
static inline uint64_t karst_random_bits(uint64_t *state)
{
  uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* Returns a uniform number in [0, 1). */
static inline double karst_random_uniform(uint64_t *state)
{
  return (double)(karst_random_bits(state) >> 11) * 0x1p-53;
}

/* Returns a number of mean 0 and variance 1, which is normal except for its tails, as they end at 6: the sum of twelve
 * uniform numbers (Irwin-Hall). */
static inline double karst_random_normal(uint64_t *state)
{
  double sum = -6;
  for (int i = 0; i < 12; i++) sum += karst_random_uniform(state);
  return sum;
}

#endif
