/* cusparse_scalar.cu - the incomplete LU of cuSPARSE for b = 1: csrilu02, and SpSV for both triangles. */
#include "cusparse_plan.h"

namespace
{

const cusparseSolvePolicy_t policy = CUSPARSE_SOLVE_POLICY_USE_LEVEL;
const cusparseOperation_t as_it_is = CUSPARSE_OPERATION_NON_TRANSPOSE;
const double one = 1;

/* An analysis does not touch its vectors, but wants two: values has room for one. */
karst_status make_vectors(karst_context *context, karst_cusparse *f)
{
  karst_cusparse_plan *p = karst_cusparse_plan_of(f);
  const karst_cusparse_library &c = karst_cusparse_functions();
  context->backend->fill(context, f->blocks, 1, f->value);
  karst_status status =
      karst_cusparse_status(context, c.cusparseCreateDnVec(&p->from, f->rows, f->value, CUDA_R_64F), "a vector");
  if (!status)
    status = karst_cusparse_status(context, c.cusparseCreateDnVec(&p->to, f->rows, f->middle, CUDA_R_64F), "a vector");
  return status;
}

karst_status plan_factor(karst_context *context, karst_cusparse *f)
{
  karst_cusparse_plan *p = karst_cusparse_plan_of(f);
  const karst_cusparse_library &c = karst_cusparse_functions();
  const int n = f->rows, blocks = (int)f->blocks;
  int bytes = 0;
  karst_status status = make_vectors(context, f);
  if (!status) status = karst_cusparse_status(context, c.cusparseCreateCsrilu02Info(&p->scalar), "the factorization");
  if (!status)
    status = karst_cusparse_status(context,
                                   c.cusparseDcsrilu02_bufferSize(p->handle, n, blocks, p->description, f->value,
                                                                  f->row_start, f->column, p->scalar, &bytes),
                                   "the factorization");
  if (!status) status = karst_cusparse_take(context, (size_t)bytes, f, &p->buffer);
  if (!status)
    status = karst_cusparse_status(context,
                                   c.cusparseDcsrilu02_analysis(p->handle, n, blocks, p->description, f->value,
                                                                f->row_start, f->column, p->scalar, policy, p->buffer),
                                   "the analysis of the factorization");
  return status;
}

/* SpSV's analysis keeps copies of values, which cusparseSpSV_updateMatrix replaces after each factorization. */
karst_status plan_solve(karst_context *context, karst_cusparse *f, cusparseFillMode_t fill, cusparseDiagType_t diagonal,
                        karst_cusparse_triangle *t)
{
  karst_cusparse_plan *p = karst_cusparse_plan_of(f);
  const karst_cusparse_library &c = karst_cusparse_functions();
  const char *what = "a triangular solve";
  size_t bytes = 0;
  karst_status status = karst_cusparse_status(
      context,
      c.cusparseCreateCsr(&t->matrix, f->rows, f->rows, f->blocks, const_cast<karst_index *>(f->row_start),
                          const_cast<karst_index *>(f->column), f->value, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                          CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F),
      what);
  if (!status)
    status = karst_cusparse_status(
        context, c.cusparseSpMatSetAttribute(t->matrix, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill), what);
  if (!status)
    status = karst_cusparse_status(
        context, c.cusparseSpMatSetAttribute(t->matrix, CUSPARSE_SPMAT_DIAG_TYPE, &diagonal, sizeof diagonal), what);
  if (!status) status = karst_cusparse_status(context, c.cusparseSpSV_createDescr(&t->scalar), what);
  if (!status)
    status = karst_cusparse_status(context,
                                   c.cusparseSpSV_bufferSize(p->handle, as_it_is, &one, t->matrix, p->from, p->to,
                                                             CUDA_R_64F, CUSPARSE_SPSV_ALG_DEFAULT, t->scalar, &bytes),
                                   what);
  if (!status) status = karst_cusparse_take(context, bytes, f, &t->buffer);
  if (!status)
    status = karst_cusparse_status(context,
                                   c.cusparseSpSV_analysis(p->handle, as_it_is, &one, t->matrix, p->from, p->to,
                                                           CUDA_R_64F, CUSPARSE_SPSV_ALG_DEFAULT, t->scalar, t->buffer),
                                   "the analysis of a triangular solve");
  return status;
}

karst_status factor(karst_context *context, const karst_cusparse *f, int *pivot)
{
  karst_cusparse_plan *p = karst_cusparse_plan_of(f);
  const karst_cusparse_library &c = karst_cusparse_functions();
  karst_status status =
      karst_cusparse_status(context,
                            c.cusparseDcsrilu02(p->handle, f->rows, (int)f->blocks, p->description, f->value,
                                                f->row_start, f->column, p->scalar, policy, p->buffer),
                            "the factorization");
  if (status) return status;
  return karst_cusparse_pivot_status(context, c.cusparseXcsrilu02_zeroPivot(p->handle, p->scalar, pivot));
}

/* SpSV takes over the new values. */
karst_status renew(karst_context *context, const karst_cusparse *f)
{
  karst_cusparse_plan *p = karst_cusparse_plan_of(f);
  const karst_cusparse_library &c = karst_cusparse_functions();
  karst_status status = karst_cusparse_status(
      context, c.cusparseSpSV_updateMatrix(p->handle, p->lower.scalar, f->value, CUSPARSE_SPSV_UPDATE_GENERAL),
      "the update of L");
  if (!status)
    status = karst_cusparse_status(
        context, c.cusparseSpSV_updateMatrix(p->handle, p->upper.scalar, f->value, CUSPARSE_SPSV_UPDATE_GENERAL),
        "the update of U");
  return status;
}

void solve(const karst_cusparse *f, const karst_cusparse_triangle *t, const double *from, double *to)
{
  const karst_cusparse_plan *p = karst_cusparse_plan_of(f);
  const karst_cusparse_library &c = karst_cusparse_functions();
  c.cusparseDnVecSetValues(p->from, const_cast<double *>(from));
  c.cusparseDnVecSetValues(p->to, to);
  c.cusparseSpSV_solve(p->handle, as_it_is, &one, t->matrix, p->from, p->to, CUDA_R_64F, CUSPARSE_SPSV_ALG_DEFAULT,
                       t->scalar);
}

} // namespace

const karst_cusparse_kind karst_cusparse_scalar = {plan_factor, plan_solve, factor, renew, solve};
