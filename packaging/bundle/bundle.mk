# bundle.mk - joins tools and tests in one program for "make gpu-bundle": each tool by itself has all kernels, 29 MB.
# For GNU make in the build folder, whose Makefile it goes on from, so that it knows the objects of each program.
include Makefile

# Not the peers of bench: PETSc and hypre are not on that machine.
bundle_programs = $(filter-out tools/bench_petsc tools/bench_hypre,$(noinst_PROGRAMS)) $(long_programs) \
  $(test_programs)
bundle_objects = $(bundle_programs:%=build-bundle/%.o)
bundle_rules = Makefile $(srcdir)/packaging/bundle/bundle.mk
OBJCOPY ?= objcopy

bundle: build-bundle/programs
	LIBTOOL='$(LIBTOOL)' STRIP='$(STRIP)' srcdir='$(srcdir)' $(SHELL) $(srcdir)/packaging/bundle/bundle.sh \
	  '$(abs_builddir)/gpu-bundle' $< $(bundle_programs)

build-bundle/programs: build-bundle/main.c $(bundle_objects) tests/libtap.la tools/libbenchcuda.la tools/libkernels.la \
  tools/libpeers.la tools/libcommon.la libkarstcore.la
	$(LINK) $^ $(TOOLS_LIBS) $(LIBS)

build-bundle/main.c: $(srcdir)/packaging/bundle/bundle_main.sh $(bundle_rules)
	$(MKDIR_P) $(@D)
	$(SHELL) $< $(bundle_programs) >$@

# All objects of a program as one. The others see only its main, renamed to main_tests_test_vector.
.SECONDEXPANSION:
$(bundle_objects): build-bundle/%.o: $$($$(subst /,_,$$*)_OBJECTS) $(bundle_rules)
	$(MKDIR_P) $(@D)
	$(LD) -r -o $@ $(filter %.o,$^)
	$(OBJCOPY) --redefine-sym main=main_$(subst /,_,$*) --keep-global-symbol=main_$(subst /,_,$*) $@

.DELETE_ON_ERROR:
.PHONY: bundle
