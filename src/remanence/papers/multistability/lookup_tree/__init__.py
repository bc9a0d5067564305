"""The paper's LookupTreeMaze experiment: trained on few mazes in a row, asked about many."""
