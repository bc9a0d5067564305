"""How the paper's models, trainings and cues look and are called."""

from remanence.figures import BLACK, BLUE, GREEN, ORANGE, PINK, RED, SKY, Look, Looks

MODELS = {
    "gru": Look("GRU", BLUE, "o"),
    "brc": Look("BRC", ORANGE, "s"),
    "nbrc": Look("nBRC", GREEN, "^"),
    "mingru": Look("minGRU", PINK, "D"),
    "deep-mingru": Look("deep minGRU", SKY, "P"),
    "bmru": Look("BMRU", RED, "*"),
    "hybrid": Look("hybrid", BLACK, "v"),
}
TRAININGS = {
    "tmaze-short": Look("trained on lengths 1–3", BLUE),
    "tmaze-long": Look("trained on length 100", ORANGE, "s"),
    "lookup-tree": Look("trained on 1–20 mazes of length 1–3", GREEN, "^"),
}
LOOKS = Looks(MODELS, TRAININGS)
CUES = {0: Look("cue up", BLUE, "-"), 1: Look("cue down", RED, "--")}
