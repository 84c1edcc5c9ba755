"""Four hosts that are connected by TCP and ssh, and the scripts of mpi_launch with values for them."""
import atexit
import functools
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile

import lab

NAME = f"eave-cluster-{os.getpid()}"
HOSTS = 4
# These settings are for a test machine with few cores and no network but the lab's. All others come from the script.
SETTINGS = {"NETLAB_NAME": NAME, "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "tcp,vader,self", "OMPI_MCA_osc": "^ucx",
            "OMPI_MCA_hwloc_base_binding_policy": "none",
            "OMPI_MCA_rmaps_base_oversubscribe": "0", "PRTE_MCA_rmaps_default_mapping_policy": "slot"}
SSHD = """Port 22
HostKey {keys}/host
AuthorizedKeysFile {keys}/user.pub
StrictModes no
PermitRootLogin yes
PidFile none
"""
SSH = """Host *
  User root
  IdentityFile {keys}/user
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
  LogLevel ERROR
"""


def netlab(*words):
    done = subprocess.run([str(lab.lab_program("netlab")), *map(str, words)], env=os.environ | {"NETLAB_NAME": NAME},
                          capture_output=True, text=True)
    if done.returncode:
        raise lab.Skip(f"netlab {' '.join(map(str, words))}: {(done.stdout + done.stderr)[-300:]}")


def on_host(host, *words):
    """Runs a command on the host and returns its output."""
    done = subprocess.run([str(lab.lab_program("netlab")), "exec", str(host), *map(str, words)],
                          env=os.environ | {"NETLAB_NAME": NAME}, capture_output=True, text=True)
    lab.require(done.returncode == 0, f"{words} on {host}: {done.stderr}")
    return done.stdout


@functools.lru_cache(maxsize=None)
def set_up():
    """Starts the hosts, each with an sshd, until this process ends. Returns the file that ssh needs to reach them."""
    program = lab.lab_program("netlab")
    for needed in ("mpirun", "ssh-keygen", "/usr/sbin/sshd"):
        if not shutil.which(needed):
            raise lab.Skip(f"no {needed}: mpi_launch/install_packages build cluster")
    netlab("up", HOSTS)
    keys = pathlib.Path(tempfile.mkdtemp(prefix="eave-keys-"))
    atexit.register(lambda: (subprocess.run([program, "down"], env=os.environ | {"NETLAB_NAME": NAME},
                                            capture_output=True), shutil.rmtree(keys)))
    for key in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", keys / key], check=True)
    (keys / "sshd_config").write_text(SSHD.format(keys=keys))
    (keys / "ssh_config").write_text(SSH.format(keys=keys))
    pathlib.Path("/run/sshd").mkdir(exist_ok=True)
    for host in range(HOSTS):
        on_host(host, "/usr/sbin/sshd", "-f", keys / "sshd_config")
    return keys / "ssh_config"


@functools.lru_cache(maxsize=None)
def sshd_apart(host, setting):
    """Starts a second sshd on one host, on another port, with this setting. Each host has at most one. Returns the file
    that makes ssh use it."""
    keys = set_up().parent
    common = (keys / "sshd_config").read_text()
    (keys / f"apart{host}").write_text(common.replace("Port 22", "Port 2222") + setting + "\n")
    on_host(host, "/usr/sbin/sshd", "-f", keys / f"apart{host}")
    (keys / f"ssh_apart{host}").write_text(f"Host node{host}\n  Port 2222\n" + (keys / "ssh_config").read_text())
    return keys / f"ssh_apart{host}"


def in_array(words):
    return "(" + " ".join(shlex.quote(str(word)) for word in words) + ")"


def with_values(script, place, **values):
    """Copies a script of mpi_launch and changes the values at its top, as people do. Returns the copy."""
    text = (lab.ROOT / "mpi_launch" / script).read_text()
    top, end, rest = text.partition("# ---- End of what to change. ----")
    lab.require(end, f"mpi_launch/{script} says nowhere what to change")
    for name, value in {"folder": lab.ROOT, **values}.items():
        new = f"{name}={in_array(value) if isinstance(value, (list, tuple)) else shlex.quote(str(value))}\n"
        top, count = re.subn(rf"^{name}=(\([^)]*\).*|[^(].*|)\n", lambda _: new, top, flags=re.MULTILINE)
        lab.require(count == 1, f"{name} stands {count} times at the top of mpi_launch/{script}")
    copy = place.directory / script
    copy.write_text(top + end + rest)
    copy.chmod(0o755)
    return copy


def start(place, words=None, hosts=None, settings=None, **values):
    """Starts run-hosts on the host `head`. `hosts` are the lines of its file of hosts, by default all four."""
    ssh_config = set_up()
    lines = [f"node{host}" for host in range(HOSTS)] if hosts is None else hosts
    (place.directory / "hosts").write_text("".join(line + "\n" for line in lines))
    script = with_values("run-hosts", place, **{
        "hosts_file": place.directory / "hosts", "program": place.eave, "answer_s": 10,
        "remote_shell": ["ssh", "-F", ssh_config, "-o", "BatchMode=yes", "-o", "ConnectTimeout=3"], **values})
    return lab.Job([str(lab.lab_program("netlab")), "exec", "head", str(script), *map(str, words or [])],
                   place.directory, SETTINGS | (settings or {}))


def run(place, words=None, limit=60, **others):
    job = start(place, words, **others)
    job.wait(limit)
    return job


def names_hosts(text, hosts=range(HOSTS)):
    """Returns whether eave's table of ranks has a rank on each of the hosts."""
    return all(re.search(rf"^ *\d+ +node{host} ", text, re.MULTILINE) for host in hosts)


# If nothing goes wrong, this training has the same bits on the hosts as on one machine.
TRAINING = [*lab.SMALL, "--evaluate-every", "0.5", "--checkpoint-every", "50", *lab.METHODS["easgd"]]


@functools.lru_cache(maxsize=None)
def undisturbed(eave, ranks, *words, **environment):
    """Returns the digest of a run on this machine alone."""
    with tempfile.TemporaryDirectory() as directory:
        place = lab.Place(directory, eave, 0, 0, False)
        job = place.run(ranks, ["train", *TRAINING, "--run-dir", place.run_dir(), *words], limit=200,
                        environment=environment)
        lab.require_code(job, 0)
        return lab.digest(place.run_dir())
