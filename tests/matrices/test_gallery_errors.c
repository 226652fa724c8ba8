/* The text of a gallery problem is read strictly, and an allocation that fails ends in a status and leaks nothing. */
#include "tests/support/failing_allocator.h"
#include "tests/support/refusal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void test_errors(karst_context *context)
{
  static const struct {
    const char *spec;
    karst_status status;
    const char *sentence;
  } errors[] = {
      {"", KARST_ERROR_OPTION, "it has poisson2d, poisson3d, laplace27, anisotropic"},
      {"poisson:4x4", KARST_ERROR_OPTION, "no problem \"poisson\": it has poisson2d, "},
      {"poisson2dd:4x4", KARST_ERROR_OPTION, "no problem \"poisson2dd\""},
      {"poisson2d", KARST_ERROR_OPTION, "poisson2d:NXxNY"},
      {"poisson2d:", KARST_ERROR_OPTION, "poisson2d:NXxNY"},
      {"poisson2d:4", KARST_ERROR_OPTION, "not \"4\""},
      {"poisson2d:4x", KARST_ERROR_OPTION, "not \"4x\""},
      {"poisson2d:x4", KARST_ERROR_OPTION, "not \"x4\""},
      {"poisson2d:4x4x4", KARST_ERROR_OPTION, "not \"4x4x4\""},
      {"poisson3d:4x4", KARST_ERROR_OPTION, "poisson3d:NXxNYxNZ"},
      {"poisson2d:4x4junk", KARST_ERROR_OPTION, "not \"4x4junk\""},
      {"poisson2d:4.0x4", KARST_ERROR_OPTION, "whole numbers"},
      {"poisson2d: 4x4", KARST_ERROR_OPTION, "whole numbers"},
      {"poisson2d:-4x4", KARST_ERROR_OPTION, "whole numbers"},
      {"poisson2d:4x0", KARST_ERROR_OPTION, "a size is 0"},
      {"poisson2d:99999999999999999999x1", KARST_ERROR_INDEX_OVERFLOW, "more cells than"},
      {"poisson3d:3000000x3000000x3000000", KARST_ERROR_INDEX_OVERFLOW, "more cells than"},
      {"poisson2d:4x4,", KARST_ERROR_OPTION, "key=value"},
      {"poisson2d:4x4,seed=1", KARST_ERROR_OPTION, "no key \"seed\": it takes no keys"},
      {"anisotropic:4x4x4,eps=1", KARST_ERROR_OPTION, "no key \"eps\": its keys are epsx, epsy, epsz"},
      {"anisotropic:4x4x4,epsx", KARST_ERROR_OPTION, "\"epsx\" is not of the form key=value"},
      {"anisotropic:4x4x4,epsx=1,,epsy=2", KARST_ERROR_OPTION, "\"\" is not of the form key=value"},
      {"anisotropic:4x4x4,epsx=", KARST_ERROR_OPTION, "epsx=: expected a number from"},
      {"anisotropic:4x4x4,epsx=one", KARST_ERROR_OPTION, "epsx=one: expected a number from"},
      {"anisotropic:4x4x4,epsx=1x", KARST_ERROR_OPTION, "epsx=1x: expected a number from"},
      {"anisotropic:4x4x4,epsx=nan", KARST_ERROR_OPTION, "epsx=nan: expected a number from"},
      {"anisotropic:4x4x4,epsx=-1", KARST_ERROR_OPTION, "epsx=-1: expected a number from"},
      {"discontinuous:4x4x4,width=0", KARST_ERROR_OPTION, "width=0: expected a whole number from 1"},
      {"discontinuous:4x4x4,width=1.5", KARST_ERROR_OPTION, "width=1.5: expected a whole number"},
      {"convdiff:4x4x4,peclet=1e999", KARST_ERROR_OPTION, "peclet=1e999: expected a number"},
      {"blackoil:4x4x4,seed=-1", KARST_ERROR_OPTION, "seed=-1: expected a whole number"},
      {"blackoil:4x4x4,seed=99999999999999999999", KARST_ERROR_OPTION, "a whole number"},
      {"blackoil:4x4x4,dt=0", KARST_ERROR_OPTION, "dt=0: expected a number from"},
      {"blackoil:4x4x4,perm=", KARST_ERROR_OPTION, "perm needs the name of a file"},
      {"deadoil:4x4x4,permz=x", KARST_ERROR_OPTION, "permz is given without perm"},
      {"deadoil:4x4x4,perm=/no/such/file", KARST_ERROR_FILE, "/no/such/file cannot be opened"},
      {"deadoil:4x4x4,perm=/", KARST_ERROR_FILE, "/ is a directory"},
      {"jump2d:4x4x4", KARST_ERROR_OPTION, "jump2d:NXxNY"},
      {"jump2d:4x4,shape=stars", KARST_ERROR_OPTION, "shape=stars: expected checkerboard or channels"},
      {"jump2d:4x4,shape=", KARST_ERROR_OPTION, "shape=: expected checkerboard or channels"},
      {"jump2d:4x4,contrast=0", KARST_ERROR_OPTION, "contrast=0: expected a number from"},
      {"jump2d:4x4,width=0", KARST_ERROR_OPTION, "width=0: expected a whole number from 1"},
      {"jump2d:4x4,ax=-1", KARST_ERROR_OPTION, "ax=-1: expected a number from"},
      {"jump2d:4x4,perm=", KARST_ERROR_OPTION, "perm needs the name of a file"},
      {"jump2d:4x4,perm=/no/such/file", KARST_ERROR_FILE, "/no/such/file cannot be opened"},
      {"bilinear2d:4x4,k=1", KARST_ERROR_OPTION, "its keys are contrast, shape, width, ax, ay, perm"},
  };
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
    refuse_gallery(context, errors[i].spec, 0, errors[i].status, errors[i].sentence);
  char file[600];
  snprintf(file, sizeof file, "jump2d:2x2,perm=%s", tap_write("zero", "1 2 0 3\n", -1));
  refuse_gallery(context, file, 0, KARST_ERROR_FORMAT, "the permeability of cell 2 is 0");
  snprintf(file, sizeof file, "bilinear2d:2x2,perm=%s", tap_write("few", "1 2 3 4\n", -1));
  refuse_gallery(context, file, 0, KARST_ERROR_FORMAT, "the grid has 9 cells");
  snprintf(file, sizeof file, "jump2d:2x2,perm=%s", tap_write("other", "PORO\n1 2 3 4\n", -1));
  refuse_gallery(context, file, 0, KARST_ERROR_FORMAT, "no keyword PERMX");
#if KARST_INDEX_BITS == 32
  refuse_gallery(context, "bilinear2d:2147483647x1", 0, KARST_ERROR_INDEX_OVERFLOW,
                 "more than 32-bit indices can count");
  refuse_gallery(context, "poisson3d:1000x1000x1000", 0, KARST_ERROR_INDEX_OVERFLOW,
                 "blocks is more than 32-bit indices");
#endif
  char *path = malloc(2000);
  memset(path, 'a', 1999);
  memcpy(path, "deadoil:1x1x1,perm=", 19);
  path[1999] = '\0';
  refuse_gallery(context, path, 0, KARST_ERROR_OPTION, "is longer than 1023 characters");
  free(path);
}

