"""What the experiments of `research/papers` share: where things are, models, judges, logs, statistics, results, plots."""
