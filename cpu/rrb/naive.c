/* naive.c - the repeated red-black method with every node where it is in the grid. See naive.h. */
#include "naive.h"
