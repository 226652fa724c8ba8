/* cusparse_block.cu - the incomplete LU of cuSPARSE for blocks: bsrilu02, and bsrsv2 for both triangles, which reads
 * the factors where they are. Blocks are stored column by column, as Karst's. */
#include "cusparse_plan.h"

namespace
{

const cusparseSolvePolicy_t policy = CUSPARSE_SOLVE_POLICY_USE_LEVEL;
const cusparseDirection_t by_columns = CUSPARSE_DIRECTION_COLUMN;
const cusparseOperation_t as_it_is = CUSPARSE_OPERATION_NON_TRANSPOSE;
const double one = 1;

karst_status plan_factor(karst_context *context, karst_cusparse *f)
{
  karst_cusparse_plan *p = karst_cusparse_plan_of(f);
  const karst_cusparse_library &c = karst_cusparse_functions();
  const int n = f->rows, blocks = (int)f->blocks, b = f->block_size;
  int bytes = 0;
  karst_status status = karst_cusparse_status(context, c.cusparseCreateBsrilu02Info(&p->block), "the factorization");
  if (!status)
    status =
        karst_cusparse_status(context,
                              c.cusparseDbsrilu02_bufferSize(p->handle, by_columns, n, blocks, p->description, f->value,
                                                             f->row_start, f->column, b, p->block, &bytes),
                              "the factorization");
  if (!status) status = karst_cusparse_take(context, (size_t)bytes, f, &p->buffer);
  if (!status)
    status =
        karst_cusparse_status(context,
                              c.cusparseDbsrilu02_analysis(p->handle, by_columns, n, blocks, p->description, f->value,
                                                           f->row_start, f->column, b, p->block, policy, p->buffer),
                              "the analysis of the factorization");
  return status;
}

karst_status plan_solve(karst_context *context, karst_cusparse *f, cusparseFillMode_t fill, cusparseDiagType_t diagonal,
                        karst_cusparse_triangle *t)
{
  karst_cusparse_plan *p = karst_cusparse_plan_of(f);
  const karst_cusparse_library &c = karst_cusparse_functions();
  const char *what = "a triangular solve";
  const int n = f->rows, blocks = (int)f->blocks, b = f->block_size;
  int bytes = 0;
  karst_status status = karst_cusparse_status(context, c.cusparseCreateMatDescr(&t->description), what);
  if (!status) status = karst_cusparse_status(context, c.cusparseSetMatFillMode(t->description, fill), what);
  if (!status) status = karst_cusparse_status(context, c.cusparseSetMatDiagType(t->description, diagonal), what);
  if (!status) status = karst_cusparse_status(context, c.cusparseCreateBsrsv2Info(&t->block), what);
  if (!status)
    status =
        karst_cusparse_status(context,
                              c.cusparseDbsrsv2_bufferSize(p->handle, by_columns, as_it_is, n, blocks, t->description,
                                                           f->value, f->row_start, f->column, b, t->block, &bytes),
                              what);
  if (!status) status = karst_cusparse_take(context, (size_t)bytes, f, &t->buffer);
  if (!status)
    status = karst_cusparse_status(context,
                                   c.cusparseDbsrsv2_analysis(p->handle, by_columns, as_it_is, n, blocks,
                                                              t->description, f->value, f->row_start, f->column, b,
                                                              t->block, policy, t->buffer),
                                   "the analysis of a triangular solve");
  return status;
}

karst_status factor(karst_context *context, const karst_cusparse *f, int *pivot)
{
  karst_cusparse_plan *p = karst_cusparse_plan_of(f);
  const karst_cusparse_library &c = karst_cusparse_functions();
  karst_status status = karst_cusparse_status(context,
                                              c.cusparseDbsrilu02(p->handle, by_columns, f->rows, (int)f->blocks,
                                                                  p->description, f->value, f->row_start, f->column,
                                                                  f->block_size, p->block, policy, p->buffer),
                                              "the factorization");
  if (status) return status;
  return karst_cusparse_pivot_status(context, c.cusparseXbsrilu02_zeroPivot(p->handle, p->block, pivot));
}

karst_status renew(karst_context *context, const karst_cusparse *f)
{
  (void)context;
  (void)f;
  return KARST_SUCCESS;
}

void solve(const karst_cusparse *f, const karst_cusparse_triangle *t, const double *from, double *to)
{
  karst_cusparse_functions().cusparseDbsrsv2_solve(karst_cusparse_plan_of(f)->handle, by_columns, as_it_is, f->rows,
                                                   (int)f->blocks, &one, t->description, f->value, f->row_start,
                                                   f->column, f->block_size, t->block, from, to, policy, t->buffer);
}

} // namespace

const karst_cusparse_kind karst_cusparse_block = {plan_factor, plan_solve, factor, renew, solve};
