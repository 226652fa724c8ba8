! A steady flow in one dimension, solved with ILU(0) and BiCGSTAB; then again with new values on the same pattern.
! This is first_steps.c in Fortran 2003. The module declares the functions of karst.h that the program calls. The call
! that makes a handle, a type(c_ptr), takes it by reference; all others take it by value. Rows and columns count from 0.
module karst
  use, intrinsic :: iso_c_binding
  implicit none
  ! For a Karst with 64-bit indices: c_int64_t, and two names that end in _int64.
  integer, parameter :: karst_index = c_int32_t
  integer(c_int), parameter :: karst_copy = 0

  type, bind(c) :: karst_result
    integer(c_int) :: reason, iterations
    integer(karst_index) :: block_row
    real(c_double) :: residual, relative_residual
  end type

  interface
    integer(c_int) function karst_context_create(allocator, context) bind(c, name="karst_context_create")
      import
      type(c_ptr), value :: allocator
      type(c_ptr), intent(out) :: context
    end function
    type(c_ptr) function karst_context_error(context) bind(c)
      import
      type(c_ptr), value :: context
    end function
    subroutine karst_context_destroy(context) bind(c)
      import
      type(c_ptr), value :: context
    end subroutine
    integer(c_int) function karst_matrix_create(context, block_rows, block_size, row_start, column, value, ownership, &
                                                matrix) bind(c, name="karst_matrix_create")
      import
      type(c_ptr), value :: context
      integer(karst_index), value :: block_rows
      integer(c_int), value :: block_size, ownership
      integer(karst_index), intent(in) :: row_start(*), column(*)
      real(c_double), intent(in) :: value(*)
      type(c_ptr), intent(out) :: matrix
    end function
    integer(c_int) function karst_matrix_update_values(matrix, value) bind(c)
      import
      type(c_ptr), value :: matrix
      real(c_double), intent(in) :: value(*)
    end function
    subroutine karst_matrix_destroy(matrix) bind(c)
      import
      type(c_ptr), value :: matrix
    end subroutine
    integer(c_int) function karst_vector_create(context, length, vector) bind(c)
      import
      type(c_ptr), value :: context
      integer(c_int64_t), value :: length
      type(c_ptr), intent(out) :: vector
    end function
    integer(c_int) function karst_vector_set(vector, count, host) bind(c)
      import
      type(c_ptr), value :: vector
      integer(c_int64_t), value :: count
      real(c_double), intent(in) :: host(*)
    end function
    integer(c_int) function karst_vector_get(vector, count, host) bind(c)
      import
      type(c_ptr), value :: vector
      integer(c_int64_t), value :: count
      real(c_double), intent(out) :: host(*)
    end function
    subroutine karst_vector_destroy(vector) bind(c)
      import
      type(c_ptr), value :: vector
    end subroutine
    integer(c_int) function karst_options_create(context, options) bind(c)
      import
      type(c_ptr), value :: context
      type(c_ptr), intent(out) :: options
    end function
    integer(c_int) function karst_options_set(options, name, text) bind(c)
      import
      type(c_ptr), value :: options
      character(kind=c_char), intent(in) :: name(*), text(*)
    end function
    subroutine karst_options_destroy(options) bind(c)
      import
      type(c_ptr), value :: options
    end subroutine
    integer(c_int) function karst_solver_create(context, options, solver) bind(c)
      import
      type(c_ptr), value :: context, options
      type(c_ptr), intent(out) :: solver
    end function
    integer(c_int) function karst_solver_setup(solver, matrix) bind(c)
      import
      type(c_ptr), value :: solver, matrix
    end function
    integer(c_int) function karst_solver_update(solver) bind(c)
      import
      type(c_ptr), value :: solver
    end function
    integer(c_int) function karst_solver_solve(solver, b, x, result) bind(c)
      import
      type(c_ptr), value :: solver, b, x
      type(karst_result), intent(out) :: result
    end function
    type(c_ptr) function karst_solver_explain(solver) bind(c)
      import
      type(c_ptr), value :: solver
    end function
    subroutine karst_solver_destroy(solver) bind(c)
      import
      type(c_ptr), value :: solver
    end subroutine
  end interface

contains

  ! Copies a sentence of the library, which has less than 512 characters.
  function sentence(text) result(copy)
    type(c_ptr), intent(in) :: text
    character(len=:), allocatable :: copy
    character(kind=c_char), pointer :: characters(:)
    integer :: length
    call c_f_pointer(text, characters, [512])
    length = 0
    do while (characters(length + 1) /= c_null_char)
      length = length + 1
    end do
    allocate (character(len=length) :: copy)
    copy = transfer(characters(1:length), copy)
  end function

end module

program first_steps
  use karst
  implicit none
  integer(karst_index), parameter :: rows = 1000
  integer(c_int64_t), parameter :: length = rows
  integer(karst_index) :: row_start(0:rows), column(3 * rows), i, j, k
  real(c_double) :: value(3 * rows), x_host(rows)
  type(c_ptr) :: context, A, b, x, options, solver
  type(karst_result) :: outcome
  integer :: step

  k = 0
  row_start(0) = 0
  do i = 0, rows - 1
    do j = max(0_karst_index, i - 1), min(rows - 1, i + 1)
      k = k + 1
      column(k) = j
      value(k) = merge(2.1_c_double, -1.0_c_double, i == j)
    end do
    row_start(i + 1) = k
  end do
  x_host = 1

  call check(karst_context_create(c_null_ptr, context))
  call check(karst_matrix_create(context, rows, 1, row_start, column, value, karst_copy, A))
  call check(karst_vector_create(context, length, b))
  call check(karst_vector_set(b, length, x_host))
  call check(karst_vector_create(context, length, x))
  call check(karst_options_create(context, options))
  call check(karst_options_set(options, "rtol" // c_null_char, "1e-10" // c_null_char))
  call check(karst_solver_create(context, options, solver))
  call karst_options_destroy(options)
  call check(karst_solver_setup(solver, A))
  do step = 1, 2
    call check(karst_solver_solve(solver, b, x, outcome))
    print '(a, a, i0)', sentence(karst_solver_explain(solver)), "; iterations: ", outcome%iterations
    if (outcome%reason < 0) error stop 1
    value = 1.5 * value
    call check(karst_matrix_update_values(A, value))
    call check(karst_solver_update(solver))
  end do
  call check(karst_vector_get(x, length, x_host))
  print '(a, g0)', "x in the middle: ", x_host(rows / 2)

  call karst_solver_destroy(solver)
  call karst_vector_destroy(x)
  call karst_vector_destroy(b)
  call karst_matrix_destroy(A)
  call karst_context_destroy(context)

contains

  subroutine check(status)
    integer(c_int), intent(in) :: status
    if (status == 0) return
    print '(a)', sentence(karst_context_error(context))
    error stop 1
  end subroutine

end program
