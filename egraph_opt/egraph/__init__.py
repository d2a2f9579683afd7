"""From a graph to a saturated e-graph, and out of egglog into arrays and files."""
