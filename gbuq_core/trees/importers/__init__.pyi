from gbuq_core.trees.importers.finding import leaf_source, load_leaf_source
from gbuq_core.trees.importers.source import LeafSource

__all__ = ["LeafSource", "leaf_source", "load_leaf_source"]
