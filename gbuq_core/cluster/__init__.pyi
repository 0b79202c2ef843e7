from gbuq_core.cluster.connecting import open_cluster
from gbuq_core.cluster.neighbours import search_parts
from gbuq_core.cluster.rows import predict_parts
from gbuq_core.cluster.spreading import Cluster

__all__ = ["Cluster", "open_cluster", "predict_parts", "search_parts"]
