# eave for Spack. In the folder of eave:
#
#   spack repo create ../eave-spack eave
#   spack create --repo ../eave-spack --skip-editor --template cmake --name eave    # then copy this file over what it made
#   spack -C . dev-build eave@0.1.0
#
# dev-build installs from the folder it is called in: no archive is fetched.
from spack.package import *


class Eave(CMakePackage, CudaPackage):
    """Trains one model replica per MPI rank and keeps the replicas in agreement by a communicator that is chosen when
    the job starts: averaging of gradients, elastic averaging, or one of the other published ways."""

    license("Apache-2.0")

    version("0.1.0")

    variant("mpi", default=True, description="Ranks as MPI processes; without, they are threads of one process")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("boost@1.70: +program_options")
    depends_on("eigen@3.3:", type="build")
    depends_on("icu4c@60:")
    depends_on("jpeg")
    depends_on("libpng@1.6:")
    depends_on("nlohmann-json@3.7:", type="build")
    depends_on("onednn@2:3 cpu_runtime=omp")
    depends_on("openssl@1.1.1:")
    depends_on("xxhash")
    depends_on("zlib-api")
    depends_on("mpi", when="+mpi")
    with when("+cuda"):
        depends_on("cuda@13:")
        depends_on("cudnn@9.8:")
        depends_on("nccl@2.18:")

    def cmake_args(self):
        arguments = [
            self.define_from_variant("EAVE_CUDA", "cuda"),
            self.define("CMAKE_DISABLE_FIND_PACKAGE_MPI", not self.spec.satisfies("+mpi")),
        ]
        if self.spec.satisfies("+cuda") and not self.spec.satisfies("cuda_arch=none"):
            arguments.append(self.define("CMAKE_CUDA_ARCHITECTURES", ";".join(self.spec.variants["cuda_arch"].value)))
        return arguments

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def train_as_threads(self):
        eave = Executable(self.prefix.bin.eave)
        eave("train", "--transport", "threads", "--ranks", "2", "--data", "synthetic", "--epochs", "0.1", "--progress", "off")
