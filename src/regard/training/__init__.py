"""From a recipe to a trained model: the store, the loop, the loss, the schedule, checkpoints and the event log."""
