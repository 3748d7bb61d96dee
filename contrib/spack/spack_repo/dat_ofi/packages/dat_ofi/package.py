# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
import os

from spack_repo.builtin.build_systems.autotools import AutotoolsPackage

from spack.package import *


class DatOfi(AutotoolsPackage):
    """DAT (uDAPL) 1.2 and 2.0 over libfabric: programs written for the Direct Access
    Transport API run unchanged on every fabric that libfabric drives."""

    homepage = "https://ofiwg.github.io/libfabric/"
    # The archive that "make dist" makes, in the current directory; install with --no-checksum
    url = f"file://{os.getcwd()}/dat-ofi-0.1.0.tar.xz"

    license("BSD-2-Clause OR GPL-2.0-only", checked_by="dat-ofi")

    version("0.1.0")

    variant("hwloc", default=True, description="Choose the network device nearest to the CPUs")
    variant("debug", default=False, description="Assertions, less optimisation")

    depends_on("c", type="build")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("check", type="test")
    depends_on("libfabric@1.17:")
    depends_on("hwloc@2.1:", when="+hwloc")
    depends_on("openssl@1.1.1:")
    # For its headers: the provider asks the device whether it has atomic operations.
    depends_on("rdma-core", when="^libfabric fabrics=verbs")

    # MPI libraries load the registries at run time, by their names without a version.
    sanity_check_is_file = [
        join_path("bin", "dat_info"),
        join_path("lib", "libdat.so"),
        join_path("lib", "libdat2.so"),
        join_path("lib", "libdatofi.so.1"),
        join_path("lib", "libdatofi.so.2"),
    ]

    conflicts("platform=darwin", msg="dat-ofi needs Linux")
    conflicts("platform=windows", msg="dat-ofi needs Linux")

    def configure_args(self):
        args = self.enable_or_disable("debug")
        args.append("--with-crypto=openssl")
        args.append(f"--with-libfabric={self.spec['libfabric'].prefix}")
        if self.spec.satisfies("+hwloc"):
            args.append(f"--with-hwloc={self.spec['hwloc'].prefix}")
        else:
            args.append("--without-hwloc")
        return args

    def check(self):
        # The whole suite takes minutes and needs a network.
        make("check", "TESTS=$(unit_tests)")

    def setup_run_environment(self, env: EnvironmentModifications) -> None:
        # Registries load the provider by its name.
        env.prepend_path("LD_LIBRARY_PATH", self.prefix.lib)
