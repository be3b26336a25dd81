"""The graph directory and the disks that it is spread over."""