static void test_arguments(karst_context *context)
{
  karst_matrix *A;
  tap_ok(karst_gallery_create(NULL, "poisson2d:2x2", 0, &A, NULL) == KARST_ERROR_ARGUMENT, "a context is needed");
  tap_ok(karst_gallery_create(context, NULL, 0, &A, NULL) == KARST_ERROR_ARGUMENT, "a text is needed");
  tap_ok(karst_gallery_create(context, "poisson2d:2x2", 0, NULL, NULL) == KARST_ERROR_ARGUMENT,
         "a NULL matrix is refused");
  tap_ok(karst_gallery_create(context, "poisson2d:2x2", -1, &A, NULL) == KARST_ERROR_ARGUMENT,
         "block size -1 is refused");
  tap_ok(karst_gallery_create(context, "convdiff:2x2x2", 1 << 20, &A, NULL) == KARST_ERROR_ARGUMENT,
         "block size 2^20 is refused");
  size_t count = 0;
  bool complete = true;
  for (; karst_gallery_name(count); count++) complete = complete && karst_gallery_help(count);
  tap_ok(count == 12 && complete && !karst_gallery_help(count) && !karst_gallery_name(count + 1),
         "the list has 12 problems, each with help");
}

struct problem {
  const char *spec;
  int block_size;
};

static karst_status build_problem(karst_context *context, void *user)
{
  const struct problem *problem = user;
  karst_matrix *A;
  karst_vector *rhs;
  karst_status status = karst_gallery_create(context, problem->spec, problem->block_size, &A, &rhs);
  karst_matrix_destroy(A);
  karst_vector_destroy(rhs);
  return status;
}

static void test_shortage(void)
{
  char spec[600];
  snprintf(spec, sizeof spec, "blackoil:2x1x1,perm=%s", tap_write("perm", "PERMX\n2*3 /\nPERMZ\n4 5 /\n", -1));
  struct problem problems[] = {
      {"poisson2d:3x3", 2}, {"laplace27:2x2x2", 0}, {"convdiff:2x2x2", 2}, {"deadoil:3x3x1", 4}, {spec, 0},
      {"ns3d:2x2x1", 10},   {"jump2d:3x3", 2},      {"bilinear2d:3x3", 2},
  };
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
    fail_each_allocation(build_problem, &problems[i], problems[i].spec);
}

int main(void)
{
  karst_context *context = tap_context();
  test_errors(context);
  test_arguments(context);
  karst_context_destroy(context);
  test_shortage();
  return tap_done();
}
