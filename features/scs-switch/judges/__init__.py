"""scs-switch's judge: what an interrupt finds between two instructions."""

from .injection import injection

__all__ = ["injection"]
