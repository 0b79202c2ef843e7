from gbuq_core.model_files.fields import Savable, load, register_models

__all__ = ["Savable", "load", "register_models"]
