# wheel.mk - what the wheel of pykarst has beside its Python files, in build-wheel/stage/: libkarst, the commands that
# pykarst.compare runs, and the licences of what is linked into them. For GNU make in the build folder, whose Makefile
# it goes on from, so that it knows the objects of each program.
#
# The library differs from the installed one in that the libraries that it needs are part of it, where they are there
# as static archives (static.sh). The commands differ in that they have nothing under the GPL, and take this library.
include Makefile

wheel_folder = build-wheel/stage/pykarst
wheel_library = $(wheel_folder)/libkarst.so.1
wheel_commands = $(wheel_folder)/bin/karst-solve $(wheel_folder)/bin/karst-compare
wheel_sources = $(srcdir)/packaging/wheel

# Made by hatchling, which packs the files, and auditwheel, which adds the shared libraries that the wheel needs beside
# itself and finds for which systems it is.
pack: stage
	PYTHON='$(PYTHON)' $(SHELL) $(wheel_sources)/wheel.sh '$(abs_srcdir)' '$(abs_builddir)'

stage: $(wheel_library) $(wheel_commands)
	$(AM_V_GEN)$(SHELL) $(wheel_sources)/licenses.sh build-wheel/stage/licenses $(wheel_library) build-wheel/linked/*

# Flags with static archives in the place of shared libraries. libarchive's own have no headers in Karst's sources.
static = $(shell CC='$(CC)' $(SHELL) $(wheel_sources)/static.sh $(1))
wheel_link = $(CC) $(AM_CFLAGS) $(CFLAGS) $(LDFLAGS) -s -Wl,--as-needed,--trace

build-wheel/hypot.o: $(wheel_sources)/hypot.c
	$(AM_V_at)$(MKDIR_P) $(@D)
	$(AM_V_CC)$(CC) $(AM_CFLAGS) $(CFLAGS) -fPIC -c -o $@ $<

$(wheel_library): libkarstcore.la libkarst.exports build-wheel/hypot.o
	$(AM_V_at)$(MKDIR_P) $(@D) build-wheel/linked
	$(AM_V_at){ echo '{ global:' && $(SED) 's/$$/;/' libkarst.exports && echo 'local: *; };'; } >build-wheel/exports
	$(AM_V_CCLD)$(wheel_link) -shared -o $@ -Wl,-soname,$(@F),--version-script=build-wheel/exports,-z,defs \
	  -Wl,--wrap=hypot build-wheel/hypot.o -Wl,--whole-archive .libs/libkarstcore.a -Wl,--no-whole-archive \
	  $(call static,$(LIBRARY_LIBS) $(if $(filter -larchive,$(LIBRARY_LIBS)),-lbz2 -llzma -lzstd)) $(LIBS) \
	  >build-wheel/linked/$(@F)

# UMFPACK and RBio, which two sources use, are under the GPL, and hypre is none of the wheel's.
build-wheel/config.h: config.h
	$(AM_V_at)$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(SED) '/define HAVE_SUITESPARSE/d' config.h >$@
gpl_objects = tools/src/solve/solve-reference.$(OBJEXT)
free_sources = tools/src/common/rutherford_boeing.c tools/src/solve/reference.c tools/src/peers/hypre_none.c
free_objects = $(patsubst %.c,build-wheel/%.o,$(notdir $(free_sources)))
vpath %.c $(addprefix $(srcdir)/,$(sort $(dir $(free_sources))))
$(free_objects): build-wheel/%.o: %.c build-wheel/config.h
	$(AM_V_CC)$(CC) $(DEFS) -Ibuild-wheel $(DEFAULT_INCLUDES) $(tools_cppflags) $(CPPFLAGS) $(AM_CFLAGS) $(CFLAGS) -c -o $@ $<

# What stands in an archive is not taken a second time.
.SECONDEXPANSION:
$(wheel_commands): $(wheel_folder)/bin/karst-%: $$(filter-out $$(gpl_objects),$$(tools_$$*_OBJECTS)) \
  $(free_objects) tools/libpeers.la tools/libkernels.la tools/libcommon.la $(wheel_library)
	$(AM_V_at)$(MKDIR_P) $(@D)
	$(AM_V_CCLD)$(wheel_link) -o $@ -Wl,-rpath,'$$ORIGIN/..' $(filter %.$(OBJEXT),$^) tools/.libs/libpeers.a \
	  tools/.libs/libkernels.a tools/.libs/libcommon.a $(wheel_library) \
	  $(call static,$(filter -L% -ljansson,$(TOOLS_LIBS)) $(LIBRARY_LIBS)) $(LIBS) $(DL_LIBS) >build-wheel/linked/$(@F)

.DELETE_ON_ERROR:
.PHONY: pack stage
