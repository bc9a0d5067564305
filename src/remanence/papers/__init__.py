"""What is one paper's and no other's: a folder each, which plugs in as anybody's package does."""
