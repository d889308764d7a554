"""Programs for the target out of Debian's packages."""

from temper.debian.apt import Apt
from temper.debian.headers import plan_headers, ready_headers
from temper.debian.root import apt_for, root

__all__ = ["Apt", "apt_for", "plan_headers", "ready_headers", "root"]
