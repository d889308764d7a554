"""From source to kernel: source, series, config, build, and their cache."""

from temper.kernel.bases import base_named, base_names
from temper.kernel.builder import Kernel, KernelSpec, build, expected_seconds
from temper.kernel.cache import Cache
from temper.kernel.config import Options, check_needs, parse_config
from temper.kernel.debugged import Debugged
from temper.kernel.footprint import footprint
from temper.kernel.given import Given, Image, find_given, ready_image
from temper.kernel.headers import (
    Folder,
    config_of,
    headers_beside,
    headers_in,
    image_release,
)
from temper.kernel.module import (
    Beside,
    Devel,
    build_module,
    module_digest,
    module_files,
)
from temper.kernel.objects import compilable
from temper.kernel.shared import shared_cache
from temper.kernel.source import Source, find_source, source_at, source_tree
from temper.kernel.watched import Watched, watched

__all__ = [
    "Beside",
    "Cache",
    "Debugged",
    "Devel",
    "Folder",
    "Given",
    "Image",
    "Kernel",
    "KernelSpec",
    "Options",
    "Source",
    "Watched",
    "base_named",
    "base_names",
    "build",
    "build_module",
    "check_needs",
    "compilable",
    "config_of",
    "expected_seconds",
    "find_given",
    "find_source",
    "footprint",
    "headers_beside",
    "headers_in",
    "image_release",
    "module_digest",
    "module_files",
    "parse_config",
    "ready_image",
    "shared_cache",
    "source_at",
    "source_tree",
    "watched",
]
