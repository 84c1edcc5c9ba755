"""Gives each worker a mount namespace with its own /dev and /dev/shm, and small disks. Needs root.

eave runs as the user of the campaign, and root may replace every file and device of the machine. So in the namespace
all is read-only except the campaign's own directory. Without root only trials with small disks need a namespace, and
they are left out.
"""
import ctypes
import os
import stat
import subprocess

CLONE_NEWNS = 0x00020000
SHARED_MEMORY = "/dev/shm"
NODES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9), "tty": (5, 0)}
LINKS = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"}

is_inside = False  # whether this process has mounts of its own


def enter(directory):
    """Returns whether this process now has mounts of its own. On them it may write only below `directory`."""
    global is_inside
    is_inside = _enter(str(directory))
    return is_inside


def can_enter():
    """Tries in a child process whether enter() works. If the campaign runs as root, each worker relies on it."""
    child = os.fork()
    if child == 0:
        os._exit(0 if _enter("/tmp") else 1)
    return os.waitpid(child, 0)[1] == 0


def _enter(directory):
    if os.geteuid() != 0:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) != 0:
        return False
    return (_mount("--make-rprivate", "/") and _mount("--bind", directory, directory) and make_devices() and
            _mount("-o", "remount,bind,ro", "/"))


def make_devices():
    """Mounts a /dev with the devices that programs need. The former /dev stays mounted below it."""
    if not _mount("-t", "tmpfs", "-o", "size=1g,mode=755", "tmpfs", "/dev"):
        return False
    mask = os.umask(0)
    for name, number in NODES.items():
        os.mknod(f"/dev/{name}", stat.S_IFCHR | 0o666, os.makedev(*number))
    for name, target in LINKS.items():
        os.symlink(target, f"/dev/{name}")
    os.mkdir(SHARED_MEMORY, 0o1777)
    os.mkdir("/dev/pts")
    os.umask(mask)
    return _mount("-t", "devpts", "-o", "newinstance,ptmxmode=0666", "devpts", "/dev/pts") and _link_terminals()


def _link_terminals():
    os.symlink("pts/ptmx", "/dev/ptmx")
    return True


def devices():
    """Maps each name in /dev to its kind and device number."""
    found = {}
    for name in os.listdir("/dev"):
        status = os.lstat(f"/dev/{name}")
        found[name] = (stat.S_IFMT(status.st_mode), status.st_rdev)
    return found


def _mount(*words):
    return subprocess.run(["mount", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def mount_small_disk(directory, kibibytes):
    return _mount("-t", "tmpfs", "-o", f"size={kibibytes}k", "tmpfs", str(directory))


def unmount(directory):
    subprocess.run(["umount", "-l", str(directory)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def take_shared_memory():
    """Removes everything in /dev/shm and returns the names."""
    names = os.listdir(SHARED_MEMORY)
    for name in names:
        path = os.path.join(SHARED_MEMORY, name)
        subprocess.run(["rm", "-rf", path], check=False)
    return names
