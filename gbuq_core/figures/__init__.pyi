from gbuq_core.figures.notebook import show

__all__ = ["show"]
