/* cusparse_scalar.cu - the incomplete LU of cuSPARSE for b = 1: csrilu02, and SpSV for both triangles. */
#include "tools/src/peers/cusparse_plan.h"

namespace
{

const cusparseSolvePolicy_t policy = CUSPARSE_SOLVE_POLICY_USE_LEVEL;
const cusparseOperation_t as_it_is = CUSPARSE_OPERATION_NON_TRANSPOSE;
const double one = 1;

/* An analysis does not touch its vectors, but wants two: values has room for one. */
karst_status make_vectors(tool_cusparse *f)
{
  const tool_cusparse_library &c = tool_cusparse_functions();
  double *middle = karst_vector_values(f->middle);
  karst_status status = karst_vector_fill(f->factors, 1);
  if (!status)
    status = tool_cusparse_status(f, c.cusparseCreateDnVec(&f->from, f->rows, f->value, CUDA_R_64F), "a vector");
  if (!status) status = tool_cusparse_status(f, c.cusparseCreateDnVec(&f->to, f->rows, middle, CUDA_R_64F), "a vector");
  return status;
}

karst_status plan_factor(tool_cusparse *f)
{
  const tool_cusparse_library &c = tool_cusparse_functions();
  const int n = f->rows, blocks = (int)f->blocks;
  int bytes = 0;
  karst_status status = make_vectors(f);
  if (!status) status = tool_cusparse_status(f, c.cusparseCreateCsrilu02Info(&f->scalar), "the factorization");
  if (!status)
    status = tool_cusparse_status(f,
                                  c.cusparseDcsrilu02_bufferSize(f->handle, n, blocks, f->description, f->value,
                                                                 f->row_start, f->column, f->scalar, &bytes),
                                  "the factorization");
  if (!status) status = tool_cusparse_take(f, (size_t)bytes, "cuSPARSE's work space", &f->buffer);
  if (!status)
    status = tool_cusparse_status(f,
                                  c.cusparseDcsrilu02_analysis(f->handle, n, blocks, f->description, f->value,
                                                               f->row_start, f->column, f->scalar, policy, f->buffer),
                                  "the analysis of the factorization");
  return status;
}

/* SpSV's analysis keeps copies of values, which cusparseSpSV_updateMatrix replaces after each factorization. */
karst_status plan_solve(tool_cusparse *f, cusparseFillMode_t fill, cusparseDiagType_t diagonal,
                        tool_cusparse_triangle *t)
{
  const tool_cusparse_library &c = tool_cusparse_functions();
  const char *what = "a triangular solve";
  size_t bytes = 0;
  karst_status status =
      tool_cusparse_status(f,
                           c.cusparseCreateCsr(&t->matrix, f->rows, f->rows, f->blocks, const_cast<int *>(f->row_start),
                                               const_cast<int *>(f->column), f->value, CUSPARSE_INDEX_32I,
                                               CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F),
                           what);
  if (!status)
    status = tool_cusparse_status(
        f, c.cusparseSpMatSetAttribute(t->matrix, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill), what);
  if (!status)
    status = tool_cusparse_status(
        f, c.cusparseSpMatSetAttribute(t->matrix, CUSPARSE_SPMAT_DIAG_TYPE, &diagonal, sizeof diagonal), what);
  if (!status) status = tool_cusparse_status(f, c.cusparseSpSV_createDescr(&t->scalar), what);
  if (!status)
    status = tool_cusparse_status(f,
                                  c.cusparseSpSV_bufferSize(f->handle, as_it_is, &one, t->matrix, f->from, f->to,
                                                            CUDA_R_64F, CUSPARSE_SPSV_ALG_DEFAULT, t->scalar, &bytes),
                                  what);
  if (!status) status = tool_cusparse_take(f, bytes, "cuSPARSE's work space", &t->buffer);
  if (!status)
    status = tool_cusparse_status(f,
                                  c.cusparseSpSV_analysis(f->handle, as_it_is, &one, t->matrix, f->from, f->to,
                                                          CUDA_R_64F, CUSPARSE_SPSV_ALG_DEFAULT, t->scalar, t->buffer),
                                  "the analysis of a triangular solve");
  return status;
}

karst_status factor(const tool_cusparse *f, int *pivot)
{
  const tool_cusparse_library &c = tool_cusparse_functions();
  karst_status status =
      tool_cusparse_status(f,
                           c.cusparseDcsrilu02(f->handle, f->rows, (int)f->blocks, f->description, f->value,
                                               f->row_start, f->column, f->scalar, policy, f->buffer),
                           "the factorization");
  if (status) return status;
  return tool_cusparse_pivot_status(f, c.cusparseXcsrilu02_zeroPivot(f->handle, f->scalar, pivot));
}

/* SpSV takes over the new values. */
karst_status renew(const tool_cusparse *f)
{
  const tool_cusparse_library &c = tool_cusparse_functions();
  karst_status status = tool_cusparse_status(
      f, c.cusparseSpSV_updateMatrix(f->handle, f->lower.scalar, f->value, CUSPARSE_SPSV_UPDATE_GENERAL),
      "the update of L");
  if (!status)
    status = tool_cusparse_status(
        f, c.cusparseSpSV_updateMatrix(f->handle, f->upper.scalar, f->value, CUSPARSE_SPSV_UPDATE_GENERAL),
        "the update of U");
  return status;
}

karst_status solve(const tool_cusparse *f, const tool_cusparse_triangle *t, const double *from, double *to)
{
  const tool_cusparse_library &c = tool_cusparse_functions();
  cusparseStatus_t status = c.cusparseDnVecSetValues(f->from, const_cast<double *>(from));
  if (!status) status = c.cusparseDnVecSetValues(f->to, to);
  if (!status)
    status = c.cusparseSpSV_solve(f->handle, as_it_is, &one, t->matrix, f->from, f->to, CUDA_R_64F,
                                  CUSPARSE_SPSV_ALG_DEFAULT, t->scalar);
  return tool_cusparse_status(f, status, "a triangular solve");
}

} // namespace

const tool_cusparse_kind tool_cusparse_scalar = {plan_factor, plan_solve, factor, renew, solve};
