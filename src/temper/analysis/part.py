"""What reports are made of."""

from pydantic import BaseModel, ConfigDict


class Part(BaseModel):
    """A report, or a part of one: immutable, and JSON may call its fields otherwise."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)
