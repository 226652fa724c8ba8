/* cusparse_block.cu - the incomplete LU of cuSPARSE for blocks: bsrilu02, and bsrsv2 for both triangles, which reads
 * the factors where they are. Blocks are stored column by column, as Karst's. */
#include "tools/src/peers/cusparse_plan.h"

namespace
{

const cusparseSolvePolicy_t policy = CUSPARSE_SOLVE_POLICY_USE_LEVEL;
const cusparseDirection_t by_columns = CUSPARSE_DIRECTION_COLUMN;
const cusparseOperation_t as_it_is = CUSPARSE_OPERATION_NON_TRANSPOSE;
const double one = 1;

karst_status plan_factor(tool_cusparse *f)
{
  const tool_cusparse_library &c = tool_cusparse_functions();
  const int n = f->rows, blocks = (int)f->blocks, b = f->block_size;
  int bytes = 0;
  karst_status status = tool_cusparse_status(f, c.cusparseCreateBsrilu02Info(&f->block), "the factorization");
  if (!status)
    status =
        tool_cusparse_status(f,
                             c.cusparseDbsrilu02_bufferSize(f->handle, by_columns, n, blocks, f->description, f->value,
                                                            f->row_start, f->column, b, f->block, &bytes),
                             "the factorization");
  if (!status) status = tool_cusparse_take(f, (size_t)bytes, "cuSPARSE's work space", &f->buffer);
  if (!status)
    status =
        tool_cusparse_status(f,
                             c.cusparseDbsrilu02_analysis(f->handle, by_columns, n, blocks, f->description, f->value,
                                                          f->row_start, f->column, b, f->block, policy, f->buffer),
                             "the analysis of the factorization");
  return status;
}

karst_status plan_solve(tool_cusparse *f, cusparseFillMode_t fill, cusparseDiagType_t diagonal,
                        tool_cusparse_triangle *t)
{
  const tool_cusparse_library &c = tool_cusparse_functions();
  const char *what = "a triangular solve";
  const int n = f->rows, blocks = (int)f->blocks, b = f->block_size;
  int bytes = 0;
  karst_status status = tool_cusparse_status(f, c.cusparseCreateMatDescr(&t->description), what);
  if (!status) status = tool_cusparse_status(f, c.cusparseSetMatFillMode(t->description, fill), what);
  if (!status) status = tool_cusparse_status(f, c.cusparseSetMatDiagType(t->description, diagonal), what);
  if (!status) status = tool_cusparse_status(f, c.cusparseCreateBsrsv2Info(&t->block), what);
  if (!status)
    status =
        tool_cusparse_status(f,
                             c.cusparseDbsrsv2_bufferSize(f->handle, by_columns, as_it_is, n, blocks, t->description,
                                                          f->value, f->row_start, f->column, b, t->block, &bytes),
                             what);
  if (!status) status = tool_cusparse_take(f, (size_t)bytes, "cuSPARSE's work space", &t->buffer);
  if (!status)
    status = tool_cusparse_status(f,
                                  c.cusparseDbsrsv2_analysis(f->handle, by_columns, as_it_is, n, blocks, t->description,
                                                             f->value, f->row_start, f->column, b, t->block, policy,
                                                             t->buffer),
                                  "the analysis of a triangular solve");
  return status;
}

karst_status factor(const tool_cusparse *f, int *pivot)
{
  const tool_cusparse_library &c = tool_cusparse_functions();
  karst_status status =
      tool_cusparse_status(f,
                           c.cusparseDbsrilu02(f->handle, by_columns, f->rows, (int)f->blocks, f->description, f->value,
                                               f->row_start, f->column, f->block_size, f->block, policy, f->buffer),
                           "the factorization");
  if (status) return status;
  return tool_cusparse_pivot_status(f, c.cusparseXbsrilu02_zeroPivot(f->handle, f->block, pivot));
}

/* The solves read the factors where they are. */
karst_status renew(const tool_cusparse *f)
{
  (void)f;
  return KARST_SUCCESS;
}

karst_status solve(const tool_cusparse *f, const tool_cusparse_triangle *t, const double *from, double *to)
{
  const tool_cusparse_library &c = tool_cusparse_functions();
  return tool_cusparse_status(f,
                              c.cusparseDbsrsv2_solve(f->handle, by_columns, as_it_is, f->rows, (int)f->blocks, &one,
                                                      t->description, f->value, f->row_start, f->column, f->block_size,
                                                      t->block, from, to, policy, t->buffer),
                              "a triangular solve");
}

} // namespace

const tool_cusparse_kind tool_cusparse_block = {plan_factor, plan_solve, factor, renew, solve};
