"""Graph scopes and pictures of graphs."""

from ferrograd._graph.operation import Operation as Operation, Value as Value
from ferrograd._graph.scope import Graph as Graph
