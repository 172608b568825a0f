"""The main job as stages that can be stopped and continued, and the queue of runs that want a GPU."""
