#!/usr/bin/env python3
"""The sizes of a rollout that ends at a step, by SP-1 and SP-3: a line for each start with at most 12 replicas.

A size is `kept+other+running`. The pods of the other ReplicaSet are all available, or all dead; those of the two that
stay come up between two reconciles. A test in crates/plan compares the lines with the sizes of the planner.
"""


def ceiling(updated, replicas):
    pods = -(-int(updated[:-1]) * replicas // 100) if updated.endswith("%") else int(updated)
    return max(0, min(pods, replicas - 1))


def path(replicas, cap, floor, to, other, is_dead):
    goal, size = [replicas - to, 0, to], [replicas - other, other, 0]
    sizes = [tuple(size)]

    def change(which, by):
        if by:
            size[which] += by
            sizes.append(tuple(size))

    while size != goal:
        serving = [size[0], 0 if is_dead else size[1], size[2]]
        for is_again in (False, True):  # Up, and up again into the room that the cuts make.
            for which in (0, 2) if sum(serving) < floor else (2, 0):
                change(which, max(0, min(goal[which] - size[which], cap - sum(size))))
            if not is_again and sum(size) - floor > size[2] - serving[2]:
                spare = sum(size) - floor - size[2] + serving[2] if is_dead else sum(serving) - floor
                other_before = size[1]
                change(1, -max(0, min(size[1], spare)))
                spare = sum(serving) - floor - (0 if is_dead else other_before - size[1])
                change(0, -max(0, min(size[0] - goal[0], spare)))
    return sizes


for replicas in range(13):
    for surge, unavailable in [(1, 0), (0, 1), (1, 1), (3, 0), (0, 3), (2, 3)]:
        for updated in ["1", "3", "1%", "25%", "50%", "90%", "99%"]:
            for other in range(replicas + 1):
                for state in ["available", "dead"]:
                    floor, to = max(0, replicas - unavailable), ceiling(updated, replicas)
                    sizes = path(replicas, replicas + surge, floor, to, other, state == "dead")
                    print(replicas, surge, unavailable, updated, other, state, *("+".join(map(str, s)) for s in sizes))
