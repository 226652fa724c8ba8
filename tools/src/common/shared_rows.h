/* shared_rows.h - options that several commands have, described once: the texts of a struct tool_option. */
#ifndef KARST_TOOLS_SRC_COMMON_SHARED_ROWS_H
#define KARST_TOOLS_SRC_COMMON_SHARED_ROWS_H

#define TOOL_RHS_ROW                                                                                                   \
  "rhs", "FILE|ones|Aones|random[:SEED]", "what came with the matrix, else ones", "right-hand side",                   \
      "FILE is a Matrix Market array or a file of plain numbers. ones is all ones; Aones is A times all ones, so "     \
      "that the solution is all ones; random is uniform in [-1, 1) from SEED, which is 1 if it is not given. A "       \
      "right-hand side comes with a matrix as NAME_b.mtx beside NAME.mtx, as a member of the same archive, or from "   \
      "the problem of the gallery. --negate does not change FILE, ones and random, but A is the negated matrix in "    \
      "Aones."
#define TOOL_BLOCK_DETAILS                                                                                             \
  "A matrix whose size is not a multiple of B is padded with unit rows, with right-hand side 0, and a note says so."
#define TOOL_GRID_ROW                                                                                                  \
  "grid", "NXxNYxNZ|find", "what came with the matrix", "cells along each axis, or find them; NXxNY: one layer",       \
      "The block rows are the cells of this grid, x fastest, or its active ones (--actnum). find finds the grid from " \
      "the pattern; if none fits, the error names the first block row with a coupling between cells that are not "     \
      "neighbours. A grid comes with a matrix from the gallery, from a .kbsr file, or from a comment line %%karst "    \
      "grid NX NY NZ of a Matrix Market file."
#define TOOL_ACTNUM_ROW                                                                                                \
  "actnum", "FILE", "", "active cells of --grid NXxNYxNZ, by the keyword ACTNUM of a deck",                            \
      "FILE has 1 for each active cell and 0 for each other one, x fastest; n*v is n times v, -- begins a comment, "   \
      "and / ends the values. It may be a deck or an include file with other keywords before ACTNUM, a formatted "     \
      ".FEGRID, or the values alone. The block rows are the active cells, in their order. A simulator may switch "     \
      "off more cells than the deck does, as those of small pore volume; its .EGRID has those that are left, and "     \
      "convertECL of OPM makes a .FEGRID of it."
#define TOOL_NEGATE_ROW                                                                                                \
  "negate", "", "", "multiply the matrix by -1, and a right-hand side that came with it",                              \
      "cg needs it where the matrix is negative definite. The solution stays the same, and so do the unit rows "       \
      "that pad the last block."
#define TOOL_STORED_TRIANGLE_ROW                                                                                       \
  "stored-triangle", "", "", "take the stored triangle of a symmetric file as the whole matrix",                       \
      "A symmetric or skew-symmetric Matrix Market file stores one triangle; its mirror image is left out, as some "   \
      "papers did."
#define TOOL_DUPLICATES_ROW                                                                                            \
  "duplicates", "sum|refuse", "sum", "what to do with repeated entries (same row and column) of a file",               \
      "sum adds them up in the order of the file, and a note says how many there were. refuse refuses the file and "   \
      "names the line of the second one."
#define TOOL_INSERT_DIAGONAL_ROW                                                                                       \
  "insert-diagonal", "", "", "insert a zero block where a block row has no diagonal block",                            \
      "Most preconditioners need diagonal blocks; the number of inserted blocks is reported. An inserted block is "    \
      "zero, so the elimination of earlier rows has to fill it. It does so if the row comes after the rows that it "   \
      "couples with; otherwise use a higher level or an ordering. If nothing fills it, use the option shift."

#endif
