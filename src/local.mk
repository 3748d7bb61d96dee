# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The registries: one source, compiled once per API generation. Tests link the convenience
# libraries.
lib_LTLIBRARIES += %D%/libdat.la %D%/libdat2.la
noinst_LIBRARIES += %D%/libdatr1.a %D%/libdatr2.a

datr_sources = %D%/api.c %D%/conf.c %D%/conf.h %D%/dispatch.h %D%/ext.c %D%/ext.h %D%/fork.c \
	%D%/handle.c %D%/handle.h %D%/ia.c %D%/list.c %D%/loader.c %D%/loader.h %D%/lock.h %D%/log.c %D%/log.h \
	%D%/registry.c %D%/registry.h %D%/search.c %D%/search.h %D%/strerror.c %D%/strerror.h \
	%D%/variables.def %D%/version.h

# The registry looks for our provider in libdir last.
datr_cppflags = $(product_cppflags) -DDAT_CONF_DIR='"$(sysconfdir)"' -DDATR_LIBDIR='"$(libdir)"'

%C%_libdatr1_a_SOURCES = $(datr_sources)
%C%_libdatr1_a_SHORTNAME = v1
%C%_libdatr1_a_CPPFLAGS = $(datr_cppflags) -DDATR_DAT_MAJOR=1
%C%_libdatr1_a_CFLAGS = $(pic_cflags)

%C%_libdatr2_a_SOURCES = $(datr_sources)
%C%_libdatr2_a_SHORTNAME = v2
%C%_libdatr2_a_CPPFLAGS = $(datr_cppflags) -DDATR_DAT_MAJOR=2
%C%_libdatr2_a_CFLAGS = $(pic_cflags)

# The C library before glibc 2.34 has dlopen in a library of its own, which has to follow the archive
# that needs it. libtool puts LIBS before it.
%C%_libdat_la_SOURCES =
%C%_libdat_la_LDFLAGS = $(library_ldflags) -version-info $(LIBDAT_VERSION) \
	-Wl,--version-script=$(srcdir)/%D%/libdat.map \
	-Wl,--whole-archive,%D%/libdatr1.a,--no-whole-archive $(LIBS:-l%=-Wl,-l%)
EXTRA_%C%_libdat_la_DEPENDENCIES = %D%/libdat.map %D%/libdatr1.a

%C%_libdat2_la_SOURCES =
%C%_libdat2_la_LDFLAGS = $(library_ldflags) -version-info $(LIBDAT2_VERSION) \
	-Wl,--version-script=$(srcdir)/%D%/libdat2.map \
	-Wl,--whole-archive,%D%/libdatr2.a,--no-whole-archive $(LIBS:-l%=-Wl,-l%)
EXTRA_%C%_libdat2_la_DEPENDENCIES = %D%/libdat2.map %D%/libdatr2.a

# dat_conf writes the file; below a prefix of its own nothing else makes its folder.
install-data-local:
	$(MKDIR_P) '$(DESTDIR)$(sysconfdir)'

# For programs that link without libtool. libtool writes the .la file last; without touch the library
# would be older than that, and such programs would be linked again each time.
%D%/.libs/libdat.so: %D%/libdat.la
	@touch $@
%D%/.libs/libdat2.so: %D%/libdat2.la
	@touch $@

EXTRA_DIST += %D%/libdat.map %D%/libdat2.map
