"""Parameters of cost models swept: many prices on one e-graph, in processes, kept in a journal."""
