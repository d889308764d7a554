"""Reads TOML files into models."""

import tomllib
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from temper.errors import InputError

_Model = TypeVar("_Model", bound=BaseModel)


def read_toml(path: Path, model: type[_Model], guide: str, **more: object) -> _Model:
    """Read a TOML file, adding ``more`` fields.

    Raises InputError if it is missing or invalid; ``guide`` is its hint.
    """
    try:
        fields = tomllib.loads(path.read_text(encoding="utf-8"))
        return model.model_validate({**fields, **more})
    except FileNotFoundError:
        raise InputError(f"{path} is missing", guide) from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8: {error.reason}") from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not TOML: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole file"
        raise InputError(f"{path}: {where}: {first['msg']}", guide) from error
